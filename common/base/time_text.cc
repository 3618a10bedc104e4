#include "common/base/time_text.h"

#include "absl/time/time.h"

namespace coppice {

std::string TimeText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

std::optional<int64_t> ParseTimeText(const std::string& text) {
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &ignored)) return std::nullopt;
  const int64_t seconds = absl::ToUnixSeconds(time);
  return seconds > 0 ? std::make_optional(seconds) : std::nullopt;
}

}  // namespace coppice
