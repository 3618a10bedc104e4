#include "server/curator/estimation/inspection/break_down.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::curator {
namespace {

// Makes the noise of every quantity of one tree.
class NoiseMaker {
 public:
  NoiseMaker(const LocalMechanism& mechanism, uint64_t tree_reports, bool several_trees)
      : mechanism_(mechanism),
        influence_(mechanism.MaxInfluence()),
        reports_(static_cast<double>(tree_reports)),
        several_trees_(several_trees) {}

  QuantityNoise Rows() const {
    const NoiseVariance noise = mechanism_.Variance(0);
    const double ratio = mechanism_.WorstVarianceRatio();
    const double cells = mechanism_.domain().classes;
    // The leaf's stated variance includes its cells' covariances, which are only averages here.
    if (ratio > 1) return Make(cells * noise.label * ratio, std::max(noise.hit.label, 0.0), cells);
    return Make(noise.leaf, noise.hit.leaf, cells);
  }

  QuantityNoise Class(uint32_t k) const {
    const NoiseVariance noise = mechanism_.Variance(k);
    const double ratio = mechanism_.WorstVarianceRatio();
    return Make(noise.label * ratio, ratio > 1 ? std::max(noise.hit.label, 0.0) : noise.hit.label,
                1);
  }

  // For two classes with opposite estimates. The variance is the second moment, whatever the row,
  // so neither a hit nor the draw of the tree adds to it.
  QuantityNoise Margin() const {
    QuantityNoise noise = Make(4 * mechanism_.Variance(0).label, 0, 2);
    noise.hit = 0;
    return noise;
  }

 private:
  QuantityNoise Make(double leaf_variance, double hit, double cells) const {
    QuantityNoise noise;
    noise.variance.assign(mechanism_.domain().leaves, reports_ * leaf_variance);
    noise.hit = std::max(hit + (several_trees_ ? 1 : 0), 0.0);
    SetScale(cells, noise);
    return noise;
  }

  void SetScale(double cells, QuantityNoise& noise) const {
    if (mechanism_.adds_laplace_noise()) {
      // The draw of the tree is bounded by 1, which gives Bernstein's scale 1/3.
      noise.fixed_scale = std::max(std::sqrt(mechanism_.Variance(1).label / 2 + 1.0 / 12), 1.0 / 3);
      return;
    }
    if (mechanism_.has_independent_cells() && !several_trees_) {
      noise.fixed_scale = influence_.count / 3;  // each cell is a term of its own
      return;
    }
    noise.scale_per_leaf = cells * influence_.count / 3;
    noise.largest_scale = influence_.total / 3;
    noise.fixed_scale = 1.0 / 3;  // from the report's mean
  }

  const LocalMechanism& mechanism_;
  const Influence influence_;
  const double reports_;
  const bool several_trees_;
};

// The rows, then the rows of each class; or the margin alone.
std::vector<QuantityNoise> NoiseOfQuantities(const LocalMechanism& mechanism, uint64_t tree_reports,
                                             bool several_trees) {
  const NoiseMaker maker(mechanism, tree_reports, several_trees);
  if (mechanism.margins_only()) return {maker.Margin()};
  std::vector<QuantityNoise> noise = {maker.Rows()};
  for (uint32_t k = 0; k < mechanism.domain().classes; ++k) noise.push_back(maker.Class(k));
  return noise;
}

// The worst noise of one report over the mechanisms of every possible number of leaves.
std::vector<QuantityNoise> WorstNoiseOfOneReport(const ConsistentCounter& counter,
                                                 bool several_trees) {
  std::vector<QuantityNoise> worst;
  for (size_t size = 1; size <= counter.most_leaves(); ++size) {
    const auto noise = NoiseOfQuantities(counter.MechanismFor(size), 1, several_trees);
    worst.resize(noise.size());
    for (size_t i = 0; i < noise.size(); ++i) {
      worst[i].variance.resize(1);
      worst[i].variance[0] = std::max(worst[i].variance[0], noise[i].variance[0]);
      worst[i].hit = std::max(worst[i].hit, noise[i].hit);
      worst[i].scale_per_leaf = std::max(worst[i].scale_per_leaf, noise[i].scale_per_leaf);
      worst[i].largest_scale = std::max(worst[i].largest_scale, noise[i].largest_scale);
      worst[i].fixed_scale = std::max(worst[i].fixed_scale, noise[i].fixed_scale);
    }
  }
  return worst;
}

// Computes sums over leaves as differences of running sums, so every node costs the same.
class RunningSums {
 public:
  explicit RunningSums(const std::vector<double>& values) : up_to_(values.size() + 1) {
    for (size_t i = 0; i < values.size(); ++i) up_to_[i + 1] = up_to_[i] + values[i];
  }
  double Between(uint32_t first, uint32_t end) const { return up_to_[end] - up_to_[first]; }

 private:
  std::vector<double> up_to_;
};

// Estimates one quantity at any node of a tree.
class QuantityTable {
 public:
  QuantityTable(const NoisyCounts& counts, size_t quantity, double least_share, double log_sides)
      : noise_(counts.noise[quantity]),
        estimates_(Estimates(counts, quantity)),
        variances_(noise_.variance),
        least_share_(least_share),
        log_sides_(log_sides),
        tree_reports_(static_cast<double>(counts.tree_reports)),
        reports_(static_cast<double>(counts.reports)) {}

  CountEstimate At(const Tree& tree, uint32_t node) const {
    const uint32_t first = tree.first_leaf(node);
    const uint32_t end = tree.end_leaf(node);
    const double share = estimates_.Between(first, end) / tree_reports_;
    const double variance = variances_.Between(first, end) / (tree_reports_ * tree_reports_);
    const double scale = (std::min((end - first) * noise_.scale_per_leaf, noise_.largest_scale) +
                          noise_.fixed_scale) /
                         tree_reports_;
    const double hit = noise_.hit / tree_reports_;
    const double at = std::clamp(share, 0.0, 1.0);
    return {.estimate = reports_ * share,
            .standard_error = reports_ * std::sqrt(variance + hit * at),
            .low = reports_ * Bound(share, variance, hit, scale, -1),
            .high = reports_ * Bound(share, variance, hit, scale, 1)};
  }

 private:
  static RunningSums Estimates(const NoisyCounts& counts, size_t quantity) {
    const LeafCounts& at = counts.counts;
    if (!counts.margins_only && quantity == 0) return RunningSums(at.leaf);
    std::vector<double> values(at.leaf.size());
    for (uint32_t leaf = 0; leaf < values.size(); ++leaf) {
      values[leaf] = counts.margins_only ? at.at(leaf, 1) - at.at(leaf, 0)
                                         : at.at(leaf, static_cast<uint32_t>(quantity - 1));
    }
    return RunningSums(values);
  }

  // The last true share x on this side (-1 below, 1 above) that the estimate does not refute: (x -
  // share) = side * (sqrt(2 log_sides (variance + hit x)) + scale log_sides).
  double Bound(double share, double variance, double hit, double scale, int side) const {
    const double start = share + side * scale * log_sides_;
    const double spread = 2 * log_sides_;
    const double half = spread * hit / 2;
    const double root = half * half + spread * (variance + hit * start);
    // Without a root the estimate refutes every possible share, and all of them lie above it.
    if (root < 0) return least_share_;
    return std::clamp(start + half + side * std::sqrt(root), least_share_, 1.0);
  }

  const QuantityNoise& noise_;
  const RunningSums estimates_, variances_;
  const double least_share_;
  const double log_sides_;  // -log of the chance that one side of one interval may fail
  const double tree_reports_, reports_;
};

Status CheckCounts(const Tree& tree, const NoisyCounts& counts, const PublicCounts& public_counts) {
  const size_t leaves = tree.num_leaves();
  const size_t quantities = counts.margins_only ? 1 : 1 + size_t{counts.counts.classes};
  bool fits = counts.counts.leaf.size() == leaves && public_counts.leaf.size() == leaves &&
              counts.counts.label.size() == leaves * counts.counts.classes &&
              counts.noise.size() == quantities;
  for (const QuantityNoise& noise : counts.noise) fits = fits && noise.variance.size() == leaves;
  if (!fits) return InvalidArgumentError("the counts do not belong to the tree");
  if (counts.tree_reports > 0) return OkStatus();
  return FailedPreconditionError("no report has answered in this tree yet");
}

StatusOr<std::vector<uint32_t>> NodesOf(const Tree& tree, const NodeChoice& choice) {
  const auto size = static_cast<uint32_t>(tree.nodes().size());
  if (choice.node) {
    if (*choice.node < size) return std::vector<uint32_t>{*choice.node};
    return InvalidArgumentError(
        StrCat("node: the tree has no node ", *choice.node, ", its nodes are 0 to ", size - 1));
  }
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < size; ++node) {
    if (!choice.depth || tree.node_depth(node) <= *choice.depth) nodes.push_back(node);
  }
  return nodes;
}

std::optional<CountEstimate> KnownRows(const NoisyCounts& counts, uint32_t node) {
  std::optional<uint64_t> known;
  if (node < counts.known_rows.size()) known = counts.known_rows[node];
  if (node == 0 && !counts.margins_only) known = counts.reports;
  if (!known) return std::nullopt;
  const auto rows = static_cast<double>(*known);
  return CountEstimate{.estimate = rows, .low = rows, .high = rows};
}

// Known quantities need no interval.
StatusOr<uint64_t> CountIntervals(const NoisyCounts& counts, const std::vector<uint32_t>& nodes) {
  uint64_t intervals = nodes.size() * counts.noise.size();
  for (const uint32_t node : nodes) {
    if (!counts.margins_only && KnownRows(counts, node)) --intervals;
  }
  if (intervals <= kMaxIntervals) return intervals;
  return InvalidArgumentError(StrCat("depth: these are ", intervals, " intervals, more than ",
                                     kMaxIntervals,
                                     ": ask for nodes down to a smaller depth, or for one node"));
}

// The comparisons reject NaN too.
Status CheckConfidence(double confidence) {
  if (confidence >= kMinConfidence && confidence <= kMaxConfidence) return OkStatus();
  return InvalidArgumentError(
      StrCat("confidence: must be ", kMinConfidence, " to ", kMaxConfidence, ", is ", confidence));
}

NodeCounts CountNode(const Tree& tree, uint32_t node, const NoisyCounts& counts,
                     absl::Span<const QuantityTable> tables) {
  NodeCounts result;
  result.node = node;
  result.rows = KnownRows(counts, node);
  if (counts.margins_only) {
    result.margin = tables[0].At(tree, node);
    return result;
  }
  if (!result.rows) result.rows = tables[0].At(tree, node);
  for (const QuantityTable& of_class : tables.subspan(1)) {
    result.classes.push_back(of_class.At(tree, node));
  }
  return result;
}

uint64_t PublicRowsIn(const Tree& tree, uint32_t node, const PublicCounts& public_counts) {
  uint64_t rows = 0;
  for (uint32_t leaf = tree.first_leaf(node); leaf < tree.end_leaf(node); ++leaf) {
    rows += public_counts.leaf[leaf];
  }
  return rows;
}

}  // namespace

NoisyCounts CountWithNoise(const LocalMechanism& mechanism, const TreeSums& sums, uint64_t reports,
                           bool several_trees) {
  NoisyCounts result;
  result.counts = mechanism.Estimate(sums.sums, sums.reports);
  result.margins_only = mechanism.margins_only();
  result.tree_reports = sums.reports;
  result.reports = reports;
  result.noise = NoiseOfQuantities(mechanism, sums.reports, several_trees);
  return result;
}

NoisyCounts CountWithNoise(const ConsistentCounter& counter, const TreeSums& sums, uint64_t reports,
                           bool several_trees) {
  NoisyCounts result;
  result.counts = counter.Estimate(sums);
  result.margins_only = counter.MechanismFor(1).margins_only();
  result.tree_reports = sums.reports;
  result.reports = reports;
  result.noise = WorstNoiseOfOneReport(counter, several_trees);
  for (QuantityNoise& noise : result.noise) {
    const double of_one = noise.variance[0];
    noise.variance = counter.ReportsAbout(sums);
    for (double& variance : noise.variance) variance *= of_one;
  }
  return result;
}

StatusOr<BreakDown> BreakDownTree(const Tree& tree, const NoisyCounts& counts,
                                  const PublicCounts& public_counts, const NodeChoice& choice,
                                  double confidence) {
  COPPICE_RETURN_IF_ERROR(CheckConfidence(confidence));
  COPPICE_RETURN_IF_ERROR(CheckCounts(tree, counts, public_counts));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> nodes, NodesOf(tree, choice));
  BreakDown result{.confidence = confidence};
  COPPICE_ASSIGN_OR_RETURN(result.intervals, CountIntervals(counts, nodes));
  const double sides = 2 * static_cast<double>(std::max<uint64_t>(result.intervals, 1));
  const double log_sides = std::log(sides / (1 - confidence));
  std::vector<QuantityTable> tables;
  for (size_t quantity = 0; quantity < counts.noise.size(); ++quantity) {
    tables.emplace_back(counts, quantity, counts.margins_only ? -1 : 0, log_sides);
  }
  for (const uint32_t node : nodes) {
    NodeCounts of_node = CountNode(tree, node, counts, tables);
    of_node.public_rows = PublicRowsIn(tree, node, public_counts);
    result.nodes.push_back(std::move(of_node));
  }
  return result;
}

}  // namespace coppice::curator
