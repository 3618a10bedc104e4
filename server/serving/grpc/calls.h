// gRPC's calls, each answered by its method's handler.
//
// The members of a route must outlive the server. `context` and `response` are the call's and live
// until it ends.

#ifndef COPPICE_SERVER_SERVING_GRPC_CALLS_H_
#define COPPICE_SERVER_SERVING_GRPC_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/serving/calls/answer_check.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/message_intake.h"
#include "server/serving/calls/worker_pool.h"

namespace coppice::rpc {

using service::AnswerCheck;
using service::MayAnswer;

// How to answer the calls of a method.
struct Route {
  const service::RegisteredMethod& method;
  service::WorkerPool* lane;  // null: the thread that the call arrives on
  service::MessageIntake& intake;
  const AnswerCheck& may_answer;
};

// One request and one response.
grpc::ServerUnaryReactor* AnswerUnaryCall(const Route& route, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request,
                                          grpc::ByteBuffer& response);

// Streams. If the handler does not start, the call ends with its status. gRPC owns each stream
// until it is done.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartServerStream(const Route& route,
                                                              const service::Caller& caller,
                                                              grpc::CallbackServerContext& context,
                                                              const grpc::ByteBuffer& request);
grpc::ServerReadReactor<grpc::ByteBuffer>* StartClientStream(const Route& route,
                                                             const service::Caller& caller,
                                                             grpc::CallbackServerContext& context,
                                                             grpc::ByteBuffer& response);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartBidiStream(
    const Route& route, const service::Caller& caller, grpc::CallbackServerContext& context);

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_CALLS_H_
