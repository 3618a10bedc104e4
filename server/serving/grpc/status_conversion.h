// Converts absl::Status to a gRPC status: the same code number and message, and the time to wait.

#ifndef COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_
#define COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/serving/calls/retry_after.h"

namespace coppice::rpc {

constexpr bool SameCode(absl::StatusCode ours, grpc::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(SameCode(absl::StatusCode::kOk, grpc::StatusCode::OK));
static_assert(SameCode(absl::StatusCode::kCancelled, grpc::StatusCode::CANCELLED));
static_assert(SameCode(absl::StatusCode::kUnknown, grpc::StatusCode::UNKNOWN));
static_assert(SameCode(absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT));
static_assert(SameCode(absl::StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED));
static_assert(SameCode(absl::StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND));
static_assert(SameCode(absl::StatusCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS));
static_assert(SameCode(absl::StatusCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED));
static_assert(SameCode(absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED));
static_assert(SameCode(absl::StatusCode::kFailedPrecondition,
                       grpc::StatusCode::FAILED_PRECONDITION));
static_assert(SameCode(absl::StatusCode::kAborted, grpc::StatusCode::ABORTED));
static_assert(SameCode(absl::StatusCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE));
static_assert(SameCode(absl::StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED));
static_assert(SameCode(absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL));
static_assert(SameCode(absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE));
static_assert(SameCode(absl::StatusCode::kDataLoss, grpc::StatusCode::DATA_LOSS));
static_assert(SameCode(absl::StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED));

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// The status that ends `context`'s call. Puts the time to wait, if `status` has one, into the
// trailing metadata, in milliseconds. Call it at most once per call, before the end.
inline grpc::Status EndStatus(grpc::ServerContextBase& context, const absl::Status& status) {
  if (const std::optional<absl::Duration> wait = service::WaitOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms",
                                absl::StrCat(absl::ToInt64Milliseconds(*wait)));
  }
  return ToGrpcStatus(status);
}

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_STATUS_CONVERSION_H_
