#include "common/privacy/geometric_table.h"

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr uint16_t kSignBit = 0x8000;

// ratio^kManySteps / 2 has two digits per step, and one for the half.
constexpr size_t kMaxDigits = 2 * kManySteps + 1;

// ratio^i / 2 for i = 1..kManySteps, as 16-bit digits after the binary point. Halving makes room
// for the sign: the first word of a draw is its sign bit and then the first 15 bits of the uniform
// number, so with the sign cleared the words compare digit by digit.
std::vector<std::vector<uint16_t>> HalvedPowers(uint32_t numerator) {
  std::vector<std::vector<uint16_t>> powers;
  std::vector<uint16_t> digits = {uint16_t{1} << 15};  // 1/2
  for (uint32_t i = 1; i <= kManySteps; ++i) {
    // digits * numerator / 2^32: schoolbook multiplication, two digits longer, nothing rounded.
    std::vector<uint16_t> product(digits.size() + 2);
    uint64_t carry = 0;
    for (size_t at = product.size(); at-- > 0;) {
      if (at >= 2) carry += uint64_t{digits[at - 2]} * numerator;
      product[at] = static_cast<uint16_t>(carry);
      carry >>= 16;
    }
    digits = std::move(product);
    powers.push_back(digits);
  }
  return powers;
}

}  // namespace

StatusOr<GeometricTable> GeometricTable::Create(uint32_t numerator) {
  if (numerator == 0) return InvalidArgumentError("a geometric ratio must be positive");
  return GeometricTable(numerator);
}

GeometricTable::GeometricTable(uint32_t numerator)
    : numerator_(numerator), powers_(HalvedPowers(numerator)), lookup_(size_t{1} << kLookupBits) {
  for (size_t i = 0; i < kManySteps; ++i) first_digits_[i] = powers_[i][0];
  constexpr uint32_t kPrefixes = 1u << (kLookupBits - 1);  // the other bit is the sign
  for (uint32_t prefix = 0; prefix < kPrefixes; ++prefix) {
    uint32_t steps = 0;
    bool undecided = false;
    for (const std::vector<uint16_t>& power : powers_) {
      const uint32_t power_prefix = power[0] >> (16 - kLookupBits);
      if (prefix > power_prefix) break;  // and so for all later powers, which are smaller
      if (prefix == power_prefix) undecided = true;
      ++steps;
    }
    const auto draw = static_cast<SignedSteps>(steps << 1);
    lookup_[prefix] = undecided ? kUndecided : draw;
    lookup_[prefix | kPrefixes] =
        undecided ? kUndecided : static_cast<SignedSteps>(draw | SignedSteps{1});
  }
}

StatusOr<SignedSteps> GeometricTable::Resolve(
    uint16_t first_word, absl::FunctionRef<StatusOr<uint16_t>()> next_word) const {
  const auto first_digit = static_cast<uint16_t>(first_word & ~kSignBit);
  // Powers decrease, so the first digit alone skips a run of them and mostly decides the rest.
  size_t steps = static_cast<size_t>(
      std::partition_point(first_digits_.begin(), first_digits_.end(),
                           [first_digit](uint16_t digit) { return first_digit < digit; }) -
      first_digits_.begin());
  if (steps < kManySteps && first_digits_[steps] == first_digit) {
    COPPICE_ASSIGN_OR_RETURN(steps, Compare(first_digit, steps, next_word));
  }
  return static_cast<SignedSteps>(steps << 1 | ((first_word & kSignBit) != 0 ? 1u : 0u));
}

StatusOr<size_t> GeometricTable::Compare(uint16_t first_digit, size_t steps,
                                         absl::FunctionRef<StatusOr<uint16_t>()> next_word) const {
  std::array<uint16_t, kMaxDigits> uniform;
  uniform[0] = first_digit;
  size_t drawn = 1;
  // True if the uniform number is less than `power`. Draws the digits that it needs and keeps them.
  // If all digits are equal it is not less, as further digits only add.
  const auto is_less = [&](const std::vector<uint16_t>& power) -> StatusOr<bool> {
    for (size_t at = 0; at < power.size(); ++at) {
      if (at == drawn) {
        COPPICE_ASSIGN_OR_RETURN(uniform[drawn], next_word());
        ++drawn;
      }
      if (uniform[at] != power[at]) return uniform[at] < power[at];
    }
    return false;
  };
  for (; steps < kManySteps; ++steps) {
    COPPICE_ASSIGN_OR_RETURN(const bool less, is_less(powers_[steps]));
    if (!less) break;
  }
  return steps;
}

}  // namespace coppice
