#include "server/trainers/boost_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "common/base/status_macros.h"

namespace coppice {
namespace {

// More nodes than this are split in two only.
constexpr size_t kMostNodesForMultiway = 32;

// A split of all rows of a column, in terms of bins. Left are: the bins up to `bin` (kNumeric), the
// bin `bin` (kCategory, kMissing). Multiway: every bin is a child.
struct Candidate {
  SplitKind kind = SplitKind::kLeaf;
  uint32_t column = 0;
  uint32_t bin = 0;
  bool multiway = false;
};

std::vector<Candidate> CandidatesOf(const std::vector<FeatureBins>& bins, bool multiway) {
  std::vector<Candidate> candidates;
  for (uint32_t c = 0; c < bins.size(); ++c) {
    const bool numeric = bins[c].type == FeatureType::kNumeric;
    for (uint32_t b = 0; b + (numeric ? 1 : 0) < bins[c].ordinary(); ++b) {
      candidates.push_back({numeric ? SplitKind::kNumeric : SplitKind::kCategory, c, b});
    }
    candidates.push_back({SplitKind::kMissing, c, bins[c].missing()});
    if (multiway && !numeric && bins[c].size() > 2) {
      candidates.push_back({SplitKind::kCategory, c, 0, true});
    }
  }
  return candidates;
}

// A node of the current level.
struct Open {
  uint32_t node = 0;          // position among the tree's nodes
  std::vector<double> score;  // the values on its path, summed
};

class Growing {
 public:
  Growing(const BinnedRows& rows, const ResidualKind& kind, const BoostSteps& steps,
          Releaser& releaser)
      : rows_(rows),
        kind_(kind),
        steps_(steps),
        releaser_(releaser),
        residuals_(kind.outputs, std::vector<int32_t>(rows.num_rows())),
        node_of_(rows.num_rows(), 0) {
    nodes_.emplace_back();
    scores_.emplace_back(kind.outputs, 0.0);
    open_.push_back({.node = 0, .score = std::vector<double>(kind.outputs, 0.0)});
  }

  absl::Status GrowLevel(const LevelShares& shares) {
    steps_.residuals(residuals_);
    const bool multiway = open_.size() <= kMostNodesForMultiway;
    const std::vector<Candidate> candidates = CandidatesOf(rows_.bins(), multiway);
    const std::vector<int64_t> scores = Score(candidates, shares.measure);
    std::vector<Candidate> chosen;
    for (size_t node = 0; node < open_.size(); ++node) {
      COPPICE_ASSIGN_OR_RETURN(const size_t place,
                               releaser_.Select(absl::MakeConstSpan(scores).subspan(
                                                    node * candidates.size(), candidates.size()),
                                                shares.select, kind_.range));
      chosen.push_back(candidates[place]);
    }
    const size_t children = Divide(chosen);
    return Measure(children, shares.measure);
  }

  absl::StatusOr<BoostTree> Finish(const Schema& schema) && {
    std::vector<uint32_t> leaves = LeavesInOrder();
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(nodes_, schema));
    BoostTree result{.tree = std::move(tree), .scores = {}};
    for (const uint32_t leaf : leaves) result.scores.push_back(scores_[leaf]);
    return result;
  }

 private:
  // scores[node * candidates + candidate], in the order of the candidates: column after column.
  std::vector<int64_t> Score(const std::vector<Candidate>& candidates, const Share& measure) {
    std::vector<int64_t> scores(open_.size() * candidates.size());
    std::vector<int64_t> sums;
    size_t first = 0;
    while (first < candidates.size()) {
      const uint32_t column = candidates[first].column;
      size_t end = first;
      while (end < candidates.size() && candidates[end].column == column) ++end;
      SumByBin(column, sums);
      for (size_t node = 0; node < open_.size(); ++node) {
        ScoreColumn(absl::MakeConstSpan(candidates).subspan(first, end - first), sums, node,
                    measure, &scores[node * candidates.size() + first]);
      }
      first = end;
    }
    return scores;
  }

  // sums[(node * bins + bin) * outputs + output]
  void SumByBin(uint32_t column, std::vector<int64_t>& sums) {
    const size_t bins = rows_.bins()[column].size(), outputs = kind_.outputs;
    sums.assign(open_.size() * bins * outputs, 0);
    const absl::Span<const uint16_t> values = rows_.column(column);
    for (size_t output = 0; output < outputs; ++output) {
      const std::vector<int32_t>& residuals = residuals_[output];
      for (size_t row = 0; row < values.size(); ++row) {
        sums[(node_of_[row] * bins + values[row]) * outputs + output] += residuals[row];
      }
    }
  }

  void ScoreColumn(absl::Span<const Candidate> candidates, const std::vector<int64_t>& sums,
                   size_t node, const Share& measure, int64_t* scores) {
    const size_t outputs = kind_.outputs;
    const size_t bins = rows_.bins()[candidates[0].column].size();
    const int64_t* const of_node = &sums[node * bins * outputs];
    std::vector<int64_t> total(outputs), up_to(outputs);
    for (size_t i = 0; i < bins * outputs; ++i) total[i % outputs] += of_node[i];
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      const int64_t* const of_bin = of_node + candidate.bin * outputs;
      int64_t score = 0;
      if (candidate.multiway) {
        for (size_t j = 0; j < bins * outputs; ++j) score += std::abs(of_node[j]);
        score -= Reduction(bins, measure);
      } else {
        for (size_t output = 0; output < outputs; ++output) {
          const bool numeric = candidate.kind == SplitKind::kNumeric;
          if (numeric) up_to[output] += of_bin[output];
          const int64_t left = numeric ? up_to[output] : of_bin[output];
          score += std::abs(left) + std::abs(total[output] - left);
        }
      }
      scores[i] = score;
    }
  }

  // A split into many children is measured with more noise in all. A public number.
  int64_t Reduction(size_t bins, const Share& measure) const {
    if (!measure.is_private()) return 0;
    const double scale = static_cast<double>(kind_.sensitivity) / measure.budget().epsilon();
    return std::llround(kind_.multiway * static_cast<double>(bins - 2) * scale);
  }

  // Makes the chosen splits, and moves every row to its child. How many children there are.
  size_t Divide(const std::vector<Candidate>& chosen) {
    std::vector<Open> children;
    std::vector<std::vector<uint32_t>> child_of_bin;
    for (size_t node = 0; node < open_.size(); ++node) {
      child_of_bin.push_back(chosen[node].multiway
                                 ? SplitAll(open_[node], chosen[node], children)
                                 : SplitInTwo(open_[node], chosen[node], children));
    }
    for (size_t row = 0; row < node_of_.size(); ++row) {
      const uint32_t node = node_of_[row];
      node_of_[row] = child_of_bin[node][rows_.column(chosen[node].column)[row]];
    }
    open_ = std::move(children);
    return open_.size();
  }

  Node NodeOf(const Candidate& candidate, uint32_t bin) const {
    Node node{.kind = candidate.kind, .feature = candidate.column};
    if (candidate.kind == SplitKind::kNumeric) {
      node.threshold = rows_.bins()[candidate.column].cuts[bin];
    } else if (candidate.kind == SplitKind::kCategory) {
      node.threshold = bin;
    }
    return node;
  }

  uint32_t AddNode() {
    nodes_.emplace_back();
    scores_.emplace_back();
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  std::vector<uint32_t> SplitInTwo(const Open& parent, const Candidate& split,
                                   std::vector<Open>& children) {
    Node node = NodeOf(split, split.bin);
    node.left = AddNode();
    node.right = AddNode();
    nodes_[parent.node] = node;
    const auto left = static_cast<uint32_t>(children.size());
    children.push_back({.node = node.left, .score = parent.score});
    children.push_back({.node = node.right, .score = parent.score});
    std::vector<uint32_t> child_of_bin(rows_.bins()[split.column].size(), left + 1);
    if (split.kind == SplitKind::kNumeric) {
      std::fill_n(child_of_bin.begin(), split.bin + 1, left);
    } else {
      child_of_bin[split.bin] = left;
    }
    return child_of_bin;
  }

  // A row of questions, one a category; missing values are left at the end.
  std::vector<uint32_t> SplitAll(const Open& parent, const Candidate& split,
                                 std::vector<Open>& children) {
    const uint32_t bins = rows_.bins()[split.column].size();
    std::vector<uint32_t> child_of_bin;
    uint32_t at = parent.node;
    for (uint32_t bin = 0; bin + 1 < bins; ++bin) {
      Node node = NodeOf(split, bin);
      node.left = AddNode();
      node.right = AddNode();
      nodes_[at] = node;
      child_of_bin.push_back(static_cast<uint32_t>(children.size()));
      children.push_back({.node = node.left, .score = parent.score});
      at = node.right;
    }
    child_of_bin.push_back(static_cast<uint32_t>(children.size()));
    children.push_back({.node = at, .score = parent.score});
    return child_of_bin;
  }

  absl::Status Measure(size_t children, const Share& share) {
    const size_t outputs = kind_.outputs;
    std::vector<int64_t> sums(children * outputs * 2);
    for (size_t output = 0; output < outputs; ++output) {
      for (size_t row = 0; row < node_of_.size(); ++row) {
        const int64_t residual = residuals_[output][row];
        int64_t* const of_child = &sums[(node_of_[row] * outputs + output) * 2];
        if (kind_.whole > 0) {
          const int64_t positive = (kind_.whole + residual) / 2;
          of_child[0] += positive;
          of_child[1] += kind_.whole - positive;
        } else {
          of_child[residual < 0 ? 1 : 0] += std::abs(residual);
        }
      }
    }
    COPPICE_ASSIGN_OR_RETURN(sums, releaser_.Sums(sums, kind_.sensitivity, share));
    const double scale =
        share.is_private() ? static_cast<double>(kind_.sensitivity) / share.budget().epsilon() : 0;
    std::vector<std::vector<double>> values(children, std::vector<double>(outputs));
    std::vector<int64_t> positive(outputs), negative(outputs);
    for (size_t child = 0; child < children; ++child) {
      for (size_t output = 0; output < outputs; ++output) {
        positive[output] = sums[(child * outputs + output) * 2];
        negative[output] = sums[(child * outputs + output) * 2 + 1];
      }
      steps_.value({.positive = positive, .negative = negative, .scale = scale},
                   absl::MakeSpan(values[child]));
      Open& open = open_[child];
      for (size_t output = 0; output < outputs; ++output) {
        open.score[output] += values[child][output];
      }
      scores_[open.node] = open.score;
    }
    steps_.add(node_of_, values);
    return absl::OkStatus();
  }

  // As Tree::Create() numbers them: from left to right.
  std::vector<uint32_t> LeavesInOrder() const {
    std::vector<uint32_t> leaves, waiting = {0};
    while (!waiting.empty()) {
      const uint32_t node = waiting.back();
      waiting.pop_back();
      if (nodes_[node].kind == SplitKind::kLeaf) {
        leaves.push_back(node);
        continue;
      }
      waiting.push_back(nodes_[node].right);
      waiting.push_back(nodes_[node].left);
    }
    return leaves;
  }

  const BinnedRows& rows_;
  const ResidualKind& kind_;
  const BoostSteps& steps_;
  Releaser& releaser_;
  Residuals residuals_;
  std::vector<uint32_t> node_of_;  // position in open_
  std::vector<Open> open_;
  std::vector<Node> nodes_;
  std::vector<std::vector<double>> scores_;  // of every node
};

}  // namespace

absl::StatusOr<BoostTree> GrowBoostTree(const Schema& tree_schema, const BinnedRows& rows,
                                        const ResidualKind& kind,
                                        absl::Span<const LevelShares> levels,
                                        const BoostSteps& steps, Releaser& releaser) {
  Growing growing(rows, kind, steps, releaser);
  for (const LevelShares& level : levels) COPPICE_RETURN_IF_ERROR(growing.GrowLevel(level));
  return std::move(growing).Finish(tree_schema);
}

}  // namespace coppice
