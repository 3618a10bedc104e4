// Encodes a job for the store and for the wire, and decodes the stored form.
//
// Errors     DataLoss names the key.

#ifndef COPPICE_SERVER_DATASETS_JOB_RECORD_H_
#define COPPICE_SERVER_DATASETS_JOB_RECORD_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/datasets/job.h"

namespace coppice::central {

// SHA-256 of everything that `request` asks for, ids included, but not request id and submitter.
std::string HashRequest(const JobRequest& request);

v1::Cost ToProto(const ledger::Cost& cost);
v1::Job ToProto(const JobInfo& info);

std::string EncodeJob(const JobEntry& entry);
StatusOr<JobEntry> DecodeJob(std::string_view key, std::string_view bytes);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_RECORD_H_
