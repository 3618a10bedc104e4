// Converts Status to a gRPC status: the same code number and message, and the time to wait.

#ifndef COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_
#define COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <optional>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/process/grpc_status.h"
#include "server/process/retry_after.h"

namespace coppice::rpc {

using coppice::ToGrpcStatus;

// The status that ends `context`'s call. Puts the time to wait, if `status` has one, into the
// trailing metadata, in milliseconds. Call it at most once per call, before the end.
inline grpc::Status EndStatus(grpc::ServerContextBase& context, const Status& status) {
  if (const std::optional<absl::Duration> wait = service::WaitOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", StrCat(absl::ToInt64Milliseconds(*wait)));
  }
  return ToGrpcStatus(status);
}

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_
