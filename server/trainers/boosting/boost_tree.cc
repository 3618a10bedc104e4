#include "server/trainers/boosting/boost_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/boosting/column_parts.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/row_ranges.h"

namespace coppice::trainers {
namespace {

constexpr uint32_t kMaxCategoryParts = 64;  // more would make too long a chain of questions
constexpr uint32_t kTiltedRuns = 4;         // for a child with tilted scores
// For numbers: rows crowd nearer to the cut, and leaning needs differences above the noise.
constexpr double kNumbersMiddle = 0.2, kDoubt = 6;

// A node of the current level.
struct OpenNode {
  uint32_t node = 0;               // position among the tree's nodes
  std::vector<double> score;       // the values on its path that no earlier tree has, summed
  std::vector<OutputNoise> noise;  // of these
  ColumnParts parts{};
  uint32_t first_cell = 0, end_cell = 0;  // of its parts
};

// Rows of a child that get the same value.
struct Part {
  uint32_t child = 0;  // position among the open nodes
  uint32_t cell = 0;   // the measured sums that contain it
  // How far its value moves from its own cell's to that of another cell, of the sibling child.
  double lean = 0;
  uint32_t other_cell = 0;
};

// Returns the lean of a part by its place from the middle of a child's parts.
double Lean(double tilt, size_t part, size_t parts) {
  return tilt * ((static_cast<double>(part) + 0.5) / static_cast<double>(parts) - 0.5);
}

// Numbers leaves as Tree::Create() does: from left to right.
std::vector<uint32_t> LeavesInOrder(const std::vector<Node>& nodes) {
  std::vector<uint32_t> leaves, waiting = {0};
  while (!waiting.empty()) {
    const uint32_t node = waiting.back();
    waiting.pop_back();
    if (nodes[node].kind == SplitKind::kLeaf) {
      leaves.push_back(node);
      continue;
    }
    waiting.push_back(nodes[node].right);
    waiting.push_back(nodes[node].left);
  }
  return leaves;
}

class TreeGrower {
 public:
  // `schema` has all of the rows' columns; null if nothing is split.
  TreeGrower(const BinnedRows& rows, const Schema* schema, const ChildDetail& detail,
             BoostTask& task, PrivateReleaser& releaser, StepPrior* prior = nullptr)
      : rows_(rows),
        schema_(schema),
        detail_(detail),
        task_(task),
        kind_(task.kind()),
        releaser_(releaser),
        prior_(prior),
        residuals_(kind_.outputs, std::vector<int32_t>(rows.num_rows())),
        node_of_(rows.num_rows(), 0),
        nodes_(1) {
    open_.push_back({.score = std::vector<double>(kind_.outputs),
                     .noise = std::vector<OutputNoise>(kind_.outputs)});
    AddParts(0);
  }

  // `columns` must be those of the rows. A level with parts that is not the last gets its own tree.
  Status GrowLevel(const JointColumns& columns, const LevelShares& shares, bool is_last) {
    // A level that is repeated after a crash has its releases: only scores and places follow.
    const bool is_known = releaser_.KnowsNext(open_.size() + 1);
    if (!is_known) task_.Fill(residuals_);
    const std::vector<SplitCandidate> candidates =
        SplitCandidates(rows_.bins(), open_.size(), kind_.outputs);
    COPPICE_ASSIGN_OR_RETURN(const double noise, NoiseScale(kind_.sensitivity, shares.measure));
    const std::vector<int64_t> scores =
        is_known ? std::vector<int64_t>(open_.size() * candidates.size())
                 : ScoreSplits(columns, residuals_, node_of_, open_.size(), candidates,
                               kind_.multiway * noise, task_.threads());
    std::vector<SplitCandidate> chosen;
    for (size_t node = 0; node < open_.size(); ++node) {
      COPPICE_ASSIGN_OR_RETURN(const size_t place,
                               releaser_.Select(absl::MakeConstSpan(scores).subspan(
                                                    node * candidates.size(), candidates.size()),
                                                shares.select, kind_.range));
      chosen.push_back(candidates[place]);
    }
    Divide(chosen);
    COPPICE_RETURN_IF_ERROR(Measure(shares.measure));
    if (is_last || has_parts()) return AddTree();
    Keep();
    return OkStatus();
  }

  // Measures the root's value before any split.
  Status MeasureRoot(const BudgetShare& share) {
    task_.Fill(residuals_);
    return Measure(share);
  }
  const std::vector<double>& root_score() const { return values_[0]; }
  const std::vector<OutputNoise>& root_noise() const { return noise_[0]; }

  std::vector<BoostTree> TakeTrees() && { return std::move(trees_); }

 private:
  bool has_parts() const { return parts_.size() > open_.size(); }

  // Makes the chosen splits, and moves every row to its child and its part.
  void Divide(const std::vector<SplitCandidate>& chosen) {
    std::vector<OpenNode> parents = std::move(open_);
    open_.clear();
    parts_.clear();
    cells_ = 0;
    std::vector<std::vector<uint32_t>> part_of_bin;
    for (size_t node = 0; node < parents.size(); ++node) {
      part_of_bin.push_back(chosen[node].multiway ? SplitAll(parents[node], chosen[node])
                                                  : SplitInTwo(parents[node], chosen[node]));
    }
    // What a row needs from its node, side by side in memory.
    struct Way {
      const BinColumn* bin_of_row;
      const uint32_t* part_of_bin;
    };
    std::vector<Way> ways;
    for (size_t node = 0; node < parents.size(); ++node) {
      ways.push_back({&rows_.column(chosen[node].column), part_of_bin[node].data()});
    }
    ForRowRanges(node_of_.size(), task_.threads(), [&](size_t, size_t first, size_t end) {
      for (size_t row = first; row < end; ++row) {
        const Way& way = ways[node_of_[row]];
        node_of_[row] = way.part_of_bin[(*way.bin_of_row)[row]];
      }
    });
    part_of_.clear();
    if (!has_parts()) return;
    part_of_ = node_of_;
    for (uint32_t& node : node_of_) node = parts_[node].child;
  }

  // Returns the part of every row.
  const std::vector<uint32_t>& part_of() const { return part_of_.empty() ? node_of_ : part_of_; }

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
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  // Adds a child of `parent` at `node`; returns its position.
  uint32_t AddChild(const OpenNode& parent, uint32_t node) {
    open_.push_back({.node = node, .score = parent.score, .noise = parent.noise});
    return static_cast<uint32_t>(open_.size() - 1);
  }

  // Adds the parts of a child, one cell each; returns the first one's position.
  uint32_t AddParts(uint32_t child) {
    const auto first = static_cast<uint32_t>(parts_.size());
    open_[child].first_cell = cells_;
    for (size_t i = 0; i < open_[child].parts.count(); ++i) {
      parts_.push_back({.child = child, .cell = cells_++});
    }
    open_[child].end_cell = cells_;
    return first;
  }
  // Adds parts in one cell: parts other than the first lean towards the next cell, or parts other
  // than the last towards the previous one.
  uint32_t AddTiltedParts(uint32_t child, double tilt) {
    const auto first = static_cast<uint32_t>(parts_.size());
    const size_t parts = open_[child].parts.count();
    for (size_t i = 0; i < parts; ++i) {
      parts_.push_back({.child = child,
                        .cell = cells_,
                        .lean = Lean(tilt, i, parts),
                        .other_cell = tilt > 0 ? cells_ + 1 : cells_ - 1});
    }
    open_[child].first_cell = cells_++;
    open_[child].end_cell = cells_;
    return first;
  }

  std::vector<uint32_t> SplitInTwo(const OpenNode& parent, const SplitCandidate& split) {
    Node node = NodeOf(split, split.bin);
    node.left = AddNode();
    node.right = AddNode();
    nodes_[parent.node] = node;
    const uint32_t left = AddChild(parent, node.left), right = AddChild(parent, node.right);
    if (split.kind == SplitKind::kNumeric) return NumericParts(split, left, right);
    const uint32_t left_part = AddParts(left);
    const FeatureBins& bins = rows_.bins()[split.column];
    std::vector<uint32_t> part_of_bin(bins.size());
    if (split.kind == SplitKind::kCategory && detail_.categories &&
        bins.known <= kMaxCategoryParts) {
      open_[right].parts.column = split.column;
      for (uint32_t bin = 0; bin < bins.known; ++bin) {
        if (bin != split.bin) open_[right].parts.categories.push_back(bin);
      }
    }
    const std::vector<uint32_t>& categories = open_[right].parts.categories;
    const uint32_t right_part = AddParts(right);
    std::fill(part_of_bin.begin(), part_of_bin.end(),
              right_part + static_cast<uint32_t>(categories.size()));
    for (uint32_t i = 0; i < categories.size(); ++i) part_of_bin[categories[i]] = right_part + i;
    part_of_bin[split.bin] = left_part;
    return part_of_bin;
  }

  // Missing values are on the right, next to the cut.
  std::vector<uint32_t> NumericParts(const SplitCandidate& split, uint32_t left, uint32_t right) {
    const FeatureBins& bins = rows_.bins()[split.column];
    const bool tilts = detail_.runs == 1 && detail_.tilt != 0;
    const uint32_t wanted = tilts ? kTiltedRuns : detail_.runs;
    std::vector<uint32_t> part_of_bin;
    const auto divide = [&](uint32_t child, uint32_t first, uint32_t end, double tilt) {
      const std::vector<uint32_t> runs =
          EvenRuns(bins, schema_->features()[split.column], first, end, wanted);
      open_[child].parts = {.column = split.column, .first_bins = FirstBins(runs, first)};
      const uint32_t first_part = tilts ? AddTiltedParts(child, tilt) : AddParts(child);
      for (const uint32_t run : runs) part_of_bin.push_back(first_part + run);
    };
    divide(left, 0, split.bin + 1, detail_.tilt);
    divide(right, split.bin + 1, bins.ordinary(), -detail_.tilt);
    part_of_bin.push_back(part_of_bin[split.bin + 1]);
    return part_of_bin;
  }

  // Asks a chain of questions, one per category; other and missing values remain at the end.
  std::vector<uint32_t> SplitAll(const OpenNode& parent, const SplitCandidate& split) {
    const FeatureBins& bins = rows_.bins()[split.column];
    std::vector<uint32_t> part_of_bin;
    uint32_t at = parent.node;
    for (uint32_t bin = 0; bin < bins.known; ++bin) {
      Node node = NodeOf(split, bin);
      node.left = AddNode();
      node.right = AddNode();
      nodes_[at] = node;
      part_of_bin.push_back(AddParts(AddChild(parent, node.left)));
      at = node.right;
    }
    part_of_bin.resize(bins.size(), AddParts(AddChild(parent, at)));
    return part_of_bin;
  }

  // Measures a value for every part, and adds it to the rows' scores.
  Status Measure(const BudgetShare& share) {
    COPPICE_ASSIGN_OR_RETURN(const Measurement measured,
                             releaser_.Measure(SumByCell(), kind_.sensitivity, share));
    if (prior_ != nullptr) {
      prior_->Observe(measured);
    } else {
      task_.Observe(measured);
    }
    const std::vector<double> of_cell = ValuesOf(measured);
    const std::vector<OutputNoise> noise_of_cell = releaser_.NoiseOf(
        measured, [this](const Measurement& sums) { return ValuesOf(sums); },
        [&] { return NoiseOfCells(measured); });
    std::vector<OutputNoise> stated;
    if (kind_.whole > 0) stated = NoiseOfCells(measured);
    values_.clear();
    noise_.clear();
    for (const Part& part : parts_) {
      std::vector<double>& value = values_.emplace_back();
      std::vector<OutputNoise>& noise = noise_.emplace_back(kind_.outputs);
      for (size_t output = 0; output < kind_.outputs; ++output) {
        const size_t own = part.cell * kind_.outputs + output;
        const size_t other = part.other_cell * kind_.outputs + output;
        const double lean = LeanOf(part, of_cell, stated);
        value.push_back((1 - lean) * of_cell[own] + lean * of_cell[other]);
        const OutputNoise near = Scaled(noise_of_cell[own], 1 - lean);
        const OutputNoise far = Scaled(noise_of_cell[other], lean);
        noise[output] = {.mean = near.mean + far.mean, .variance = near.variance + far.variance};
      }
    }
    return task_.Add(part_of(), values_);
  }

  // Numbers lean only as far as the difference between their children is certain.
  double LeanOf(const Part& part, const std::vector<double>& values,
                const std::vector<OutputNoise>& noise) const {
    if (part.lean == 0 || kind_.whole == 0) return part.lean;
    const double difference = values[part.cell] - values[part.other_cell];
    const double doubt = kDoubt * (noise[part.cell].variance + noise[part.other_cell].variance);
    const double sure = 1 - doubt / (difference * difference);
    return sure > 0 ? sure * (part.lean + detail_.tilt * (kNumbersMiddle - 0.5)) : 0;
  }

  // Returns the values of all cells, from the measurement.
  std::vector<double> ValuesOf(const Measurement& measured) const {
    if (prior_ != nullptr) return prior_->Steps(measured);
    std::vector<double> values(cells_ * kind_.outputs);
    for (const OpenNode& child : open_) {
      task_.Values(
          SumsOf(child, measured),
          absl::MakeSpan(values).subspan(child.first_cell * kind_.outputs,
                                         (child.end_cell - child.first_cell) * kind_.outputs));
    }
    return values;
  }
  // Returns the noise in these values.
  std::vector<OutputNoise> NoiseOfCells(const Measurement& measured) const {
    std::vector<OutputNoise> noise(cells_ * kind_.outputs);
    for (const OpenNode& child : open_) {
      task_.ValuesNoise(
          SumsOf(child, measured),
          absl::MakeSpan(noise).subspan(child.first_cell * kind_.outputs,
                                        (child.end_cell - child.first_cell) * kind_.outputs));
    }
    return noise;
  }

  std::vector<ChildSums> SumsOf(const OpenNode& child, const Measurement& measured) const {
    const size_t outputs = kind_.outputs;
    std::vector<ChildSums> sums;
    for (size_t cell = child.first_cell; cell < child.end_cell; ++cell) {
      const auto of_cell = absl::MakeConstSpan(measured.sums).subspan(cell * outputs * 2);
      sums.push_back({.positive = of_cell.first(outputs),
                      .negative = of_cell.subspan(outputs, outputs),
                      .scale = measured.scale,
                      .is_gaussian = measured.is_gaussian});
    }
    return sums;
  }

  // Returns the positive parts of a cell's outputs, then the negative ones, cell after cell.
  std::vector<int64_t> SumByCell() const {
    const size_t outputs = kind_.outputs;
    const std::vector<int64_t> by_part = SumByPart();
    std::vector<int64_t> by_cell(cells_ * outputs * 2);
    for (size_t i = 0; i < by_part.size(); ++i) {
      const size_t part = i / (outputs * 2), place = i % (outputs * 2);
      by_cell[parts_[part].cell * outputs * 2 + place] += by_part[i];
    }
    return by_cell;
  }

  std::vector<int64_t> SumByPart() const {
    const size_t outputs = kind_.outputs;
    if (releaser_.KnowsNext()) return std::vector<int64_t>(parts_.size() * outputs * 2);
    const size_t rows = part_of().size();
    std::vector<std::vector<int64_t>> of_range(NumRowRanges(rows, task_.threads()));
    ForRowRanges(rows, task_.threads(), [&](size_t range, size_t first, size_t end) {
      of_range[range] = SumByPart(first, end);
    });
    std::vector<int64_t> sums = std::move(of_range[0]);
    for (size_t range = 1; range < of_range.size(); ++range) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += of_range[range][i];
    }
    return sums;
  }

  std::vector<int64_t> SumByPart(size_t first, size_t end) const {
    const size_t outputs = kind_.outputs;
    const std::vector<uint32_t>& part_of_row = part_of();
    // Adds rows to copies in turn, so that additions need not wait for each other.
    constexpr size_t kCopies = 4;
    const size_t size = parts_.size() * outputs * 2;
    std::vector<int64_t> sums(kCopies * size);
    const int64_t whole = kind_.whole;
    for (size_t output = 0; output < outputs; ++output) {
      const int32_t* const residuals = residuals_[output].data();
      for (size_t row = first; row < end; ++row) {
        const int64_t residual = residuals[row];
        const size_t positive = row % kCopies * size + part_of_row[row] * outputs * 2 + output;
        if (whole > 0) {
          const int64_t half = (whole + residual) / 2;
          sums[positive] += half;
          sums[positive + outputs] += whole - half;
        } else {
          sums[positive + (residual < 0 ? outputs : 0)] += std::abs(residual);
        }
      }
    }
    for (size_t i = size; i < sums.size(); ++i) sums[i % size] += sums[i];
    sums.resize(size);
    return sums;
  }

  // Adds the level's values to its children's scores, because no tree contains them yet.
  void Keep() {
    for (size_t child = 0; child < open_.size(); ++child) {
      for (size_t output = 0; output < kind_.outputs; ++output) {
        open_[child].score[output] += values_[child][output];
      }
      AddNoise(noise_[child], open_[child].noise);
    }
  }

  // Adds a tree of all splits so far and of the parts, with all values that no earlier tree has.
  Status AddTree() {
    std::vector<Node> nodes = nodes_;
    std::vector<uint32_t> part_of_node(nodes.size());
    uint32_t part = 0;
    for (const OpenNode& child : open_) {
      PlantParts(child.parts, rows_.bins()[child.parts.column], child.node, part, nodes,
                 part_of_node);
      part += static_cast<uint32_t>(child.parts.count());
    }
    const std::vector<uint32_t> leaves = LeavesInOrder(nodes);
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes), *schema_));
    BoostTree& made =
        trees_.emplace_back(BoostTree{.tree = std::move(tree), .scores = {}, .noise = {}});
    for (const uint32_t leaf : leaves) {
      const uint32_t of_leaf = part_of_node[leaf];
      const OpenNode& child = open_[parts_[of_leaf].child];
      made.scores.push_back(child.score);
      for (size_t i = 0; i < kind_.outputs; ++i) made.scores.back()[i] += values_[of_leaf][i];
      made.noise.push_back(child.noise);
      AddNoise(noise_[of_leaf], made.noise.back());
    }
    for (OpenNode& child : open_) {
      child.score.assign(kind_.outputs, 0);
      child.noise.assign(kind_.outputs, {});
    }
    return OkStatus();
  }

  const BinnedRows& rows_;
  const Schema* const schema_;
  const ChildDetail detail_;
  BoostTask& task_;
  const ResidualKind kind_;
  PrivateReleaser& releaser_;
  StepPrior* const prior_;  // may be null
  Residuals residuals_;
  std::vector<uint32_t> node_of_;  // per row, the position in open_
  std::vector<uint32_t> part_of_;  // position in parts_; empty if that is the same
  std::vector<OpenNode> open_;
  std::vector<Part> parts_;  // child after child
  uint32_t cells_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::vector<double>> values_;      // per part
  std::vector<std::vector<OutputNoise>> noise_;  // likewise
  std::vector<BoostTree> trees_;
};

}  // namespace

StatusOr<std::vector<BoostTree>> GrowBoostTree(const Schema& tree_schema,
                                               const JointColumns& columns,
                                               absl::Span<const LevelShares> levels,
                                               const ChildDetail& detail, BoostTask& task,
                                               PrivateReleaser& releaser, StepPrior* prior,
                                               const CancelCheck& check) {
  TreeGrower grower(columns.rows(), &tree_schema, detail, task, releaser, prior);
  for (size_t level = 0; level < levels.size(); ++level) {
    COPPICE_RETURN_IF_ERROR(check());
    COPPICE_RETURN_IF_ERROR(
        grower.GrowLevel(columns, levels[level], /*is_last=*/level + 1 == levels.size()));
  }
  return std::move(grower).TakeTrees();
}

StatusOr<BoostTree> ReleaseConstant(const BinnedRows& rows, const BudgetShare& share,
                                    BoostTask& task, PrivateReleaser& releaser) {
  TreeGrower grower(rows, /*schema=*/nullptr, /*detail=*/{}, task, releaser);
  COPPICE_RETURN_IF_ERROR(grower.MeasureRoot(share));
  return BoostTree{
      .tree = Tree::SingleLeaf(), .scores = {grower.root_score()}, .noise = {grower.root_noise()}};
}

}  // namespace coppice::trainers
