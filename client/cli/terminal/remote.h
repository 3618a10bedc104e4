// Calls the curator's services for an operator's command.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_
#define COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "client/cli/terminal/flags.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace google::protobuf {
class Message;
}
namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace coppice::cli {

// How long a call of "/package.Service/Method" is waited for where --timeout does not say: a
// minute, and for what the curator computes for longer as long as it lets itself
// (server/serving/access/ method_table.h, with which a test compares this).
absl::Duration UsualWait(std::string_view method);

// A connection to the curator, and calls over it.
//
// Guarantee  Each call has a deadline, and is tried once unless its name says otherwise.
// Errors     those of the curator, with what to check if the connection is at fault; Internal if no
//            unary method takes the request and answers with `Response`.
// Threads    safe to share.
class Remote {
 public:
  static StatusOr<Remote> Connect(const ServerFlags& flags);

  // Calls the unary method that takes `request`: each method has a message of its own, so the
  // message names the method, and commands need no generated stubs, which are slow to compile.
  template <typename Response>
  StatusOr<Response> Call(const google::protobuf::Message& request) const {
    Response response;
    COPPICE_RETURN_IF_ERROR(CallOnce(request, response));
    return response;
  }
  // As Call(), but retries while the server cannot be reached. Only for calls that may be repeated.
  template <typename Response>
  StatusOr<Response> CallPatiently(const google::protobuf::Message& request) const {
    Response response;
    COPPICE_RETURN_IF_ERROR(CallUnary(request, response, flags_.Patient()));
    return response;
  }
  // Calls a List method until there is no further page, and `each` with every page.
  template <typename Response, typename Request>
  Status ForEachPage(Request request, absl::FunctionRef<void(const Response&)> each) const {
    do {
      COPPICE_ASSIGN_OR_RETURN(const Response page, Call<Response>(request));
      each(page);
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return OkStatus();
  }

  // For streams: makes one call on a stub of channel(), within --timeout or `deadline`.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  Status Stream(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;
  Status Stream(absl::Duration deadline,
                absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) const;
  // Converts the final status of a stream that outlives one call.
  Status StatusOf(const grpc::Status& status) const;

 private:
  Remote(ServerFlags flags, std::shared_ptr<grpc::Channel> channel);

  Status CallOnce(const google::protobuf::Message& request,
                  google::protobuf::Message& response) const;
  Status CallUnary(const google::protobuf::Message& request, google::protobuf::Message& response,
                   const RetryOptions& retry) const;

  std::shared_ptr<grpc::Channel> channel_;
  ServerFlags flags_;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_REMOTE_H_
