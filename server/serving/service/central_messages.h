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
#include "server/datasets/jobs.h"
#include "server/trainers/core/trainer.h"

namespace coppice::service {

// A dataset as lists show it; with its schema; and with the entries of its ledger, too.
// `submitter_of` returns who submitted the job with this id, or "" if unknown.
v1::Dataset SummaryOf(const central::DatasetInfo& info);
v1::Dataset ToProto(const central::DatasetInfo& info);
v1::Dataset WithLedger(const central::DatasetInfo& info,
                       absl::FunctionRef<std::string(const std::string& job)> submitter_of);
StatusOr<central::DatasetSpec> ParseDatasetSpec(const v1::CreateDatasetRequest& request);

v1::Algorithm ToProto(const trainers::AlgorithmInfo& info);
StatusOr<central::JobSpec> ParseJobSpec(const v1::JobSpec& spec);
StatusOr<central::JobRequest> ParseJobRequest(const v1::SubmitJobRequest& request);
v1::PreviewJobResponse ToProto(const central::JobPreview& preview);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_CENTRAL_MESSAGES_H_
