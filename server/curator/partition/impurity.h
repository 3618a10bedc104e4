// How mixed the classes of some rows are, and what a cut takes from that.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_IMPURITY_H_
#define COPPICE_SERVER_CURATOR_PARTITION_IMPURITY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// Rows of each class.
using ClassCounts = std::vector<uint64_t>;

uint64_t TotalCount(absl::Span<const uint64_t> counts);

// Gini 1 - sum p^2, or entropy -sum p log2 p; 0 for no rows.
double Impurity(Criterion criterion, absl::Span<const uint64_t> counts);

// Impurity of all rows less the mean impurity of the sides, weighted by their rows. `left` counts
// some of the rows in `all`, of which there is at least one.
double ImpurityDecrease(Criterion criterion, absl::Span<const uint64_t> all,
                        absl::Span<const uint64_t> left);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_IMPURITY_H_
