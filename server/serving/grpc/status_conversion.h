// Converts Status to a gRPC status: the same code number and message, and the time to wait.

#ifndef COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_
#define COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/process/retry_after.h"

namespace coppice::rpc {

constexpr bool SameCode(StatusCode ours, grpc::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(SameCode(StatusCode::kOk, grpc::StatusCode::OK));
static_assert(SameCode(StatusCode::kCancelled, grpc::StatusCode::CANCELLED));
static_assert(SameCode(StatusCode::kUnknown, grpc::StatusCode::UNKNOWN));
static_assert(SameCode(StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT));
static_assert(SameCode(StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED));
static_assert(SameCode(StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND));
static_assert(SameCode(StatusCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS));
static_assert(SameCode(StatusCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED));
static_assert(SameCode(StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED));
static_assert(SameCode(StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION));
static_assert(SameCode(StatusCode::kAborted, grpc::StatusCode::ABORTED));
static_assert(SameCode(StatusCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE));
static_assert(SameCode(StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED));
static_assert(SameCode(StatusCode::kInternal, grpc::StatusCode::INTERNAL));
static_assert(SameCode(StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE));
static_assert(SameCode(StatusCode::kDataLoss, grpc::StatusCode::DATA_LOSS));
static_assert(SameCode(StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED));

inline grpc::Status ToGrpcStatus(const Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

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
