// Between the messages of datasets and jobs and the curator's values. As in messages.h: FromProto()
// treats its input as hostile and returns InvalidArgument that names the field.

#ifndef COPPICE_SERVER_SERVICE_CENTRAL_MESSAGES_H_
#define COPPICE_SERVER_SERVICE_CENTRAL_MESSAGES_H_

#include "absl/status/statusor.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/trainers/core/trainer.h"

namespace coppice::service {

// What a list shows of a dataset; with its schema; and with its ledger too.
v1::Dataset SummaryOf(const central::DatasetInfo& info);
v1::Dataset ToProto(const central::DatasetInfo& info);
v1::Dataset WithLedger(const central::DatasetInfo& info);
absl::StatusOr<central::DatasetSpec> FromProto(const v1::CreateDatasetRequest& request);

v1::Algorithm ToProto(const trainers::AlgorithmInfo& info);
absl::StatusOr<central::JobSpec> FromProto(const v1::JobSpec& spec);
absl::StatusOr<central::JobRequest> FromProto(const v1::SubmitJobRequest& request);
v1::PreviewJobResponse ToProto(const central::JobPreview& preview);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CENTRAL_MESSAGES_H_
