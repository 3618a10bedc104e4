#include "server/trainers/core/shares.h"

#include <cmath>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::trainers {
namespace {

// Keeps powers below 2^64, so that a power times an amount fits 128 bits.
StatusOr<uint64_t> Power(uint64_t base, uint32_t exponent) {
  absl::uint128 power = 1;
  for (uint32_t i = 0; i < exponent; ++i) {
    power *= base;
    if (absl::Uint128High64(power) != 0) {
      return InvalidArgumentError(StrCat("epsilon cannot be divided among ", exponent,
                                         " growing levels: use fewer levels"));
    }
  }
  return absl::Uint128Low64(power);
}

StatusOr<uint64_t> SumOfWeights(absl::Span<const uint64_t> weights, uint64_t times) {
  absl::uint128 all = 0;
  for (const uint64_t weight : weights) all += weight;  // fewer than 2^64 of them
  if (absl::Uint128High64(all) == 0) all *= times;
  if (absl::Uint128High64(all) == 0) return absl::Uint128Low64(all);
  return InvalidArgumentError(
      StrCat("the weights of ", weights.size(), times == 1 ? "" : StrCat(" times ", times),
             " shares of the budget add up to 2^64 or more: use fewer, or smaller ones"));
}

StatusOr<BudgetShare> PartOf(const BudgetShare& whole, absl::uint128 amount) {
  const StatusOr<BudgetShare> part = whole.WithAmount(absl::Uint128Low64(amount));
  if (part.ok()) return part;
  return InvalidArgumentError(
      "epsilon is too small to be divided among so many releases: use a larger one, or fewer "
      "levels");
}

}  // namespace

StatusOr<std::vector<BudgetShare>> GeometricShares(const BudgetShare& whole, uint32_t levels,
                                                   Growth growth) {
  if (!whole.is_private()) return std::vector<BudgetShare>(levels, BudgetShare::WithoutPrivacy());
  std::vector<BudgetShare> shares;
  // (a - b) sum_i a^i b^(levels - 1 - i) = a^levels - b^levels, which bounds each part.
  COPPICE_ASSIGN_OR_RETURN(const uint64_t most, Power(growth.to, levels));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t least, Power(growth.from, levels));
  const uint64_t all = (most - least) / (growth.to - growth.from);
  for (uint32_t i = 0; i < levels; ++i) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t above, Power(growth.to, i));
    COPPICE_ASSIGN_OR_RETURN(const uint64_t below, Power(growth.from, levels - 1 - i));
    const absl::uint128 part = absl::uint128(above) * below;
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare share, PartOf(whole, whole.amount() * part / all));
    shares.push_back(share);
  }
  return shares;
}

StatusOr<BudgetShare> EqualShare(const BudgetShare& whole, uint64_t parts) {
  if (!whole.is_private()) return whole;
  return PartOf(whole, whole.amount() / parts);
}

StatusOr<std::vector<BudgetShare>> ProportionalShares(const BudgetShare& whole,
                                                      absl::Span<const uint64_t> weights,
                                                      uint64_t times) {
  if (!whole.is_private())
    return std::vector<BudgetShare>(weights.size(), BudgetShare::WithoutPrivacy());
  COPPICE_ASSIGN_OR_RETURN(const uint64_t all, SumOfWeights(weights, times));
  std::vector<BudgetShare> shares;
  for (const uint64_t weight : weights) {
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare share,
                             PartOf(whole, absl::uint128(whole.amount()) * weight / all));
    shares.push_back(share);
  }
  return shares;
}

StatusOr<TwoShares> Divide(const BudgetShare& whole, double share) {
  if (!whole.is_private()) return TwoShares{whole, whole};
  if (!(share > 0 && share < 1)) {
    return InvalidArgumentError(
        StrCat("a part of the budget must lie between 0 and 1, not be ", share));
  }
  constexpr uint64_t kMillion = 1'000'000;
  const auto millionths = static_cast<uint64_t>(std::floor(share * kMillion));
  const absl::uint128 amount = absl::uint128(whole.amount()) * millionths / kMillion;
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare part, PartOf(whole, amount));
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare rest, PartOf(whole, whole.amount() - amount));
  return TwoShares{part, rest};
}

}  // namespace coppice::trainers
