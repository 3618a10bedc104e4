#include "server/serving/calls/retry_after.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::service {
namespace {

constexpr char kPayload[] = "coppice/retry-after-ms";

}  // namespace

Status AskToWait(Status status, absl::Duration wait) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  status.SetPayload(kPayload, absl::Cord(StrCat(milliseconds)));
  return status;
}

Status AskToWaitForLoad(Status status) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return AskToWait(std::move(status), absl::Seconds(1));
}

std::optional<absl::Duration> WaitOf(const Status& status) {
  if (status.ok()) return std::nullopt;
  const auto payload = status.GetPayload(kPayload);
  int64_t milliseconds = 0;
  if (!payload || !SimpleAtoi(std::string(*payload), &milliseconds)) return std::nullopt;
  return absl::Milliseconds(milliseconds);
}

}  // namespace coppice::service
