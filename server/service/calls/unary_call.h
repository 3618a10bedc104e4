// A call of one request and one response, between its handler and the transport that carries it.

#ifndef COPPICE_SERVER_SERVICE_CALLS_UNARY_CALL_H_
#define COPPICE_SERVER_SERVICE_CALLS_UNARY_CALL_H_

#include <google/protobuf/message.h>

#include <memory>

#include "absl/status/status.h"
#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::service {

// The transport's end.
//
// Guarantee  one of Answer() and Fail() is called, once, from any thread, and nothing after it.
class UnaryExchange {
 public:
  virtual ~UnaryExchange() = default;

  // Cancelled once nobody waits for the call: its caller has gone, or its time is over.
  virtual absl::Status CheckWanted() const = 0;

  virtual void Answer(const google::protobuf::Message& response) = 0;
  virtual void Answer(const MessagePieces& pieces) = 0;
  virtual void Fail(const absl::Status& status) = 0;
};

// What CheckWanted() says of a call that nobody waits for.
absl::Status UnwantedCall();

// What a transport says of bytes that are no message of this type.
absl::Status UnreadableRequest(const google::protobuf::Message& type);

// Runs the handler of `method`, which must outlive the call. A null `lane` is this thread.
//
// Guarantee  work on a lane is not begun once nobody waits for it. Long work, which asks a
//            CancelCheck, is stopped then, and as Unavailable when the lane drains.
// Errors     to the exchange: ResourceExhausted, with the time to wait, when too much waits on the
//            lane; else the handler's.
void RunUnaryCall(const RegisteredMethod& method, WorkerPool* lane, Caller caller,
                  std::unique_ptr<google::protobuf::Message> request,
                  std::shared_ptr<UnaryExchange> exchange);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_UNARY_CALL_H_
