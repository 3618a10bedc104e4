// The layout of a report of small integers: zigzag varints (7 bits per byte, the low ones first),
// one after the other, without a count. Integers from -64 to 63 take one byte.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_
#define COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/ldp/payload/contribution.h"

namespace coppice {

// The most bytes that one integer takes.
inline constexpr size_t kMaxIntegerBytes = 5;

std::string EncodeIntegers(absl::Span<const int32_t> values);
// Appends to `payload`; several calls make one payload.
void AppendIntegers(absl::Span<const int32_t> values, std::string& payload);

// Fills `values`. InvalidArgument unless the payload holds exactly this many integers, each in its
// shortest form.
Status DecodeIntegers(std::string_view payload, absl::Span<int32_t> values);

// Limits that an honest report stays within.
struct IntegerLimits {
  size_t count = 0;
  int64_t each = 0;   // the largest absolute value
  int64_t total = 0;  // the largest sum of absolute values
};

// The most bytes of a payload within the limits. Integers that take many bytes are large, so the
// total lets few of them be: it is little above one byte each, where the longest takes five.
size_t MaxBytesWithin(const IntegerLimits& limits);

// InvalidArgument unless the payload holds limits.count integers, within the limits.
Status CheckIntegers(std::string_view payload, const IntegerLimits& limits);

// Adds each integer of each payload to its sum, whatever the column. Every payload must hold
// sums.size() integers and pass CheckIntegers().
void AddIntegers(absl::Span<const Contribution> reports, absl::Span<int64_t> sums);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_
