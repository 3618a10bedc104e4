// The corrected estimator: the public predictor, and its correction by reports (correction.h), as
// one model.
//
// Its trees are the predictor's and the study's, whose leaf values are all added up: a row's scores
// are log odds (LeafKind::kScores). The leaves of the study's trees also hold the variance of the
// whole answer, in equal parts, so that it is averaged over a row's leaves. Without reports their
// values are 0, and they hold what the public labels leave open.
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     InvalidArgument for a schema that predicts a number, and those of FitPredictor() and
//            FitCorrection().
// Threads    immutable after Create(); safe to share.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTED_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTED_H_

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
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// Trees with leaves of LeafKind::kScores.
struct CorrectedFit {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  std::string diagnosis;  // what the reports were found to say; empty without reports
};

// What public rows say for all models of one study.
class CorrectedEstimator {
 public:
  // `partition` must be what the forest was grown by, from these rows.
  static StatusOr<CorrectedEstimator> Create(const Forest& forest,
                                             const PartitionOptions& partition,
                                             const Table& public_rows,
                                             const CancelCheck& cancel = {});

  // What public rows say, or nothing for Evidence::kReports.
  StatusOr<PublicPredictor> PredictorFor(Evidence evidence) const;

  // `counts` has one entry per tree; Evidence::kPublic uses none.
  StatusOr<CorrectedFit> Estimate(absl::Span<const PrivateCounts> counts, Evidence evidence,
                                  const CancelCheck& cancel = {}) const;

 private:
  CorrectedEstimator(Forest forest, PublicPredictor predictor, std::vector<double> held_out,
                     CorrectionBasis basis);

  Forest forest_;
  PublicPredictor predictor_;  // without public labels, the same for every row
  std::vector<double> held_out_;
  CorrectionBasis basis_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTED_H_
