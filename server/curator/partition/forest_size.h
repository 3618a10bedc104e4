// How large the trees of a forest should be, found out of bag: from the public rows alone, before
// any report.
//
// Each candidate (depth, least rows of a leaf) grows the whole forest; a row is predicted by the
// trees whose bag it is not in. Among the candidates whose correlation with the labels is within
// half a standard error of the best, the one with most leaves is taken: leaves that say nothing are
// smoothed away later, leaves that are missing cannot be had back. The size does not depend on
// epsilon or on the number of reports.
//
// A single tree sees every row, so nothing is out of bag: depth 8, leaves of sqrt(rows) / 4 rows, 2
// at least. Above kManyPublicRows the trees are few and short, so that what the estimator solves
// stays of a fixed size: 16 trees of at most 128 leaves of 8 rows or more. Without labels the
// correlation cannot be had, and reports alone must fill the leaves: about 0.38 (reports /
// noise)^0.4 of them, a rule fitted on the synthetic pair from 10^4 to 10^6 reports. Every input is
// public; how many devices are expected is no one's secret.
//
// Source     docs/research/mechanisms.md#forest-size.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_
#define COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/privacy/budget.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

inline constexpr size_t kManyPublicRows = 1200;
// How many trees to grow if nobody says; more where reports alone decide, which costs no privacy.
inline constexpr uint32_t kForestTrees = 64;
inline constexpr uint32_t kForestTreesWithoutLabels = 256;

// What the reports of a study will amount to: their number over the variance that each adds to the
// margin of a leaf. Only partitions without labels depend on it.
double ExpectedInformation(double reports, const Budget& epsilon);
inline constexpr double kDefaultReports = 10'000;

// The options to grow with: those of `base`, with rule, depth, leaves and trees replaced.
// InvalidArgument if there is no public row.
absl::StatusOr<PartitionOptions> ChooseForestSize(const Table& public_rows,
                                                  const PartitionOptions& base,
                                                  double expected_information,
                                                  const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_
