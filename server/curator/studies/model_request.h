// What is asked for when a model of a study is to be made: with which options it may be, and why it
// may not.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_MODEL_REQUEST_H_
#define COPPICE_SERVER_CURATOR_STUDIES_MODEL_REQUEST_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/study/study.h"
#include "server/models/models.h"

namespace coppice::curator {

// `asked`; a study whose public labels were said to be missing or not to be trusted goes by its
// reports alone, and what cannot is InvalidArgument.
absl::StatusOr<EstimatorOptions> OptionsFor(const Study& study, EstimatorOptions asked);

// FailedPrecondition if the study gives no model now: its sums were deleted, or it has too few
// accepted reports.
absl::Status CheckGivesModel(const Study& study);

// `existing`, which has the id that was asked for, if it is what was asked for: then the request
// came again. Else AlreadyExists.
absl::StatusOr<models::ModelInfo> SameModel(const models::ModelInfo& existing,
                                            absl::string_view study,
                                            const EstimatorOptions& options);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_MODEL_REQUEST_H_
