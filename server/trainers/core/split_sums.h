// What the splits of one feature would do to a node: sums over the rows of either side, and scores.
//
// Sums are counts of each class; or, for regression, count, sum and sum of squares of targets in
// steps. Rows without a label are left out. split_scores.h has the scores and proves their ranges.

#ifndef COPPICE_SERVER_TRAINERS_CORE_SPLIT_SUMS_H_
#define COPPICE_SERVER_TRAINERS_CORE_SPLIT_SUMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/core/cell.h"
#include "server/trainers/core/grower.h"

namespace coppice::trainers {

enum class SplitScore : uint8_t { kMiscount, kGini, kSquaredError };

// Returns the `range` of a selection by this score, among the splits of one node.
uint64_t RangeOf(SplitScore score);

// Returns how many rows of the node go left, for each of `splits`, which are of one feature.
std::vector<int64_t> CountsLeft(const NodeRows& node, absl::Span<const BinSplit> splits);

// -|2 * left - rows|: highest for the split nearest to the median. Adding a row moves each score by
// -1 or 1, so the range is 2 (SPE, section 4).
std::vector<int64_t> MedianScores(const NodeRows& node, absl::Span<const BinSplit> splits);
inline constexpr uint64_t kMedianRange = 2;

// Returns the score of each of `splits`, which are of one feature.
std::vector<int64_t> ScoreSplits(const NodeRows& node, absl::Span<const BinSplit> splits,
                                 SplitScore score);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_SPLIT_SUMS_H_
