#include "server/trainers/boosting/boost_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "common/base/status_macros.h"
#include "server/trainers/core/noise_of_sums.h"

namespace coppice::trainers {
namespace {

// A node of the current level.
struct OpenNode {
  uint32_t node = 0;               // position among the tree's nodes
  std::vector<double> score;       // the values on its path, summed
  std::vector<OutputNoise> noise;  // of these
};

class TreeGrower {
 public:
  TreeGrower(const BinnedRows& rows, BoostTask& task, PrivateReleaser& releaser)
      : rows_(rows),
        task_(task),
        kind_(task.kind()),
        releaser_(releaser),
        residuals_(kind_.outputs, std::vector<int32_t>(rows.num_rows())),
        node_of_(rows.num_rows(), 0) {
    nodes_.emplace_back();
    scores_.emplace_back(kind_.outputs, 0.0);
    noise_.emplace_back(kind_.outputs);
    open_.push_back({.node = 0, .score = scores_[0], .noise = noise_[0]});
  }

  // `columns` are of the rows.
  absl::Status GrowLevel(const JointColumns& columns, const LevelShares& shares) {
    task_.Fill(residuals_);
    const std::vector<SplitCandidate> candidates =
        SplitCandidates(rows_.bins(), open_.size(), kind_.outputs);
    COPPICE_ASSIGN_OR_RETURN(const double noise, NoiseScale(kind_.sensitivity, shares.measure));
    const std::vector<int64_t> scores = ScoreSplits(columns, residuals_, node_of_, open_.size(),
                                                    candidates, kind_.multiway * noise);
    std::vector<SplitCandidate> chosen;
    for (size_t node = 0; node < open_.size(); ++node) {
      COPPICE_ASSIGN_OR_RETURN(const size_t place,
                               releaser_.Select(absl::MakeConstSpan(scores).subspan(
                                                    node * candidates.size(), candidates.size()),
                                                shares.select, kind_.range));
      chosen.push_back(candidates[place]);
    }
    Divide(chosen);
    return Measure(shares.measure);
  }

  // Before any split: the value of the root.
  absl::Status MeasureRoot(const BudgetShare& share) {
    task_.Fill(residuals_);
    return Measure(share);
  }

  const std::vector<double>& root_score() const { return scores_[0]; }
  const std::vector<OutputNoise>& root_noise() const { return noise_[0]; }

  absl::StatusOr<BoostTree> Finish(const Schema& schema) && {
    std::vector<uint32_t> leaves = LeavesInOrder();
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(nodes_, schema));
    BoostTree result{.tree = std::move(tree), .scores = {}, .noise = {}};
    for (const uint32_t leaf : leaves) {
      result.scores.push_back(scores_[leaf]);
      result.noise.push_back(noise_[leaf]);
    }
    return result;
  }

 private:
  // Makes the chosen splits, and moves every row to its child.
  void Divide(const std::vector<SplitCandidate>& chosen) {
    std::vector<OpenNode> children;
    std::vector<std::vector<uint32_t>> child_of_bin;
    for (size_t node = 0; node < open_.size(); ++node) {
      child_of_bin.push_back(chosen[node].multiway
                                 ? SplitAll(open_[node], chosen[node], children)
                                 : SplitInTwo(open_[node], chosen[node], children));
    }
    // What a row needs of its node, side by side.
    struct Way {
      const uint16_t* bin_of_row;
      const uint32_t* child_of_bin;
    };
    std::vector<Way> ways;
    for (size_t node = 0; node < open_.size(); ++node) {
      ways.push_back({rows_.column(chosen[node].column).data(), child_of_bin[node].data()});
    }
    for (size_t row = 0; row < node_of_.size(); ++row) {
      const Way& way = ways[node_of_[row]];
      node_of_[row] = way.child_of_bin[way.bin_of_row[row]];
    }
    open_ = std::move(children);
  }

  Node NodeOf(const SplitCandidate& candidate, uint32_t bin) const {
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
    noise_.emplace_back();
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  std::vector<uint32_t> SplitInTwo(const OpenNode& parent, const SplitCandidate& split,
                                   std::vector<OpenNode>& children) {
    Node node = NodeOf(split, split.bin);
    node.left = AddNode();
    node.right = AddNode();
    nodes_[parent.node] = node;
    const auto left = static_cast<uint32_t>(children.size());
    children.push_back({.node = node.left, .score = parent.score, .noise = parent.noise});
    children.push_back({.node = node.right, .score = parent.score, .noise = parent.noise});
    std::vector<uint32_t> child_of_bin(rows_.bins()[split.column].size(), left + 1);
    if (split.kind == SplitKind::kNumeric) {
      std::fill_n(child_of_bin.begin(), split.bin + 1, left);
    } else {
      child_of_bin[split.bin] = left;
    }
    return child_of_bin;
  }

  // A row of questions, one a category; other values and missing ones are left at the end.
  std::vector<uint32_t> SplitAll(const OpenNode& parent, const SplitCandidate& split,
                                 std::vector<OpenNode>& children) {
    const FeatureBins& bins = rows_.bins()[split.column];
    std::vector<uint32_t> child_of_bin;
    uint32_t at = parent.node;
    for (uint32_t bin = 0; bin < bins.known; ++bin) {
      Node node = NodeOf(split, bin);
      node.left = AddNode();
      node.right = AddNode();
      nodes_[at] = node;
      child_of_bin.push_back(static_cast<uint32_t>(children.size()));
      children.push_back({.node = node.left, .score = parent.score, .noise = parent.noise});
      at = node.right;
    }
    child_of_bin.resize(bins.size(), static_cast<uint32_t>(children.size()));
    children.push_back({.node = at, .score = parent.score, .noise = parent.noise});
    return child_of_bin;
  }

  // Gives every open node its value, and the rows theirs.
  absl::Status Measure(const BudgetShare& share) {
    COPPICE_ASSIGN_OR_RETURN(const Measurement measured,
                             releaser_.Measure(SumByNode(), kind_.sensitivity, share));
    const std::vector<double> values = ValuesOf(measured);
    const std::vector<OutputNoise> noise = releaser_.NoiseOf(
        measured, [this](const Measurement& sums) { return ValuesOf(sums); },
        [&] { return NoiseOf(measured); });
    const size_t outputs = kind_.outputs;
    std::vector<std::vector<double>> of_child;
    for (size_t child = 0; child < open_.size(); ++child) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(child * outputs);
      of_child.emplace_back(first, first + static_cast<std::ptrdiff_t>(outputs));
      OpenNode& open = open_[child];
      for (size_t output = 0; output < outputs; ++output) {
        open.score[output] += of_child[child][output];
      }
      AddNoise(absl::MakeConstSpan(noise).subspan(child * outputs, outputs), open.noise);
      scores_[open.node] = open.score;
      noise_[open.node] = open.noise;
    }
    return task_.Add(node_of_, of_child);
  }

  // The values of the open nodes, node after node, by what was measured.
  std::vector<double> ValuesOf(const Measurement& measured) const {
    std::vector<double> values(open_.size() * kind_.outputs);
    for (size_t child = 0; child < open_.size(); ++child) {
      task_.Value(SumsOf(child, measured),
                  absl::MakeSpan(values).subspan(child * kind_.outputs, kind_.outputs));
    }
    return values;
  }
  // What noise has added to them.
  std::vector<OutputNoise> NoiseOf(const Measurement& measured) const {
    std::vector<OutputNoise> noise(open_.size() * kind_.outputs);
    for (size_t child = 0; child < open_.size(); ++child) {
      task_.ValueNoise(SumsOf(child, measured),
                       absl::MakeSpan(noise).subspan(child * kind_.outputs, kind_.outputs));
    }
    return noise;
  }

  ChildSums SumsOf(size_t child, const Measurement& measured) const {
    const size_t outputs = kind_.outputs;
    const auto parts = absl::MakeConstSpan(measured.sums).subspan(child * outputs * 2);
    return {.positive = parts.first(outputs),
            .negative = parts.subspan(outputs, outputs),
            .scale = measured.scale,
            .is_gaussian = measured.is_gaussian};
  }

  // The positive parts of a node's outputs, then the negative ones, node after node.
  std::vector<int64_t> SumByNode() const {
    const size_t outputs = kind_.outputs;
    // Rows are added to copies in turn, so that additions need not wait for each other.
    constexpr size_t kCopies = 4;
    const size_t size = open_.size() * outputs * 2;
    std::vector<int64_t> sums(kCopies * size);
    const int64_t whole = kind_.whole;
    for (size_t output = 0; output < outputs; ++output) {
      const int32_t* const residuals = residuals_[output].data();
      for (size_t row = 0; row < node_of_.size(); ++row) {
        const int64_t residual = residuals[row];
        const size_t positive = row % kCopies * size + node_of_[row] * outputs * 2 + output;
        if (whole > 0) {
          const int64_t part = (whole + residual) / 2;
          sums[positive] += part;
          sums[positive + outputs] += whole - part;
        } else {
          sums[positive + (residual < 0 ? outputs : 0)] += std::abs(residual);
        }
      }
    }
    for (size_t i = size; i < sums.size(); ++i) sums[i % size] += sums[i];
    sums.resize(size);
    return sums;
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
  BoostTask& task_;
  const ResidualKind kind_;
  PrivateReleaser& releaser_;
  Residuals residuals_;
  std::vector<uint32_t> node_of_;  // position in open_
  std::vector<OpenNode> open_;
  std::vector<Node> nodes_;
  std::vector<std::vector<double>> scores_;      // of every node
  std::vector<std::vector<OutputNoise>> noise_;  // likewise
};

}  // namespace

absl::StatusOr<BoostTree> GrowBoostTree(const Schema& tree_schema, const JointColumns& columns,
                                        absl::Span<const LevelShares> levels, BoostTask& task,
                                        PrivateReleaser& releaser) {
  TreeGrower grower(columns.rows(), task, releaser);
  for (const LevelShares& level : levels) {
    COPPICE_RETURN_IF_ERROR(grower.GrowLevel(columns, level));
  }
  return std::move(grower).Finish(tree_schema);
}

absl::StatusOr<BoostTree> ReleaseConstant(const BinnedRows& rows, const BudgetShare& share,
                                          BoostTask& task, PrivateReleaser& releaser) {
  TreeGrower grower(rows, task, releaser);
  COPPICE_RETURN_IF_ERROR(grower.MeasureRoot(share));
  return BoostTree{
      .tree = Tree::SingleLeaf(), .scores = {grower.root_score()}, .noise = {grower.root_noise()}};
}

}  // namespace coppice::trainers
