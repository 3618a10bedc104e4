// Errors whose texts another party may have chosen.

#ifndef COPPICE_COMMON_BASE_REMOTE_ERROR_H_
#define COPPICE_COMMON_BASE_REMOTE_ERROR_H_

#include <string>
#include <string_view>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

// Makes another party's text fit for terminals and logs: no control characters, at most 2,000
// bytes.
inline std::string SanitizeRemoteText(std::string_view text) {
  constexpr size_t kMaxBytes = 2000;
  return StrCat(Printable(text.substr(0, kMaxBytes)), text.size() > kMaxBytes ? "..." : "");
}

// An error about what another party sent. An invalid argument is the caller's mistake, and nothing
// that came is: that is data loss.
inline Status SanitizeRemoteError(const Status& status) {
  const StatusCode code = IsInvalidArgument(status) ? StatusCode::kDataLoss : status.code();
  return Status(code, SanitizeRemoteText(status.message()));
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_REMOTE_ERROR_H_
