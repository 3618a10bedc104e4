// The estimator of studies whose features are all public. A report is the randomized label of a
// known row, so any learner can be used.
//
// An unbiased number z can be made of each report, whose mean over the noise is the true margin of
// its row's label, so least squares on z aims at the same function as least squares on the labels
// themselves. Only the variance is larger, by a known factor v, and that is what has to be guarded
// against: with enough trees anything fits noise. So leaves are as large as v asks for, and what
// was fitted counts only as far as reports that it has not seen confirm it.
//
// The offset a(x) is a forest's score from the public rows alone. In each of three folds, trees are
// boosted on two thirds of the reports to fit z - a for a report's unbiased margins z. Ridge and
// leaves are in units of a report's worth, 1 / v for the second moment v of z. The held-out third
// then gives an unbiased estimate of the share alpha of the boosted part that has the least squared
// error when added to a; less one standard error, clamped to [0, 1]. Learned noise is not confirmed
// there, and then the public rows' answer stands.
//
// The same is done without an offset. That is the answer if its held-out squared error is smaller
// by more than a standard error: a forest of few rows must first be undone where reports are many.
//
// The answer is a + alpha * (mean of the three), an ordinary forest of additive leaves
// (LeafKind::kAdditive): the offset's trees and the boosted ones. Several classes have one margin
// each but share trees, folds and alpha, so that probabilities still add up to 1.
//
// Guarantee  post-processing of randomized labels, of features in the clear and of public rows:
//            costs no privacy, may be repeated. Neighbours differ in the label of one device.
// Errors     InvalidArgument when shapes do not match; also what `cancel` returns.
// Threads    safe to share.
// Source     Friedman, "Greedy function approximation: a gradient boosting machine" (2001); offset,
//            folds and share: docs/research/mechanisms.md#label-only.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_ONLY_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_ONLY_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/contribution.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/estimation/labels/boosted_trees.h"

namespace coppice::curator {

// Margins have the unit of PooledBasis: a column per class, or one for two classes or a number. A
// row's label has mean square 1 if classes are balanced, or if the range of numbers spans
// kRangeDeviations of their standard deviations.
size_t MarginColumns(uint32_t outputs);
double MarginScale(const Schema& schema);

// Unbiased margins of the label behind one report, by column. `mechanism` must have one leaf and
// accept the report's payload.
std::vector<double> LabelMargins(const Schema& schema, const LocalMechanism& mechanism,
                                 const Contribution& report);

// The margin of a number in a range, and the number of a margin.
double MarginOf(double number, const NumberRange& range);
double NumberOf(double margin, const NumberRange& range);
// The margin of a number in another range: as far from its middle, in its width, as the number is.
double MoveMargin(double margin, const NumberRange& from, const NumberRange& to);

struct LabelReports {
  const Table* rows = nullptr;  // public values; labels are ignored. Must outlive this.
  RowColumns margins;           // margins[column][report]
  // For numbers: the range that margins are in, and the one that a report's device cut its number
  // to; without a function that is the same one.
  std::optional<NumberRange> range{};
  std::function<NumberRange(size_t)> range_of{};
};

// Trees with leaves of LeafKind::kAdditive.
struct AdditiveForest {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
};

// One leaf with equal probabilities: the offset where there are no public labels.
AdditiveForest NoOffset(uint32_t classes);

struct LabelOnlyFit {
  AdditiveForest model;
  double alpha = 0;             // 0: the offset is the model
  bool has_offset = true;       // false: reports alone, by held-out error
  double noise_per_report = 0;  // v
  // By column, then report: the probability of the column's class, or a number's place, by trees
  // that were not boosted on the report.
  RowColumns held_out{};
};

StatusOr<LabelOnlyFit> EstimateLabelOnly(AdditiveForest offset, const LabelReports& reports,
                                         const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_LABEL_ONLY_H_
