#include "server/process/log.h"

#include <unistd.h>

#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/text.h"

namespace coppice {
namespace {

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

std::string AsText(const std::string& time, std::string_view level, std::string_view event,
                   Log::Fields fields) {
  std::string line = StrCat(time, " ", level, " ", event);
  for (const auto& [name, value] : fields) StrAppend(&line, " ", name, "=", value);
  return line;
}

std::string AsJson(const std::string& time, std::string_view level, std::string_view event,
                   Log::Fields fields) {
  nlohmann::ordered_json object = {
      {"time", time}, {"level", std::string(level)}, {"event", std::string(event)}};
  for (const auto& [name, value] : fields) object[std::string(name)] = value;
  // A file name need not be UTF-8; a log line must be.
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Log::Write(LogLevel level, std::string_view event, Fields fields) const {
  if (!Writes(level)) return;
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  const std::string line = StrCat(json_ ? AsJson(time, LevelName(level), event, fields)
                                        : AsText(time, LevelName(level), event, fields),
                                  "\n");
  // One write, so that lines of several threads do not mix. Errors are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace coppice
