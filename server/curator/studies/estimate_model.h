// From a study's sums to a model, with the certificate that says what it cost and assumed.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_ESTIMATE_MODEL_H_
#define COPPICE_SERVER_CURATOR_STUDIES_ESTIMATE_MODEL_H_

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/tree/model.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/estimation/smooth_basis.h"
#include "server/curator/study/study.h"

namespace coppice::curator {

// Estimates `study` from its sums as they are now. `basis` is that of its forest and public rows;
// only kSmooth needs it. Asks `cancel` before each tree, and in between.
absl::StatusOr<Model> EstimateModel(const Study& study, const Table& public_rows,
                                    const SmoothBasis* basis, const EstimatorOptions& options,
                                    const CancelCheck& cancel);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_ESTIMATE_MODEL_H_
