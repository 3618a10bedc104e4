// The curator's services as an operator's command calls them.

#ifndef COPPICE_CLIENT_CLI_REMOTE_H_
#define COPPICE_CLIENT_CLI_REMOTE_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/flags.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"

namespace coppice {

class Remote {
 public:
  static absl::StatusOr<Remote> Connect(const ServerFlags& flags);

  v1::StudyService::Stub& studies() const { return *studies_; }
  v1::ModelService::Stub& models() const { return *models_; }

  // One unary call on one of the stubs, with deadline and an error that helps.
  absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;

 private:
  Remote(const ServerFlags& flags, const std::shared_ptr<grpc::Channel>& channel);

  std::shared_ptr<grpc::Channel> channel_;
  std::string server_;
  RetryOptions retry_;
  std::unique_ptr<v1::StudyService::Stub> studies_;
  std::unique_ptr<v1::ModelService::Stub> models_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_CLI_REMOTE_H_
