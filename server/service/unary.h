// How a handler of one request and one response ends: at once, or later from a worker.

#ifndef COPPICE_SERVER_SERVICE_UNARY_H_
#define COPPICE_SERVER_SERVICE_UNARY_H_

#include <grpcpp/server_context.h>

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "common/base/cancel_check.h"
#include "server/service/calls/worker_pool.h"
#include "server/service/load_limits.h"
#include "server/service/status_conversion.h"

namespace coppice::service {

inline grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context,
                                       const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Cancelled once nobody waits for the call: its caller has gone, or its time is over.
inline absl::Status CheckWanted(const grpc::CallbackServerContext& context) {
  if (!context.IsCancelled()) return absl::OkStatus();
  return absl::CancelledError("nobody waits for this call any more");
}

// Long work asks between its steps whether to go on; the rest does not take the question.
template <typename Work>
absl::Status DoWork(const Work& work, const CancelCheck& cancel) {
  if constexpr (std::is_invocable_v<Work, const CancelCheck&>) {
    const absl::Status wanted = cancel();
    return wanted.ok() ? work(cancel) : wanted;
  } else {
    return work();
  }
}

// Runs `work` on the pool and replies with its status. Request and response live until then. Work
// that nobody waits for is not begun. Long work takes a `const CancelCheck&` and asks it between
// its steps: it stops such work, and all of it when the daemon drains.
template <typename Work>
grpc::ServerUnaryReactor* ReplyLater(WorkerPool& pool, grpc::CallbackServerContext* context,
                                     Work work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto run = [context, reactor, &pool, work = std::move(work)] {
    const CancelCheck cancel([&] {
      if (!pool.IsDraining()) return CheckWanted(*context);
      return absl::UnavailableError("the daemon is stopping; call again later");
    });
    absl::Status status = CheckWanted(*context);
    if (status.ok()) status = DoWork(work, cancel);
    reactor->Finish(ToGrpcStatus(status));
  };
  const absl::Status queued = pool.Run(run);
  if (!queued.ok()) reactor->Finish(ToLoadStatus(*context, queued));
  return reactor;
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_UNARY_H_
