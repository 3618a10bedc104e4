// A call of one request and one response.

#ifndef COPPICE_SERVER_RPC_UNARY_CALL_H_
#define COPPICE_SERVER_RPC_UNARY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::rpc {

// Has the handler of `method` answer, on `lane` or, if that is null, on this thread. `context` and
// `response` are the call's and live until it ends; `method` and `lane` must outlive the server.
grpc::ServerUnaryReactor* AnswerUnaryCall(const service::RegisteredMethod& method,
                                          service::WorkerPool* lane, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request,
                                          grpc::ByteBuffer& response);

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_RPC_UNARY_CALL_H_
