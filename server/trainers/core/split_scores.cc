#include "server/trainers/core/split_scores.h"

#include <algorithm>
#include <numeric>

#include "absl/numeric/int128.h"

namespace coppice::trainers {
namespace {

using absl::int128;

// Rounds down, also for negative numbers; a built-in division rounds towards zero.
int64_t FloorDivide(int128 numerator, int128 denominator) {
  int128 quotient = numerator / denominator;
  if (quotient * denominator > numerator) --quotient;
  return static_cast<int64_t>(quotient);
}

// Does the same for numbers that are not negative, by correcting a `guess` of the quotient: many
// times faster than the division of 128 bits that would take most of a score's time.
int64_t FloorDividePositive(int128 numerator, int128 denominator, double guess) {
  constexpr double kFar = int64_t{1} << 50;  // larger guesses are off by more than one
  if (guess > kFar) return FloorDivide(numerator, denominator);
  auto quotient = static_cast<int64_t>(guess);
  const int128 rest = numerator - denominator * quotient;
  if (rest < 0) --quotient;
  if (rest >= denominator) ++quotient;
  return quotient;
}

// Returns `squares` / kResidualSteps^2 / `squared_norm` / (count + lambda) * kScoreUnit, with
// lambda as a fraction; `near` is `squares` as a double.
int64_t GainOf(int64_t count, int128 squares, double near, uint32_t squared_norm, Lambda lambda) {
  static_assert(kResidualSteps == kScoreUnit);
  const int128 rows = int128(count) * lambda.denominator + lambda.numerator;
  const double near_rows =
      static_cast<double>(count) * lambda.denominator + static_cast<double>(lambda.numerator);
  return FloorDividePositive(
      squares * lambda.denominator, rows * (kResidualSteps * int64_t{squared_norm}),
      near * lambda.denominator /
          (near_rows * static_cast<double>(kResidualSteps * int64_t{squared_norm})));
}

int64_t Total(absl::Span<const int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

int64_t GainTerm(int64_t count, int64_t sum, Lambda lambda) {
  if (count == 0) return 0;
  const auto near = static_cast<double>(sum);
  return GainOf(count, int128(sum) * sum, near * near, 1, lambda);
}

int64_t GainTerm(int64_t count, absl::Span<const int64_t> sums, uint32_t squared_norm,
                 Lambda lambda) {
  if (count == 0) return 0;
  int128 squares = 0;
  double near = 0;
  for (const int64_t sum : sums) {
    squares += int128(sum) * sum;
    near += static_cast<double>(sum) * static_cast<double>(sum);
  }
  return GainOf(count, squares, near, squared_norm, lambda);
}

int64_t SquaredErrorTerm(int64_t count, int64_t sum, int64_t squares) {
  if (count == 0) return 0;
  return -FloorDivide(int128(count) * squares - int128(sum) * sum, count);
}

int64_t MiscountTerm(absl::Span<const int64_t> class_counts) {
  return *std::max_element(class_counts.begin(), class_counts.end()) - Total(class_counts);
}

int64_t GiniTerm(absl::Span<const int64_t> class_counts) {
  const int64_t count = Total(class_counts);
  if (count == 0) return 0;
  int128 together = int128(count) * count;
  for (const int64_t of_class : class_counts) together -= int128(of_class) * of_class;
  return -FloorDivide(together * kScoreUnit, count);
}

int64_t WeightedGiniTerm(int64_t mass_of_0, int64_t mass_of_1) {
  if (mass_of_0 + mass_of_1 == 0) return 0;
  return -FloorDivide(int128(4) * mass_of_0 * mass_of_1, int128(mass_of_0) + mass_of_1);
}

}  // namespace coppice::trainers
