// Records gRPC's calls (server/serving/gate/call_record.h). The id is sent back in the trailing
// metadata.
//
// Threads    safe to share.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "server/serving/gate/call_record.h"

namespace coppice::daemon {

// `observers` must have a log.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ObserveCalls(
    const calls::CallObservers& observers);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_CALLS_H_
