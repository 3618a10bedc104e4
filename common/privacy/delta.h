// An exact amount of delta: a whole number of 10^-18.

#ifndef COPPICE_COMMON_PRIVACY_DELTA_H_
#define COPPICE_COMMON_PRIVACY_DELTA_H_

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

inline constexpr uint64_t kDeltaOne = 1'000'000'000'000'000'000;  // no privacy at all

// Parses "0", "0.000001" or "1e-6"; digits past the eighteenth are dropped (rounded down).
// InvalidArgument unless it is a number from 10^-18 up to but not including 1, or 0.
StatusOr<uint64_t> ParseDelta(std::string_view text);

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_DELTA_H_
