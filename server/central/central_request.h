// What requests that make datasets, models and jobs have in common.
//
// Errors  InvalidArgument that names the field.

#ifndef COPPICE_SERVER_CENTRAL_CENTRAL_REQUEST_H_
#define COPPICE_SERVER_CENTRAL_CENTRAL_REQUEST_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/study/terms.h"
#include "server/models/random_id.h"

namespace coppice {

inline constexpr size_t kMaxRequestIdBytes = 128;

inline absl::Status CheckRequestId(absl::string_view request_id) {
  if (!request_id.empty() && request_id.size() <= kMaxRequestIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("request_id: must have 1 to ", kMaxRequestIdBytes,
                                                 " characters, has ", request_id.size()));
}

// An empty id is one of the curator's making.
inline absl::Status CheckNewId(absl::string_view field, absl::string_view id) {
  if (id.empty() || IsValidId(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": must be empty or 1 to 63 of a-z 0-9 - _, starting with a letter or digit"));
}

inline absl::StatusOr<std::string> IdOrRandom(const std::string& id) {
  if (!id.empty()) return id;
  return MakeRandomId();
}

// Whether a write that failed with `status` may have reached the disk all the same.
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

#endif  // COPPICE_SERVER_CENTRAL_CENTRAL_REQUEST_H_
