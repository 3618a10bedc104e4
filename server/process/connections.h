// Limits what one connection may take of the daemon, and for how long, so that connections that
// stall or flood leave room for others. The operator limits what gRPC cannot
// (docs/threat-model.md#connections).
//
// Threads    call all of this before the server is built.

#ifndef COPPICE_SERVER_PROCESS_CONNECTIONS_H_
#define COPPICE_SERVER_PROCESS_CONNECTIONS_H_

#include <grpcpp/server_builder.h>

namespace coppice {

void SetConnectionLimits(grpc::ServerBuilder& builder);

// Makes compressed calls Unimplemented. SetConnectionLimits() includes it.
void RefuseCompression(grpc::ServerBuilder& builder);

// Lets this process open as many files, and so connections, as it may. A listener of gRPC 1.51 that
// meets the limit once never accepts a connection again.
void RaiseFileLimit();

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_CONNECTIONS_H_
