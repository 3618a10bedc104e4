#ifndef COPPICE_COMMON_BASE_SYSTEM_CLOCK_H_
#define COPPICE_COMMON_BASE_SYSTEM_CLOCK_H_

#include <cstdint>
#include <ctime>

namespace coppice {

// Seconds since 1970, UTC, by the machine's clock.
inline int64_t SystemSeconds() { return static_cast<int64_t>(std::time(nullptr)); }

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_SYSTEM_CLOCK_H_
