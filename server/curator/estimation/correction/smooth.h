// The smooth estimator: the public predictor, and its correction by reports (correction.h), as
// one model.
//
// Its trees are the predictor's and the study's, whose leaf values are all added up: a row's scores
// are log odds or, of numbers, the number (LeafKind::kScores). The leaves of the study's trees also
// hold the variance of the whole answer, in equal parts, so that it is averaged over a row's
// leaves. Without reports their values are 0, and they hold what the public labels leave open.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument for numbers without a range, and those of FitPredictor() and
//            FitCorrection().
// Threads    immutable after Create(); safe to share.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_SMOOTH_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_SMOOTH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/predictor/public_predictor.h"
#include "common/table/table.h"
#include "server/curator/estimation/correction/correction.h"
#include "server/curator/estimation/correction/number_answers.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// Trees with leaves of LeafKind::kScores.
struct SmoothFit {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  std::string diagnosis;  // what the reports were found to say; empty without reports
};

// What a correction starts at: a predictor, and what it says of the public rows.
struct CorrectionStart {
  PublicPredictor predictor;
  CorrectionOffset offset;
  // For numbers: how they lie around the predicted ones, whose mean is `middle`.
  std::optional<NumberResiduals> residuals{};
  double middle = 0;
};

// The public predictor. Parameters as of SmoothEstimator::Create().
StatusOr<CorrectionStart> StartAtPredictor(const PartitionOptions& partition,
                                           const Table& public_rows,
                                           const std::optional<NumberRange>& rounding,
                                           const CancelCheck& cancel);

// What public rows say for all models of one study.
class SmoothEstimator {
 public:
  // `partition` must be what the forest was grown by, from these rows; these have their numbers as
  // they were given, and `rounding` is the range that devices round theirs in.
  static StatusOr<SmoothEstimator> Create(const Forest& forest, const PartitionOptions& partition,
                                          const Table& public_rows,
                                          const std::optional<NumberRange>& rounding = {},
                                          const CancelCheck& cancel = {});

  // What public rows say, or nothing for Evidence::kReports: classes that are all as likely, or the
  // middle of the numbers' range.
  StatusOr<PublicPredictor> PredictorFor(Evidence evidence) const;
  // How numbers lie around those that the predictor of this evidence says. For numbers only.
  const NumberResiduals& ResidualsFor(Evidence evidence) const;

  // `counts` has one entry per tree; Evidence::kPublic uses none.
  StatusOr<SmoothFit> Estimate(absl::Span<const PrivateCounts> counts, Evidence evidence,
                               const CancelCheck& cancel = {}) const;

 private:
  SmoothEstimator(Forest forest, CorrectionStart predictor, CorrectionStart nothing,
                  CorrectionBasis basis);

  const CorrectionStart& StartFor(Evidence evidence) const {
    return evidence == Evidence::kReports ? nothing_ : predictor_;
  }

  Forest forest_;
  CorrectionStart predictor_, nothing_;  // the same without public labels
  CorrectionBasis basis_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_SMOOTH_H_
