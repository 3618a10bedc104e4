// The registered handlers as services of gRPC, over the table of methods (server/access).
//
// Reflection and health are gRPC's own, and find these services by their names.

#ifndef COPPICE_SERVER_RPC_SERVICES_H_
#define COPPICE_SERVER_RPC_SERVICES_H_

#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/owners/caller.h"
#include "server/rpc/calls.h"
#include "server/service/calls/handler_registry.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::rpc {

// Finds out whose call of the method `path` it is. One whose credentials the policy no longer knows
// is nobody's.
using CallerFinder = std::function<owners::Caller(const grpc::CallbackServerContext& context,
                                                  absl::string_view path)>;

// Guarantee  a call on a lane is not begun once nobody waits for it. Long work, which asks a
//            CancelCheck, is stopped then, and as Unavailable when the lane drains.
// Errors     InvalidArgument for a request that does not parse; ResourceExhausted, with the time to
//            wait, when too much waits on the method's lane; else the handler's. The time to wait
//            is in the trailing metadata grpc-retry-pushback-ms, in milliseconds.
// Threads    safe to share. All that it is made of must outlive it, and it the server.
class Services {
 public:
  Services(const service::HandlerRegistry& registry, const service::Lanes& lanes,
           CallerFinder find_caller, AnswerCheck may_answer = {});
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void RegisterWith(grpc::ServerBuilder& builder);

 private:
  class Service;

  const service::Lanes lanes_;
  const CallerFinder find_caller_;
  const AnswerCheck may_answer_;
  std::vector<std::unique_ptr<Service>> services_;
};

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_RPC_SERVICES_H_
