// Tells whether a failed write may still have reached the disk.

#ifndef COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_
#define COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_

#include "common/base/status.h"

namespace coppice::central {

inline bool WriteOutcomeUnknown(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
    case StatusCode::kInvalidArgument:
    case StatusCode::kAlreadyExists:
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kInternal:
      return false;
    default:
      return true;
  }
}

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_WRITE_OUTCOME_H_
