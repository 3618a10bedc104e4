// The daemon's log: one line per event on stderr, for people or as JSON. No payloads or rows.

#ifndef COPPICE_SERVER_PROCESS_LOG_H_
#define COPPICE_SERVER_PROCESS_LOG_H_

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace coppice {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// Threads    safe to share: a line is written in one piece.
class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

  Log(LogLevel least, bool json) : least_(least), json_(json) {}

  // Sets the least level that is written from now on.
  void SetLevel(LogLevel least) { least_ = least; }
  bool Writes(LogLevel level) const { return level >= least_.load(std::memory_order_relaxed); }

  // Writes: 2026-01-31T12:00:00Z info serving address=127.0.0.1:8443
  void Write(LogLevel level, std::string_view event, Fields fields = {}) const;

  void Info(std::string_view event, Fields fields = {}) const {
    Write(LogLevel::kInfo, event, fields);
  }
  void Warning(std::string_view event, Fields fields = {}) const {
    Write(LogLevel::kWarning, event, fields);
  }
  void Error(std::string_view event, Fields fields = {}) const {
    Write(LogLevel::kError, event, fields);
  }

 private:
  std::atomic<LogLevel> least_;
  const bool json_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_LOG_H_
