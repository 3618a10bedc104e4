// The curator's services as an operator's command calls them.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_
#define COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/flags.h"
#include "coppice/v1/admin.grpc.pb.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"

namespace coppice::cli {

class Remote {
 public:
  static absl::StatusOr<Remote> Connect(const ServerFlags& flags);

  v1::StudyService::Stub& studies() const { return *studies_; }
  v1::ModelService::Stub& models() const { return *models_; }
  v1::DatasetService::Stub& datasets() const { return *datasets_; }
  v1::TrainingService::Stub& training() const { return *training_; }
  v1::AdminService::Stub& admin() const { return *admin_; }

  // One call on one of the stubs, with deadline and an error that helps.
  absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;
  // The same, again and again while the server cannot be reached. Only for what may be repeated.
  absl::Status CallPatiently(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;
  // Once, with a deadline of its own: for streams that last.
  absl::Status CallWithin(absl::Duration deadline,
                          absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;

  // What the end of a stream that outlives one call means.
  absl::Status StatusOf(const grpc::Status& status) const;

 private:
  Remote(const ServerFlags& flags, const std::shared_ptr<grpc::Channel>& channel);

  std::shared_ptr<grpc::Channel> channel_;
  std::string server_;
  RetryOptions once_;
  RetryOptions patient_;
  std::unique_ptr<v1::StudyService::Stub> studies_;
  std::unique_ptr<v1::ModelService::Stub> models_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_
