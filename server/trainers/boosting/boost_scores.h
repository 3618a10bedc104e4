// Every split that a level of a boosted tree could make, and how good each is at each node.
//
// A score is u = sum over the children and outputs of |sum of residuals|. A record's residuals are
// in one child, so u moves by at most their L1 norm, up or down. The candidates are the same for
// all nodes and all data. A split into all categories at once is offered while nodes are few, which
// is released; what its score is reduced by is a public number. Scores are whole numbers: the order
// of rows does not matter.
//
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/tree/tree.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// Residuals of all rows: values[output][row].
using Residuals = std::vector<std::vector<int32_t>>;

// A split of all rows of a column, in terms of bins. Left are: the bins up to `bin` (kNumeric), the
// bin `bin` (kCategory, kMissing). Multiway: every category is a child, and all else is one.
struct SplitCandidate {
  SplitKind kind = SplitKind::kLeaf;
  uint32_t column = 0;
  uint32_t bin = 0;
  bool multiway = false;
};

// The splits of a level of this many nodes, column after column. A split into all categories at
// once is among them while few nodes can come of it: memory is bounded by the schema, whatever is
// chosen.
std::vector<SplitCandidate> SplitCandidates(const std::vector<FeatureBins>& bins, size_t nodes,
                                            size_t outputs);

// InvalidArgument if the sums of this many bins would not fit into memory.
absl::Status CheckBins(const std::vector<FeatureBins>& bins, size_t outputs);

// scores[node * candidates + candidate]. `node_of` is below `nodes`, a row each; a split into B
// bins at once has its score reduced by (B - 2) * `multiway_reduction`.
std::vector<int64_t> ScoreSplits(const JointColumns& columns, const Residuals& residuals,
                                 absl::Span<const uint32_t> node_of, size_t nodes,
                                 absl::Span<const SplitCandidate> candidates,
                                 double multiway_reduction);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_SCORES_H_
