// A call of one request and one response, between its handler and the transport.

#ifndef COPPICE_SERVER_SERVING_CALLS_UNARY_CALL_H_
#define COPPICE_SERVER_SERVING_CALLS_UNARY_CALL_H_

#include <google/protobuf/message.h>

#include <memory>

#include "common/base/status.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/worker_pool.h"

namespace coppice::service {

// The transport's side.
//
// Guarantee  Either Answer() or Fail() is called, once, from any thread, and nothing after it.
class UnaryExchange {
 public:
  virtual ~UnaryExchange() = default;

  // Cancelled if nobody waits for the call any more: its caller is gone, or its time is over.
  virtual Status CheckWanted() const = 0;

  virtual void Answer(const google::protobuf::Message& response) = 0;
  virtual void Answer(const MessagePieces& pieces) = 0;
  virtual void Fail(const Status& status) = 0;
};

// The status that CheckWanted() returns if nobody waits for the call.
Status UnwantedCall();

// Runs the handler of `method`, which must outlive the call. A null `lane` is this thread.
//
// Guarantee  Work on a lane does not begin if nobody waits for it any more. Long work, which calls
//            a CancelCheck, stops then, and with Unavailable when the lane drains.
// Errors     to the exchange: ResourceExhausted, with the time to wait, if too much waits on the
//            lane; else the handler's.
void RunUnaryCall(const RegisteredMethod& method, WorkerPool* lane, Caller caller,
                  std::unique_ptr<google::protobuf::Message> request,
                  std::shared_ptr<UnaryExchange> exchange);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_UNARY_CALL_H_
