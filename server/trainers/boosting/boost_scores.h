// Scores every split that a level of a boosted tree could make, at each node.
//
// Residuals are what rows still lack: positive where an answer should go up, negative where down. A
// split is good if it sends the ones to one side and the others to the other, for then a value on
// either side can mend many rows at once; it is useless if both sides look alike, and then its sums
// cancel like the parent's.
//
// A score is u = sum over the children and outputs of |sum of residuals|. A record's residuals are
// in one child, so u moves by at most their L1 norm, up or down. The candidates are the same for
// all nodes and all data. A split into all categories at once is offered while there are few nodes,
// whose number is released; its score is reduced by a public number. Scores are whole numbers, so
// the order of rows does not matter.
//
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// Residuals of all rows: values[output][row].
using Residuals = std::vector<std::vector<int32_t>>;

// A split of a column's rows, in terms of bins. Left are the bins up to `bin` (kNumeric), or the
// bin `bin` (kCategory, kMissing). Multiway: every category is a child, and everything else is one.
struct SplitCandidate {
  SplitKind kind = SplitKind::kLeaf;
  uint32_t column = 0;
  uint32_t bin = 0;
  bool multiway = false;
};

// A split into all of more categories would need a longer chain of questions than a tree may have
// (kMaxModelDepth).
inline constexpr uint32_t kMaxSplitCategories = 64;

// Returns the splits of a level with this many nodes, column after column. They include a split
// into all categories at once only if few nodes can result: the schema bounds the memory, whatever
// is chosen.
std::vector<SplitCandidate> SplitCandidates(const std::vector<FeatureBins>& bins, size_t nodes,
                                            size_t outputs);

// InvalidArgument if the sums of this many bins would not fit into memory.
Status CheckBins(const std::vector<FeatureBins>& bins, size_t outputs);

// Returns scores[node * candidates + candidate]. `node_of` has a number below `nodes` per row. The
// score of a split into B bins at once is reduced by (B - 2) * `multiway_reduction`. The scores are
// the same for any number of threads.
std::vector<int64_t> ScoreSplits(const JointColumns& columns, const Residuals& residuals,
                                 absl::Span<const uint32_t> node_of, size_t nodes,
                                 absl::Span<const SplitCandidate> candidates,
                                 double multiway_reduction, uint32_t threads = 1);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_
