// What one connection may take of the daemon, and for how long, so that many that stall or flood
// leave it to the others. What gRPC does not bound, and docs/threat-model.md#connections tells, is
// left to the operator.
//
// Threads    all of this before the server is built.

#ifndef COPPICE_COMMON_SERVING_CONNECTIONS_H_
#define COPPICE_COMMON_SERVING_CONNECTIONS_H_

#include <grpcpp/server_builder.h>

namespace coppice {

void SetConnectionLimits(grpc::ServerBuilder& builder);

// A compressed call is Unimplemented. Part of the above.
void RefuseCompression(grpc::ServerBuilder& builder);

// Lets this process open as many files, and so connections, as it may. A listener of gRPC 1.51 that
// meets the limit once accepts nothing ever after.
void RaiseFileLimit();

}  // namespace coppice

#endif  // COPPICE_COMMON_SERVING_CONNECTIONS_H_
