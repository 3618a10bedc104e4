// Numbers of certificates as people write them.

#ifndef COPPICE_COMMON_DESCRIBE_UNITS_H_
#define COPPICE_COMMON_DESCRIBE_UNITS_H_

#include <cstdint>

namespace coppice {

inline double OfNanos(uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }
inline double OfAtto(uint64_t atto) { return static_cast<double>(atto) / 1e18; }

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_UNITS_H_
