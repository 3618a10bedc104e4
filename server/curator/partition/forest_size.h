// Chooses the size of a forest's trees out of bag, from the public rows alone, before any report.
//
// Each candidate (depth, least rows of a leaf) grows the whole forest; a row is predicted by the
// trees whose bag does not contain it, so its own label does not flatter the answer (Breiman 2001).
// Of the candidates whose correlation with the labels is within half a standard error of the best,
// the one with most leaves wins: empty leaves are smoothed away later, missing leaves cannot be
// recovered. The size depends neither on epsilon nor on the number of reports.
//
// A single tree sees every row, so nothing is out of bag: it has depth 8 and leaves of at least
// sqrt(rows) / 4 and 2 rows. Above kManyPublicRows the trees are few and short, which bounds what
// the estimator solves: 16 trees of at most 128 leaves of 8 rows or more. Without labels there is
// no correlation and reports alone must fill the leaves: about 0.38 (reports / noise)^0.4 of them,
// a rule fitted on the synthetic pair from 10^4 to 10^6 reports. Every input is public; the
// expected number of devices is not secret.
//
// The rule random_cut is for trees that correct a predictor of their own (estimation/correction.h).
// Their size does not follow the public labels either: each direction that reports may correct
// costs a share of their noise, so trees are small, and smaller ones or larger ones made no
// difference (kCorrectionLeaves).
//
// Source     docs/research/mechanisms.md#forest-size.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_
#define COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_

#include <cstddef>
#include <cstdint>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/table/table.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

inline constexpr size_t kManyPublicRows = 1200;
// The default numbers of trees. Where reports alone decide, more trees help, and cost no privacy.
inline constexpr uint32_t kForestTrees = 64;
inline constexpr uint32_t kForestTreesWithoutLabels = 256;

// The leaves of a tree by the rule random_cut. With 5 sets and 200 public rows, 8, 16, 32 and 64
// leaves lowered the log loss at epsilon = 1 by .0034, .0057, .0024 and .0022, and at epsilon = 4
// by .0133, .0166, .0181 and .0159.
inline constexpr uint32_t kCorrectionLeaves = 16;

// The expected information in a study's reports: their number over the variance that each adds to
// the margin of a leaf. Only partitions without labels depend on it.
double ExpectedInformation(double reports, const Budget& epsilon);
inline constexpr double kDefaultReports = 10'000;

// The options to grow with: `base` with its size replaced and, unless its rule is random_cut, the
// rule as well. InvalidArgument if there is no public row.
StatusOr<PartitionOptions> ChooseForestSize(const Table& public_rows, const PartitionOptions& base,
                                            double expected_information,
                                            const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_FOREST_SIZE_H_
