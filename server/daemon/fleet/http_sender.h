// Sends calls that came to a front over HTTP to the front itself, as gRPC within the process. From
// there they are forwarded like those of any client.

#ifndef COPPICE_SERVER_DAEMON_FLEET_HTTP_SENDER_H_
#define COPPICE_SERVER_DAEMON_FLEET_HTTP_SENDER_H_

#include <grpcpp/channel.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/http/calls.h"
#include "server/serving/calls/handler_registry.h"

namespace coppice::daemon {

// Every method of the table whose messages this program has, without a handler.
std::deque<service::RegisteredMethod> MethodsWithoutHandlers();

// Guarantee  Never sends a token on which gRPC would abort the process. Holds one message of a
//            stream.
// Errors     those of the front and of the leader, with the time to wait.
// Threads    safe to share.
class HttpSender final : public http::CallSender {
 public:
  // `front` leads to a front of this process, which trusts the certificate named with this secret.
  HttpSender(std::shared_ptr<grpc::Channel> front, std::string secret)
      : front_(std::move(front)), secret_(std::move(secret)) {}

  std::function<void()> Send(const http::SentCall& call, const google::protobuf::Message& request,
                             std::shared_ptr<service::UnaryExchange> exchange) override;
  StatusOr<service::StreamHandlerPtr> SendStream(const http::SentCall& call,
                                                 const google::protobuf::Message& request,
                                                 service::StreamCall& answers) override;

 private:
  const std::shared_ptr<grpc::Channel> front_;
  const std::string secret_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_HTTP_SENDER_H_
