// The registered handlers as gRPC services, over the table of methods (server/serving/access).
//
// gRPC provides health, which finds these services by name; reflection.h names them.

#ifndef COPPICE_SERVER_SERVING_GRPC_SERVICES_H_
#define COPPICE_SERVER_SERVING_GRPC_SERVICES_H_

#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "server/serving/access/caller.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/worker_pool.h"
#include "server/serving/grpc/calls.h"
#include "server/serving/grpc/reflection.h"

namespace coppice::rpc {

// Finds the caller of a call of the method `path`. If the policy no longer knows the credentials,
// the caller is nobody.
using CallerFinder = std::function<owners::Caller(const grpc::CallbackServerContext& context,
                                                  std::string_view path)>;

// Guarantee  A call on a lane does not begin if nobody waits for it any more. Long work, which
//            calls a CancelCheck, stops then, and with Unavailable when the lane drains.
// Errors     ResourceExhausted for a message with more bytes than the method table allows;
//            InvalidArgument for a request that does not parse; ResourceExhausted, with the time to
//            wait, if too much waits on the method's lane; else the handler's. The time to wait is
//            in the trailing metadata grpc-retry-pushback-ms, in milliseconds.
// Threads    safe to share. The constructor's arguments must outlive it, and it the server.
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
  std::unique_ptr<ReflectionService> reflection_;
};

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_SERVICES_H_
