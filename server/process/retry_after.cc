#include "server/process/retry_after.h"

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::service {

Status AskToWait(Status status, absl::Duration wait) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  status.set_retry_after_milliseconds(milliseconds);
  return status;
}

Status AskToWaitForLoad(Status status) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return AskToWait(std::move(status), absl::Seconds(1));
}

std::optional<absl::Duration> WaitOf(const Status& status) {
  if (status.ok() || !status.retry_after_milliseconds().has_value()) return std::nullopt;
  return absl::Milliseconds(*status.retry_after_milliseconds());
}

}  // namespace coppice::service
