// Tells whether a failed write may still have reached the disk.

#ifndef COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_
#define COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_

#include "absl/status/status.h"

namespace coppice::central {

inline bool WriteOutcomeUnknown(const absl::Status& status) {
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

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_
