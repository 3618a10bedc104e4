#include "server/trainers/lazybb/composition.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/delta.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

constexpr uint64_t kMaxParts = uint64_t{1} << 14;  // of all releases together
constexpr uint64_t kFinest = 256;                  // parts of the largest weight
constexpr uint64_t kConcentratedParts = uint64_t{1} << 20;

// Returns weights as whole numbers, the largest of which is `fineness`, rounded up.
std::vector<uint64_t> PartsOf(absl::Span<const uint64_t> weights, uint64_t fineness) {
  const absl::uint128 largest = *std::max_element(weights.begin(), weights.end());
  std::vector<uint64_t> parts;
  for (const uint64_t weight : weights) {
    parts.push_back(absl::Uint128Low64((absl::uint128(weight) * fineness + largest - 1) / largest));
  }
  return parts;
}

std::vector<uint64_t> Repeated(absl::Span<const uint64_t> parts, uint64_t times) {
  std::vector<uint64_t> all;
  for (; times > 0; --times) all.insert(all.end(), parts.begin(), parts.end());
  return all;
}

absl::uint128 Sum(absl::Span<const uint64_t> parts) {
  return std::accumulate(parts.begin(), parts.end(), absl::uint128(0));
}

// Returns a probability, rounded down.
double Delta(uint64_t atto) { return static_cast<double>(atto) / kDeltaOne * (1 - 0x1p-50); }

// Returns the largest step that epsilon and delta allow, up to a few thousandths of it.
uint64_t LargestStep(absl::Span<const uint64_t> parts, const Budget& epsilon, double delta) {
  const auto fits = [&](uint64_t step) { return ComposedDelta(parts, step, epsilon) <= delta; };
  uint64_t low = absl::Uint128Low64(epsilon.nanos() / Sum(parts));
  uint64_t high = 2 * low + 1;
  for (; fits(high); high *= 2) low = high;
  constexpr uint64_t kPrecision = 4096;
  while (high - low > 1 + low / kPrecision) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

uint64_t Largest(absl::Span<const BudgetShare> shares) {
  uint64_t largest = 0;
  for (const BudgetShare& share : shares) largest = std::max(largest, share.amount());
  return largest;
}

}  // namespace

// A response lies with probability 1 / (1 + e^epsilon_i), which takes its part off the log-ratio
// twice; if nobody lies, that is `all` parts. Only lies that leave it above epsilon have a term.
double ComposedDelta(absl::Span<const uint64_t> parts, uint64_t step, const Budget& epsilon) {
  constexpr absl::uint128 kMaxNanos = uint64_t{1} << 53;  // exact as a double
  const absl::uint128 loss = Sum(parts) * step;
  if (loss >= kMaxNanos) return 1;
  if (loss <= epsilon.nanos()) return 0;
  const uint64_t all = absl::Uint128Low64(loss) / step;
  const auto in_nats = [](uint64_t nanos) {
    return static_cast<double>(nanos) / Budget::kNanosPerEpsilon;
  };
  // lies[l]: the probability that those who lie have l parts in all.
  std::vector<double> lies((all - epsilon.nanos() / step - 1) / 2 + 1);
  lies[0] = 1;
  size_t reached = 1;  // beyond it all are 0
  for (const uint64_t part : parts) {
    const double truth = 1 / (1 + std::exp(-in_nats(part * step)));
    const double lie = 1 / (1 + std::exp(in_nats(part * step)));
    reached = std::min<uint64_t>(lies.size(), reached + part);
    for (size_t l = reached; l-- > 0;) {
      lies[l] = truth * lies[l] + (l >= part ? lie * lies[l - part] : 0);
    }
  }
  double delta = 0;
  for (size_t l = 0; l < lies.size(); ++l) {
    delta += lies[l] * -std::expm1(-in_nats((all - 2 * l) * step - epsilon.nanos()));
  }
  // All terms are positive, so relative errors of 2^-53 add up: at most ten for each release in a
  // term, one for each nat of an exponent, one for each term. The bound doubles that, and adds what
  // was too small for a double, which is less than 1e-300.
  const double roundings = 10.0 * static_cast<double>(parts.size()) + in_nats(all * step) +
                           static_cast<double>(lies.size()) + 10;
  return delta * (1 + 0x1p-52 * roundings) + 1e-300;
}

StatusOr<std::vector<BudgetShare>> PureShares(const BudgetShare& whole, uint64_t delta_atto,
                                              absl::Span<const uint64_t> weights, uint64_t times) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<BudgetShare> basic,
                           ProportionalShares(whole, weights, times));
  const absl::uint128 releases = absl::uint128(weights.size()) * times;
  if (!whole.is_private() || delta_atto == 0 || releases > kMaxComposed) return basic;
  const uint64_t fineness = std::min(kFinest, kMaxParts / absl::Uint128Low64(releases));
  const std::vector<uint64_t> parts = Repeated(PartsOf(weights, fineness), times);
  const uint64_t largest = fineness * LargestStep(parts, whole.budget(), Delta(delta_atto));
  if (largest <= Largest(basic)) return basic;
  std::vector<BudgetShare> advanced;
  const absl::uint128 most = *std::max_element(weights.begin(), weights.end());
  for (const uint64_t weight : weights) {
    // At least what basic composition gives, up to a few nanos: above 0.
    const absl::uint128 amount = absl::uint128(largest) * weight / most;
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare share, whole.WithAmount(absl::Uint128Low64(amount)));
    advanced.push_back(share);
  }
  return advanced;
}

StatusOr<std::vector<BudgetShare>> ConcentratedShares(const BudgetShare& whole, uint64_t delta_atto,
                                                      absl::Span<const uint64_t> weights,
                                                      uint64_t times) {
  COPPICE_ASSIGN_OR_RETURN(const Rho rho, Rho::Implying(whole.budget(), delta_atto));
  std::vector<uint64_t> squares = PartsOf(weights, kConcentratedParts);
  for (uint64_t& square : squares) square *= square;
  return ProportionalShares(BudgetShare(rho), squares, times);
}

StatusOr<std::vector<BudgetShare>> SelectionShares(const BudgetShare& whole, uint64_t delta_atto,
                                                   absl::Span<const uint64_t> weights,
                                                   uint32_t selections, uint64_t times) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<BudgetShare> pure,
                           PureShares(whole, delta_atto, weights, times));
  if (!whole.is_private() || delta_atto == 0) return pure;
  StatusOr<std::vector<BudgetShare>> concentrated =
      ConcentratedShares(whole, delta_atto, weights, times);
  if (!concentrated.ok()) return pure;
  const StatusOr<BudgetShare> of_one =
      EqualShare(BudgetShare(*Rho::FromPicos(Largest(*concentrated))), selections);
  if (!of_one.ok()) return pure;
  const double needed = kWorthOfPermuteAndFlip * static_cast<double>(Largest(pure)) / selections;
  return static_cast<double>(of_one->rho().ForSelection().nanos()) > needed
             ? *std::move(concentrated)
             : pure;
}

}  // namespace coppice::trainers
