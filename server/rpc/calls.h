// Calls of gRPC, each answered by the handler of its method.
//
// `method` and `lane` must outlive the server; a null `lane` is the thread that the call comes on.
// `context` and `response` are the call's and live until it ends.

#ifndef COPPICE_SERVER_RPC_CALLS_H_
#define COPPICE_SERVER_RPC_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::rpc {

// One request, one response.
grpc::ServerUnaryReactor* AnswerUnaryCall(const service::RegisteredMethod& method,
                                          service::WorkerPool* lane, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request,
                                          grpc::ByteBuffer& response);

// Streams. A call whose handler does not start ends with its status; each belongs to gRPC until it
// is done.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartServerStream(
    const service::RegisteredMethod& method, service::WorkerPool* lane,
    const service::Caller& caller, grpc::CallbackServerContext& context,
    const grpc::ByteBuffer& request);
grpc::ServerReadReactor<grpc::ByteBuffer>* StartClientStream(
    const service::RegisteredMethod& method, service::WorkerPool* lane,
    const service::Caller& caller, grpc::CallbackServerContext& context,
    grpc::ByteBuffer& response);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartBidiStream(
    const service::RegisteredMethod& method, service::WorkerPool* lane,
    const service::Caller& caller, grpc::CallbackServerContext& context);

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_RPC_CALLS_H_
