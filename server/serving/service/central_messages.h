// Converts between the messages of datasets and jobs and the curator's values. As in messages.h,
// The functions Parse...() treat their input as hostile and returns InvalidArgument, naming the
// field.

#ifndef COPPICE_SERVER_SERVING_SERVICE_CENTRAL_MESSAGES_H_
#define COPPICE_SERVER_SERVING_SERVICE_CENTRAL_MESSAGES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/datasets/datasets.h"
#include "server/datasets/evaluations.h"
#include "server/datasets/jobs.h"
#include "server/trainers/core/trainer.h"

namespace coppice::service {

// A dataset as lists show it; with its schema; and with the entries of its ledger, too.
// `submitter_of` returns who submitted the entry's job or evaluation, or "" if unknown.
v1::Dataset SummaryOf(const central::DatasetInfo& info);
v1::Dataset ToProto(const central::DatasetInfo& info);
v1::Dataset WithLedger(const central::DatasetInfo& info,
                       absl::FunctionRef<std::string(const ledger::LedgerEntry&)> submitter_of);
StatusOr<central::DatasetSpec> ParseDatasetSpec(const v1::CreateDatasetRequest& request);

v1::Algorithm ToProto(const trainers::AlgorithmInfo& info);
StatusOr<central::JobSpec> ParseJobSpec(const v1::JobSpec& spec);
StatusOr<central::JobRequest> ParseJobRequest(const v1::SubmitJobRequest& request);
v1::PreviewJobResponse ToProto(const central::JobPreview& preview);

StatusOr<central::EvaluationSpec> ParseEvaluationSpec(const v1::EvaluationSpec& spec);
v1::PreviewEvaluationResponse ToProto(const central::EvaluationPreview& preview);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_CENTRAL_MESSAGES_H_
