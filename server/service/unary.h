// How a handler of one request and one response ends: at once, or later from a worker.

#ifndef COPPICE_SERVER_SERVICE_UNARY_H_
#define COPPICE_SERVER_SERVICE_UNARY_H_

#include <grpcpp/server_context.h>

#include <functional>

#include "absl/status/status.h"
#include "server/service/load_limits.h"
#include "server/service/status_conversion.h"
#include "server/service/worker_pool.h"

namespace coppice {

inline grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context,
                                       const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Runs `work` on the pool and replies with its status. Request and response live until then. Nobody
// waits for the answer of a cancelled call, so its work is not begun.
inline grpc::ServerUnaryReactor* ReplyLater(WorkerPool& pool, grpc::CallbackServerContext* context,
                                            std::function<absl::Status()> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status queued = pool.Run([context, reactor, work = std::move(work)] {
    reactor->Finish(context->IsCancelled() ? grpc::Status::CANCELLED : ToGrpcStatus(work()));
  });
  if (!queued.ok()) reactor->Finish(ToLoadStatus(*context, queued));
  return reactor;
}

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_UNARY_H_
