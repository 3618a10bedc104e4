// An exact geometric law with a rational ratio, as a lookup table.
//
// The law is that of steps g = 0, 1, 2, ... with P(g >= i) = ratio^i, ratio = numerator / 2^32,
// together with a fair sign. It is exact: a uniform real number is revealed bit by bit, as far as
// the comparison with ratio^i (a number with 32*i bits, kept in full) needs. The first 16 bits
// decide all but a few draws in a hundred, through a 4 KiB table. The table draws the distance
// between rare events in a row of Bernoulli trials, and the magnitude of discrete Laplace noise,
// whose tail is memoryless.

#ifndef COPPICE_COMMON_PRIVACY_GEOMETRIC_TABLE_H_
#define COPPICE_COMMON_PRIVACY_GEOMETRIC_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"

namespace coppice {

// One draw, packed: the low bit is the sign (1: negative), the rest is the number of steps.
// kManySteps stands for "kManySteps or more": by memorylessness the remainder is a draw of its own.
using SignedSteps = uint8_t;
inline constexpr uint32_t kManySteps = 62;
inline uint32_t StepsOf(SignedSteps draw) { return draw >> 1; }
inline bool IsNegative(SignedSteps draw) { return (draw & 1) != 0; }

// Threads    immutable after Create(); safe to share.
// Source     docs/research/mechanisms.md#geometric; privacy-preserving use in common/ldp.
class GeometricTable {
 public:
  // ratio = numerator / 2^32. InvalidArgument unless 0 < numerator < 2^32.
  static StatusOr<GeometricTable> Create(uint32_t numerator);

  uint32_t numerator() const { return numerator_; }

  // Marks a first word that does not decide the draw.
  static constexpr SignedSteps kUndecided = 0xff;

  // The draw whose uniform number starts with the 16 bits of `first_word`, or kUndecided.
  SignedSteps Lookup(uint16_t first_word) const { return lookup_[first_word >> 4]; }

  // The draw for an undecided first word; `next_word` returns 16 further uniform bits at each call.
  StatusOr<SignedSteps> Resolve(uint16_t first_word,
                                absl::FunctionRef<StatusOr<uint16_t>()> next_word) const;

 private:
  static constexpr int kLookupBits = 12;

  explicit GeometricTable(uint32_t numerator);

  // Resolve() for a uniform number whose first digit equals that of powers_[steps].
  StatusOr<size_t> Compare(uint16_t first_digit, size_t steps,
                           absl::FunctionRef<StatusOr<uint16_t>()> next_word) const;

  uint32_t numerator_;
  // powers_[i - 1] is ratio^i as 16-bit binary digits, the most significant first, preceded by the
  // sign bit's place (see geometric_table.cc), for i = 1..kManySteps.
  std::vector<std::vector<uint16_t>> powers_;
  std::array<uint16_t, kManySteps> first_digits_;  // powers_[i][0]
  std::vector<SignedSteps> lookup_;  // by prefix; on the heap because devices have little stack
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_GEOMETRIC_TABLE_H_
