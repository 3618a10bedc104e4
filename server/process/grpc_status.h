// A Status as gRPC's: the same code number and message.

#ifndef COPPICE_SERVER_PROCESS_GRPC_STATUS_H_
#define COPPICE_SERVER_PROCESS_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "common/base/status.h"

namespace coppice {

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

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_GRPC_STATUS_H_
