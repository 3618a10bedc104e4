#include "server/trainers/shares.h"

#include <cmath>
#include <numeric>

#include "absl/numeric/int128.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

absl::uint128 Power(uint64_t base, uint32_t exponent) {
  absl::uint128 power = 1;
  for (uint32_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

absl::StatusOr<Share> PartOf(const Share& whole, absl::uint128 amount) {
  const absl::StatusOr<Share> part = whole.WithAmount(absl::Uint128Low64(amount));
  if (part.ok()) return part;
  return absl::InvalidArgumentError(
      "epsilon is too small to be divided this often: take a larger one, or fewer levels");
}

}  // namespace

absl::StatusOr<std::vector<Share>> GeometricShares(const Share& whole, uint32_t levels,
                                                   Growth growth) {
  if (!whole.is_private()) return std::vector<Share>(levels, Share::WithoutPrivacy());
  std::vector<Share> shares;
  // (a - b) sum_i a^i b^(levels - 1 - i) = a^levels - b^levels.
  const absl::uint128 all =
      (Power(growth.to, levels) - Power(growth.from, levels)) / (growth.to - growth.from);
  for (uint32_t i = 0; i < levels; ++i) {
    const absl::uint128 part = Power(growth.to, i) * Power(growth.from, levels - 1 - i);
    COPPICE_ASSIGN_OR_RETURN(const Share share, PartOf(whole, whole.amount() * part / all));
    shares.push_back(share);
  }
  return shares;
}

absl::StatusOr<Share> EqualShare(const Share& whole, uint64_t parts) {
  if (!whole.is_private()) return whole;
  return PartOf(whole, whole.amount() / parts);
}

absl::StatusOr<std::vector<Share>> ProportionalShares(const Share& whole,
                                                      absl::Span<const uint64_t> weights) {
  if (!whole.is_private()) return std::vector<Share>(weights.size(), Share::WithoutPrivacy());
  const uint64_t all = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<Share> shares;
  for (const uint64_t weight : weights) {
    COPPICE_ASSIGN_OR_RETURN(const Share share,
                             PartOf(whole, absl::uint128(whole.amount()) * weight / all));
    shares.push_back(share);
  }
  return shares;
}

absl::StatusOr<TwoShares> Divide(const Share& whole, double share) {
  if (!whole.is_private()) return TwoShares{whole, whole};
  constexpr uint64_t kMillion = 1'000'000;
  const auto millionths = static_cast<uint64_t>(std::floor(share * kMillion));
  const absl::uint128 amount = absl::uint128(whole.amount()) * millionths / kMillion;
  COPPICE_ASSIGN_OR_RETURN(const Share part, PartOf(whole, amount));
  COPPICE_ASSIGN_OR_RETURN(const Share rest, PartOf(whole, whole.amount() - amount));
  return TwoShares{part, rest};
}

}  // namespace coppice
