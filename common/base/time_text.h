// Converts between Unix times and text for people and scripts (RFC 3339).

#ifndef COPPICE_COMMON_BASE_TIME_TEXT_H_
#define COPPICE_COMMON_BASE_TIME_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace coppice {

// "2026-01-31T12:00:00Z".
std::string TimeText(int64_t unix_seconds);

// Returns the seconds of "2026-01-31T12:00:00Z"; any offset is accepted. nullopt unless `text` is a
// time after 1970.
std::optional<int64_t> ParseTimeText(const std::string& text);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_TIME_TEXT_H_
