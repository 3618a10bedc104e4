// Finds out whose call it is. One whose credentials the policy no longer knows is nobody's.

#ifndef COPPICE_SERVER_SERVICE_CALLER_FINDER_H_
#define COPPICE_SERVER_SERVICE_CALLER_FINDER_H_

#include <grpcpp/server_context.h>

#include <functional>

#include "server/central/caller.h"

namespace coppice::service {

using CallerFinder = std::function<central::Caller(const grpc::CallbackServerContext& context)>;

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLER_FINDER_H_
