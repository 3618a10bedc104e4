// Estimates how many rows, and of which class, the nodes of one tree hold, with intervals that all
// hold at once.
//
// The sums that a model is made of also answer how many rows a node has, since each mechanism's
// estimate is unbiased leaf by leaf and leaves add up. What is needed is honesty about the error:
// an analyst looks at all nodes and will notice the most surprising, so the intervals are wide
// enough to hold for all of them together, and rest on bounds that hold at every number of reports
// instead of on a normal approximation.
//
// A device answers in one tree, which its ticket draws. The estimates of a tree rest on its reports
// alone and are scaled to all reports of the study; the intervals allow for the draw.
//
// A mechanism that gives margins only says nothing about how many rows a node has. Each node then
// has one quantity: the rows of class 1 less those of class 0.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
//            If all devices are honest, all intervals of one answer hold with at least the stated
//            probability, whatever the rows: tails are Bernstein's, at the variance of the worst
//            rows, and the bound is a union over intervals and sides. Two answers hold together
//            with less.
// Errors     InvalidArgument for a node that the tree does not have, for a confidence out of
//            bounds, for too many intervals, and for shapes that do not match.
// Units      rows; shares in [0, 1], margins in [-1, 1] of all reports.
// Source     docs/research/mechanisms.md#break-downs.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_BREAK_DOWN_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_BREAK_DOWN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/tree.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

// The noise in the estimates of one quantity (rows, rows of one class, or the margin).
struct QuantityNoise {
  // By leaf: variance over all reports of rows that are elsewhere. The variance of a node is at
  // most the sum over its leaves.
  std::vector<double> variance;
  // The most that each row counted by the quantity adds to the variance.
  double hit = 0;
  // Bernstein's scale of a node over h leaves is min(h * scale_per_leaf, largest_scale) +
  // fixed_scale: log E exp(s error) <= s^2 variance / 2 / (1 - scale s).
  double scale_per_leaf = 0;
  double largest_scale = 0;
  double fixed_scale = 0;
};

// Estimates of one tree's counts by leaf, and their noise.
struct NoisyCounts {
  LeafCounts counts;
  bool margins_only = false;
  // The quantities: the rows, then the rows of each class; or the margin alone.
  std::vector<QuantityNoise> noise;
  uint64_t tree_reports = 0;
  uint64_t reports = 0;  // of all trees
  // By node: how many of all rows are there, if that is public. Empty: known at the root alone.
  std::vector<std::optional<uint64_t>> known_rows{};
};

// `reports` counts the reports of all trees; it equals the tree's own if there is no other tree.
// The sums must have the mechanism's size.
NoisyCounts CountWithNoise(const LocalMechanism& mechanism, const TreeSums& sums, uint64_t reports,
                           bool several_trees);

// The same for reports about consistent leaves. A leaf has the noise of the reports that are about
// it, each taken at the worst number of leaves.
NoisyCounts CountWithNoise(const ConsistentCounter& counter, const TreeSums& sums, uint64_t reports,
                           bool several_trees);

// Selects nodes: one, all down to a depth, or all.
struct NodeChoice {
  std::optional<uint32_t> node;
  std::optional<uint32_t> depth;
};

struct CountEstimate {
  double estimate = 0;  // unbiased; noise may carry it beyond what is possible
  double standard_error = 0;
  double low = 0, high = 0;  // clamped to what is possible
};

struct NodeCounts {
  uint32_t node = 0;
  uint64_t public_rows = 0;
  std::optional<CountEstimate> rows;   // exact where they are known, as at the root
  std::vector<CountEstimate> classes;  // one per class
  std::optional<CountEstimate> margin;
};

struct BreakDown {
  double confidence = 0;
  uint64_t intervals = 0;  // that hold together
  std::vector<NodeCounts> nodes{};
};

inline constexpr double kDefaultConfidence = 0.95;
inline constexpr double kMinConfidence = 0.5;
inline constexpr double kMaxConfidence = 0.999999;
inline constexpr size_t kMaxIntervals = 10'000;

// FailedPrecondition if the tree has no reports yet.
StatusOr<BreakDown> BreakDownTree(const Tree& tree, const NoisyCounts& counts,
                                  const PublicCounts& public_counts, const NodeChoice& choice,
                                  double confidence = kDefaultConfidence);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_BREAK_DOWN_H_
