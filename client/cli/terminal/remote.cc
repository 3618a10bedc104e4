#include "client/cli/terminal/remote.h"

#include <grpcpp/channel.h>

#include "client/collector/collector_call.h"
#include "common/base/status_macros.h"

namespace coppice::cli {

Remote::Remote(const ServerFlags& flags, const std::shared_ptr<grpc::Channel>& channel)
    : channel_(channel),
      server_(flags.connect.server),
      once_(flags.Once()),
      patient_(flags.Patient()),
      studies_(v1::StudyService::NewStub(channel)),
      models_(v1::ModelService::NewStub(channel)),
      datasets_(v1::DatasetService::NewStub(channel)),
      training_(v1::TrainingService::NewStub(channel)),
      admin_(v1::AdminService::NewStub(channel)) {}

absl::StatusOr<Remote> Remote::Connect(const ServerFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const auto channel, coppice::Connect(flags.Connection()));
  return Remote(flags, channel);
}

absl::Status Remote::Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const {
  return CallServer(*channel_, server_, once_, call);
}

absl::Status Remote::CallPatiently(
    absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const {
  return CallServer(*channel_, server_, patient_, call);
}

absl::Status Remote::CallWithin(absl::Duration deadline,
                                absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const {
  const RetryOptions retry{.deadline = deadline, .give_up_after = absl::ZeroDuration()};
  return CallServer(*channel_, server_, retry, call);
}

absl::Status Remote::StatusOf(const grpc::Status& status) const {
  return FromGrpcStatus(status, server_);
}

}  // namespace coppice::cli
