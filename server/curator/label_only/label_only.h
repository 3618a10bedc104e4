// The estimator of studies whose features are all public. A report is the randomized label of a
// row that is known, so that any learner may stand behind it.
//
// The offset a(x) is a forest's score from the public rows alone. Three times trees are boosted on
// two thirds of the reports, to fit z - a for a report's unbiased margins z, with ridge and leaves
// in units of what a report is worth, 1 / v for the second moment v of z. What each learned is held
// against the third that it did not see: that gives an unbiased estimate of the share alpha of it
// to add to a with the least squared error, less one standard error of that, cut to [0, 1]. Noise
// that was learned is not confirmed there, and then the public rows' answer stands.
//
// The same is done without an offset, and is the answer if the held-out squared error says so by
// more than a standard error: a forest of few rows must first be undone where reports are many.
//
// The answer is a + alpha * (mean of the three), and an ordinary forest of additive leaves
// (LeafKind::kAdditive): the offset's trees and the boosted ones. Several classes have one margin
// each, of which trees, folds and alpha are shared, so that probabilities still add up to 1.
//
// Guarantee  post-processing of randomized labels, of features in the clear and of public rows:
//            costs no privacy, may be repeated. Neighbours differ in the label of one device.
// Errors     InvalidArgument when shapes do not match; what `cancel` returns.
// Threads    safe to share.
// Source     docs/research/mechanisms.md#label-only.

#ifndef COPPICE_SERVER_CURATOR_LABEL_ONLY_LABEL_ONLY_H_
#define COPPICE_SERVER_CURATOR_LABEL_ONLY_LABEL_ONLY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/contribution.h"
#include "common/schema/schema.h"
#include "common/tree/model.h"
#include "common/tree/tree.h"
#include "server/curator/label_only/boosted_trees.h"

namespace coppice::curator {

// Margins have the unit of SmoothBasis: a column per class, or one for two classes or a number,
// where a row's label has mean square 1 if classes are level, or if the range of numbers is as many
// of their standard deviations as kRangeDeviations says.
size_t MarginColumns(uint32_t outputs);
double MarginScale(const Schema& schema);

// Unbiased margins of the label behind one report, by column. `mechanism` has one leaf, and lets
// the report's payload pass.
std::vector<double> LabelMargins(const Schema& schema, const LocalMechanism& mechanism,
                                 const Contribution& report);

struct LabelReports {
  const Table* rows = nullptr;  // public values; labels are not read. Must outlive this.
  RowColumns margins;           // margins[column][report]
};

// Trees with leaves of LeafKind::kAdditive.
struct AdditiveForest {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
};

// One leaf that knows nothing: the offset where there are no public labels.
AdditiveForest NoOffset(uint32_t classes);

struct LabelOnlyFit {
  AdditiveForest model;
  double alpha = 0;             // 0: the offset is the model
  bool has_offset = true;       // false: reports alone, which held-out ones preferred
  double noise_per_report = 0;  // v
};

absl::StatusOr<LabelOnlyFit> EstimateLabelOnly(AdditiveForest offset, const LabelReports& reports,
                                               const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_LABEL_ONLY_LABEL_ONLY_H_
