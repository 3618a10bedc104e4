// An exact amount of epsilon: a whole number of nano-epsilons (1e-9 nats).
//
// There is no default budget: an unset one does not compile.

#ifndef COPPICE_COMMON_PRIVACY_BUDGET_H_
#define COPPICE_COMMON_PRIVACY_BUDGET_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

// Guarantee  parsing and conversion round down, so a Budget never exceeds what was asked for;
//            shares never sum to more than the whole.
// Errors     InvalidArgument for zero, negative, NaN, infinite or too large (above 1e6) amounts.
// Source     docs/research/mechanisms.md#budget.
class Budget {
 public:
  static constexpr uint64_t kNanosPerEpsilon = 1'000'000'000;
  static constexpr uint64_t kMaxNanos = 1'000'000 * kNanosPerEpsilon;

  static StatusOr<Budget> FromNanos(uint64_t nanos);
  static StatusOr<Budget> FromEpsilon(double epsilon);
  // Parses a plain decimal such as "0.5" or "2"; digits past the ninth are dropped (rounded down).
  static StatusOr<Budget> Parse(std::string_view text);

  uint64_t nanos() const { return nanos_; }
  double epsilon() const { return static_cast<double>(nanos_) / kNanosPerEpsilon; }
  // The shortest decimal that Parse() converts to this budget.
  std::string ToString() const;

  // One of `parts` equal shares, rounded down. InvalidArgument if a share would be zero.
  StatusOr<Budget> Share(uint64_t parts) const;

  // Plus() returns OutOfRange above kMaxNanos. Minus() returns what is left after `spent`, or
  // ResourceExhausted if that is nothing.
  StatusOr<Budget> Plus(const Budget& other) const;
  StatusOr<Budget> Minus(const Budget& spent) const;

  friend auto operator<=>(const Budget&, const Budget&) = default;

 private:
  explicit Budget(uint64_t nanos) : nanos_(nanos) {}

  uint64_t nanos_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_BUDGET_H_
