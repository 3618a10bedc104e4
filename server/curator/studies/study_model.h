// Models of a study: which requests are allowed, and how they are estimated.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_STUDY_MODEL_H_
#define COPPICE_SERVER_CURATOR_STUDIES_STUDY_MODEL_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/table/table.h"
#include "server/curator/estimation/correction/smooth.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/studies/study_calls.h"
#include "server/curator/study/study.h"
#include "server/store/models/models.h"

namespace coppice::curator {

// Returns `asked`, adapted to the study. A study that ignores its public labels is estimated from
// its reports alone. InvalidArgument for an estimator that needs them and for a value that the
// schema lacks. FailedPrecondition if the study does not tell its reports apart by value.
StatusOr<EstimatorOptions> OptionsFor(const Study& study, EstimatorOptions asked);

// FailedPrecondition if the study gives no model now: its sums were deleted or it has too few
// accepted reports.
Status CheckGivesModel(const Study& study);
// The same check for counts.
Status CheckGivesCounts(const Study& study);

// InvalidArgument if the model's message has more than `most` bytes; 0 is no limit.
Status CheckModelBytes(const models::ModelInfo& info, uint64_t most);

// OK if the same request made `existing`, the model with the requested id; else AlreadyExists.
Status CheckSameModel(const models::ModelSummary& existing, std::string_view study,
                      const EstimatorOptions& options);

// What the promise to readers depends on.
struct SumsState {
  bool are_final = false;   // they have all reports
  bool seen_early = false;  // as in StudyLife; does not change once they are final
};

// The certificate of a model that rests on `reports` of the study, whose sums are in state `sums`,
// and on its relay's `batches` if there are any. The estimator's diagnosis, and SetPromises(), are
// left out.
Certificate MakeCertificate(const StudyDefinition& definition, const EstimatorOptions& options,
                            uint64_t reports, const SumsState& sums, const BatchSummary& batches);

// Adds what is promised to readers, and towards a curator that does not collude with the relay, or
// takes out what a promise would rest on if it comes to nothing. `forest` is the model's, by which
// a reader verifies the promises; pruning may have taken leaves of those that devices answered in.
void SetPromises(const StudyDefinition& definition, const Forest& forest, Certificate& certificate);

// What an estimator that takes all trees as one needs of the study's model forest and public rows;
// the others need neither.
struct PublicBasis {
  std::shared_ptr<const PooledBasis> pooled = nullptr;
  std::shared_ptr<const SmoothEstimator> smooth = nullptr;
};

// Estimates `study` from its current sums, with a certificate of what the model cost and assumed.
// Calls `cancel` before each tree and in between. `store` holds the reports where all features are
// public. FailedPrecondition if fewer than the study's minimum of reports have the value that
// `options` name.
StatusOr<Model> EstimateModel(const storage::Store& store, const Study& study,
                              const Table& public_rows, const PublicBasis& basis,
                              const EstimatorOptions& options, const CancelCheck& cancel);

// Errors as Studies::GetPublicSide().
StatusOr<PublicSide> LoadPublicSide(const storage::Store& store, const Study& study);

// Breaks the current sums down as Studies::GetCounts() does; `store` holds the public rows.
StatusOr<StudyCounts> CountStudy(const storage::Store& store, const Study& study,
                                 const CountsRequest& request);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_STUDY_MODEL_H_
