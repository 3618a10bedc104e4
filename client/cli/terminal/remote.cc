#include "client/cli/terminal/remote.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>

#include <string_view>
#include <utility>

#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::cli {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::MessageLite;
using ::google::protobuf::MethodDescriptor;
using ::google::protobuf::ServiceDescriptor;

// Returns "/package.Service/Method" of the unary method that takes `request`, declared in the same
// file. Empty if no such method answers with `response`.
std::string UnaryMethod(const Message& request, const Message& response) {
  const google::protobuf::FileDescriptor& file = *request.GetDescriptor()->file();
  for (int i = 0; i < file.service_count(); ++i) {
    const ServiceDescriptor& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const MethodDescriptor& method = *service.method(j);
      if (method.input_type() != request.GetDescriptor() ||
          method.output_type() != response.GetDescriptor() || method.client_streaming() ||
          method.server_streaming()) {
        continue;
      }
      return StrCat("/", service.full_name(), "/", method.name());
    }
  }
  return "";
}

// Does what the generated stubs do.
grpc::Status CallMethod(grpc::Channel& channel, const std::string& name,
                        grpc::ClientContext& context, const MessageLite& request,
                        MessageLite& response) {
  const grpc::internal::RpcMethod method(name.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall(&channel, method, &context, request, &response);
}

}  // namespace

absl::Duration UsualWait(std::string_view method) {
  constexpr std::pair<std::string_view, absl::Duration> kComputing[] = {
      {"/coppice.v1.ModelService/BuildModel", absl::Hours(1)},
      {"/coppice.v1.StudyService/CreateStudy", absl::Hours(1)},
      {"/coppice.v1.StudyService/ForecastStudy", absl::Minutes(5)},
      {"/coppice.v1.StudyService/PreviewStudy", absl::Minutes(5)},
      {"/coppice.v1.TrainingService/EvaluateModel", absl::Hours(1)},
      {"/coppice.v1.TrainingService/PreviewJob", absl::Minutes(5)}};
  for (const auto& [computing, wait] : kComputing) {
    if (method == computing) return wait;
  }
  return absl::Minutes(1);
}

Remote::Remote(ServerFlags flags, std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)), flags_(std::move(flags)) {}

StatusOr<Remote> Remote::Connect(const ServerFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(auto channel, coppice::Connect(flags.Connection()));
  return Remote(flags, std::move(channel));
}

Status Remote::CallOnce(const Message& request, Message& response) const {
  RetryOptions once = flags_.Once();
  once.deadline = flags_.Wait(UsualWait(UnaryMethod(request, response)));
  return CallUnary(request, response, once);
}

Status Remote::CallUnary(const Message& request, Message& response,
                         const RetryOptions& retry) const {
  const std::string method = UnaryMethod(request, response);
  if (method.empty()) {
    return InternalError(StrCat("no method takes ", request.GetTypeName(), " and answers with ",
                                response.GetTypeName()));
  }
  return CallServer(*channel_, flags_.connect.server, retry, [&](grpc::ClientContext& context) {
    return CallMethod(*channel_, method, context, request, response);
  });
}

Status Remote::Stream(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const {
  return CallServer(*channel_, flags_.connect.server, flags_.Once(), call);
}

Status Remote::Stream(absl::Duration deadline,
                      absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const {
  RetryOptions retry = flags_.Once();
  retry.deadline = deadline;
  return CallServer(*channel_, flags_.connect.server, retry, call);
}

Status Remote::StatusOf(const grpc::Status& status) const {
  return FromGrpcStatus(status, flags_.connect.server);
}

}  // namespace coppice::cli
