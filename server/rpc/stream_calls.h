// Calls whose messages come or go one after another. Each belongs to gRPC until it is done.

#ifndef COPPICE_SERVER_RPC_STREAM_CALLS_H_
#define COPPICE_SERVER_RPC_STREAM_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::rpc {

// Starts the handler of `method`, or ends the call with why it does not start. `lane` may be null;
// both must outlive the server.
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

#endif  // COPPICE_SERVER_RPC_STREAM_CALLS_H_
