// Zero-concentrated differential privacy (zCDP), exact: a whole number of pico-rho (1e-12).
//
// Rhos of releases add up, and (epsilon, delta)-DP follows from the sum: many small releases need
// far less noise than by adding up epsilons, at the price of a delta.

#ifndef COPPICE_COMMON_PRIVACY_CONCENTRATED_H_
#define COPPICE_COMMON_PRIVACY_CONCENTRATED_H_

#include <cstdint>

#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/delta.h"

namespace coppice {

// Guarantee  conversion rounds down, so a Rho never exceeds what was asked for.
// Errors     InvalidArgument for 0, and for 2^63 and more.
// Source     Bun, Steinke 2016; Canonne, Kamath, Steinke 2020, Proposition 12 (conversion);
//            docs/research/mechanisms.md#concentrated.
class Rho {
 public:
  static constexpr uint64_t kPicosPerRho = 1'000'000'000'000;

  static StatusOr<Rho> FromPicos(uint64_t picos);
  // The largest rho for which rho-zCDP is known to imply (epsilon, delta)-DP. InvalidArgument if
  // that is 0, and for a delta of 1 or more, which is no privacy.
  static StatusOr<Rho> Implying(const Budget& epsilon, uint64_t delta_atto);

  uint64_t picos() const { return picos_; }

  // The largest pure epsilon that costs this: epsilon-DP is epsilon^2/2-zCDP.
  Budget ForPure() const;

  // The largest epsilon at which the exponential mechanism costs this: it is epsilon^2/8-zCDP
  // (Cesar, Rogers 2021). This does not hold for permute and flip.
  Budget ForSelection() const;

  // The standard deviation of Gaussian noise that costs this on values that one step between
  // neighbours moves, together, by an L2 norm whose square is at most `l2_squared`. A whole number,
  // rounded up. InvalidArgument if that is 2^40 or more, or for an l2_squared above 2^60.
  StatusOr<uint64_t> DeviationFor(uint64_t l2_squared) const;

 private:
  explicit Rho(uint64_t picos) : picos_(picos) {}

  uint64_t picos_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_CONCENTRATED_H_
