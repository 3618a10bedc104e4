// Whether a write that failed with `status` may have reached the disk all the same.

#ifndef COPPICE_SERVER_CENTRAL_MAY_BE_STORED_H_
#define COPPICE_SERVER_CENTRAL_MAY_BE_STORED_H_

#include "absl/status/status.h"

namespace coppice {

inline bool MayBeStored(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInternal:
      return false;
    default:
      return true;
  }
}

}  // namespace coppice

#endif  // COPPICE_SERVER_CENTRAL_MAY_BE_STORED_H_
