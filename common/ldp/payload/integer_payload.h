// The layout of a report of small integers: each as a zigzag varint (7 bits a byte, the low ones
// first), one after the other, no count. Integers from -64 to 63 take one byte.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_
#define COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/ldp/payload/contribution.h"

namespace coppice {

// Most bytes of one.
inline constexpr size_t kMaxIntegerBytes = 5;

std::string EncodeIntegers(absl::Span<const int32_t> values);
// The same behind what there is; several calls make one payload.
void AppendIntegers(absl::Span<const int32_t> values, std::string& payload);

// Fills `values`. InvalidArgument unless the payload holds exactly that many, each in its shortest
// form.
absl::Status DecodeIntegers(absl::string_view payload, absl::Span<int32_t> values);

// What an honest report stays within.
struct IntegerLimits {
  size_t count = 0;
  int64_t each = 0;   // the largest absolute value
  int64_t total = 0;  // the largest sum of absolute values
};

// InvalidArgument unless the payload holds that many integers, within the limits.
absl::Status CheckIntegers(absl::string_view payload, const IntegerLimits& limits);

// Adds each integer of each payload to its sum, whatever the column. Every payload must hold
// sums.size() of them, as CheckIntegers() says.
void AddIntegers(absl::Span<const Contribution> reports, absl::Span<int64_t> sums);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_INTEGER_PAYLOAD_H_
