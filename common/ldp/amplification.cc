#include "common/ldp/amplification.h"

#include <algorithm>
#include <cmath>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/delta.h"

namespace coppice {
namespace {

// Covers the rounding of every product and sum below; docs/research/mechanisms.md#amplification.
constexpr double kSlack = 1e-8;
// The relative error of one step of a recurrence: eight roundings.
constexpr double kStepError = 0x1p-50;
// How far the tail may drift from the truth, relatively, before it is recomputed.
constexpr double kMaxDrift = 1e-9;
// Below the first, a point mass is kept as an upper bound, and its tail counts as 0.
constexpr double kNegligible = 1e-200;
constexpr double kNoLongerNegligible = 1e-150;
// The part of a sum that may be left out where that is on the safe side or within the slack.
constexpr double kCut = 1e-14;
constexpr double kEpsilonPerNano = 1e-9;
constexpr uint64_t kLocalStepNanos = 1000;  // of LargestLocalEpsilon()

double Real(uint64_t whole) { return static_cast<double>(whole); }

// The law of one report in Lemma 2: +gain with probability `plus`, -loss with probability `minus`.
struct TwoSidedLaw {
  double gain = 0;
  double loss = 0;
  double plus = 0;
  double minus = 0;

  double active() const { return plus + minus; }
  // Computed from differences of exponents, since E - x and E x - 1 cancel.
  static TwoSidedLaw Of(const ShuffledReports& reports, uint64_t epsilon_nanos) {
    const double local = reports.local.epsilon();
    const double epsilon = Real(epsilon_nanos) * kEpsilonPerNano;
    const double apart = Real(reports.local.nanos() - epsilon_nanos) * kEpsilonPerNano;
    TwoSidedLaw law;
    law.gain = std::exp(epsilon) * std::expm1(apart);
    law.loss = std::expm1(local + epsilon);
    law.plus = std::min(reports.two_sided_mass, MaxTwoSidedMass(reports.local));
    law.minus = (law.plus * law.gain + std::expm1(epsilon)) / law.loss;
    return law;
  }
};

// P(K = point) and P(K > point) for a binomial K of `trials` trials; both can grow one by one.
//
// Guarantee  the point mass is off by less than kSlack relatively, or is an upper bound below
//            kNoLongerNegligible; what lies beyond is off by less than kSlack, or an underestimate.
class BinomialTail {
 public:
  BinomialTail(double success, double failure)
      : success_(success), failure_(failure), odds_(success / failure) {}

  double point_mass() const { return mass_; }
  double beyond() const { return negligible_ ? 0 : beyond_; }

  void Restart(uint64_t trials, uint64_t point) {
    trials_ = trials;
    point_ = point;
    const double walked = MassFromMode();
    negligible_ = !(walked > kNegligible);
    mass_ = std::max(walked, kNegligible);
    beyond_ = mass_ * BeyondOverMass();
    moved_ = 0;
    steps_ = 0;
  }

  // Adds one trial, and moves the point by one too if `with_point`.
  void Advance(bool with_point) {
    ++trials_;
    const double entering = success_ * mass_;
    mass_ *= Real(trials_) / Real(trials_ - point_) * failure_;
    beyond_ += entering;
    moved_ += entering;
    if (with_point) {
      mass_ *= Ratio(point_);
      ++point_;
      beyond_ -= mass_;
      moved_ += mass_;
    }
    ++steps_;
    if (point_ == trials_) beyond_ = 0;
    if (negligible_) {
      mass_ = std::max(mass_, kNegligible);
      if (mass_ > kNoLongerNegligible) Restart(trials_, point_);
    } else if (mass_ < kNegligible) {
      negligible_ = true;
    } else if (point_ < trials_ && HasDrifted()) {
      Restart(trials_, point_);
    }
  }

 private:
  // P(k + 1) / P(k).
  double Ratio(uint64_t k) const { return Real(trials_ - k) / Real(k + 1) * odds_; }

  bool HasDrifted() const {
    return Real(steps_) * kStepError * (moved_ + 2 * std::abs(beyond_)) > kMaxDrift * beyond_;
  }

  // Walks from the mode both ways, over positive terms only, and divides by their sum.
  double MassFromMode() const {
    const uint64_t mode = std::min(trials_, static_cast<uint64_t>(Real(trials_ + 1) * success_));
    double total = 1;
    double at_point = point_ == mode ? 1 : 0;
    double weight = 1;
    for (uint64_t k = mode; k < trials_ && weight > kNegligible; ++k) {
      const double ratio = Ratio(k);
      if (k >= point_ && ratio < 1 && weight * ratio < kCut * (1 - ratio) * total) break;
      weight *= ratio;
      total += weight;
      if (k + 1 == point_) at_point = weight;
    }
    weight = 1;
    for (uint64_t k = mode; k > 0 && weight > kNegligible; --k) {
      const double ratio = 1 / Ratio(k - 1);
      if (k <= point_ && ratio < 1 && weight * ratio < kCut * (1 - ratio) * total) break;
      weight *= ratio;
      total += weight;
      if (k - 1 == point_) at_point = weight;
    }
    return at_point / total;
  }

  double BeyondOverMass() const {
    double sum = 0;
    double term = 1;
    for (uint64_t k = point_; k < trials_; ++k) {
      const double ratio = Ratio(k);
      if (ratio < 1 && term * ratio < kCut * (1 - ratio) * sum) break;
      term *= ratio;
      sum += term;
    }
    return sum;
  }

  double success_, failure_, odds_;
  uint64_t trials_ = 0;
  uint64_t point_ = 0;
  double mass_ = 0;
  double beyond_ = 0;
  bool negligible_ = false;
  // Since the restart: the sum of all changes to beyond_, and their number of steps.
  double moved_ = 0;
  uint64_t steps_ = 0;
};

// The distribution of the number of active reports, with weights relative to its mode; counts with
// less than `cut` of the weight are left out.
struct ActiveWindow {
  uint64_t low = 0;
  double low_weight = 1;
  double below = 0;  // at least what lies below the window
};

ActiveWindow LowEnd(uint64_t reports, double active, double cut) {
  ActiveWindow window;
  window.low = std::min(reports, static_cast<uint64_t>(Real(reports + 1) * active));
  double sum = 1;
  while (window.low > 0) {
    const double ratio =
        Real(window.low) / Real(reports - window.low + 1) * ((1 - active) / active);
    if (ratio < 1) {
      window.below = window.low_weight * ratio / (1 - ratio);
      if (window.below < cut * sum) return window;
    }
    window.low_weight *= ratio;
    sum += window.low_weight;
    --window.low;
  }
  window.below = 0;
  return window;
}

// The most misses among `count` active reports with which the sum is still positive, plus one.
uint64_t MissesAllowed(uint64_t count, double miss_share) {
  return std::max<uint64_t>(static_cast<uint64_t>(std::ceil(Real(count) * miss_share)), 1);
}

// (1/n) E max(0, S), S the sum of n independent draws of `law`, summed over the active count c,
// which contributes c (rho gain f - mu T). Counts outside the window add at most their gain.
double PositivePart(const ShuffledReports& reports, const TwoSidedLaw& law, double mu,
                    double wanted) {
  const double active = law.active();
  const double hit = law.plus / active;
  const double miss_share = law.gain / (law.gain + law.loss);
  const double odds = active / (1 - active);
  const double cut = wanted * 1e-7 / std::exp(reports.local.epsilon());
  const ActiveWindow window = LowEnd(reports.honest, active, cut);

  BinomialTail tail(hit, law.minus / active);
  uint64_t misses = 0;
  double weight = window.low_weight;
  double weights = 0;
  double sum = 0;
  double above = 0;
  for (uint64_t count = window.low; count <= reports.honest; ++count) {
    if (count > 0) {
      const uint64_t allowed = MissesAllowed(count, miss_share);
      if (misses == 0) {
        tail.Restart(count - 1, count - allowed);
      } else {
        tail.Advance(allowed == misses);
      }
      misses = allowed;
      const double inner =
          hit * law.gain * tail.point_mass() * (1 + kSlack) - mu * tail.beyond() * (1 - kSlack);
      sum += weight * Real(count) * std::max(inner, 0.0);
    }
    weights += weight;
    const double ratio = Real(reports.honest - count) / Real(count + 1) * odds;
    above = weight * ratio / (1 - ratio);
    if (ratio < 1 && above < cut * weights) break;
    weight *= ratio;
  }
  const double outside = (window.below + above) / weights;
  return sum / weights / Real(reports.honest) * (1 + kSlack) + law.gain * outside * (1 + kSlack);
}

Status CheckReports(const ShuffledReports& reports) {
  if (reports.honest == 0 || reports.honest > kMaxShuffledReports) {
    return InvalidArgumentError(StrCat("amplification by shuffling is computed for 1 to ",
                                       kMaxShuffledReports, " honest reports, not ",
                                       reports.honest));
  }
  if (reports.local.nanos() > kMaxAmplifiedNanos) {
    return InvalidArgumentError(
        StrCat("amplification by shuffling is computed up to a local epsilon of ",
               kMaxAmplifiedNanos / Budget::kNanosPerEpsilon, ", not ", reports.local.ToString()));
  }
  if (!(reports.two_sided_mass > 0)) {
    return InvalidArgumentError("the two-sided mass of a mechanism is positive");
  }
  return OkStatus();
}

Status CheckDelta(uint64_t delta) {
  if (delta > 0 && delta < kDeltaOne) return OkStatus();
  return InvalidArgumentError("amplification by shuffling needs a delta from 1e-18 to below 1");
}

// DeltaBound() of checked reports, precise enough to compare with `wanted`. Uses an epsilon that is
// one nano less, which covers the rounding of the exponentials.
double CheckedDeltaBound(const ShuffledReports& reports, uint64_t epsilon_nanos, double wanted) {
  if (epsilon_nanos >= reports.local.nanos()) return 0;
  const uint64_t nanos = epsilon_nanos > 0 ? epsilon_nanos - 1 : 0;
  const TwoSidedLaw law = TwoSidedLaw::Of(reports, nanos);
  return PositivePart(reports, law, std::expm1(Real(nanos) * kEpsilonPerNano) / law.active(),
                      wanted);
}

// Whether `central_nanos` is lower by a hundredth or more. Neither is above kMaxAmplifiedNanos.
bool IsWorthSaying(uint64_t local_nanos, uint64_t central_nanos) {
  return central_nanos * 100 <= local_nanos * 99;
}

// `delta` units of 10^-18, rounded down.
double DeltaReal(uint64_t delta) { return Real(delta) * 1e-18 * (1 - 0x1p-50); }

}  // namespace

uint64_t HonestReports(uint64_t reports, uint32_t dishonest_millionths) {
  constexpr uint64_t kMillion = 1'000'000;
  const absl::uint128 dishonest =
      (absl::uint128(reports) * dishonest_millionths + kMillion - 1) / kMillion;
  return reports - std::min(reports, absl::Uint128Low64(dishonest));
}

uint64_t LargestBatchDelta(uint64_t reports) {
  return kDeltaOne / 10 / std::max<uint64_t>(reports, 1);
}

uint64_t DefaultShuffleDelta(uint64_t reports) {
  constexpr uint64_t kUsual = 10'000'000'000;  // 1e-8
  return std::min(kUsual, LargestBatchDelta(reports));
}

double MaxTwoSidedMass(const Budget& local) {
  return kMassRoundingUp / (std::exp(local.epsilon()) + 1);
}

StatusOr<double> DeltaBound(const ShuffledReports& reports, uint64_t epsilon_nanos) {
  COPPICE_RETURN_IF_ERROR(CheckReports(reports));
  return CheckedDeltaBound(reports, epsilon_nanos, DeltaReal(1));
}

StatusOr<Budget> EpsilonBound(const ShuffledReports& reports, uint64_t delta) {
  COPPICE_RETURN_IF_ERROR(CheckReports(reports));
  COPPICE_RETURN_IF_ERROR(CheckDelta(delta));
  const double wanted = DeltaReal(delta);
  uint64_t refuted = 0;
  uint64_t proved = reports.local.nanos();
  while (proved - refuted > 1) {
    const uint64_t middle = refuted + (proved - refuted) / 2;
    const bool holds = CheckedDeltaBound(reports, middle, wanted) <= wanted;
    (holds ? proved : refuted) = middle;
  }
  return Budget::FromNanos(proved);
}

StatusOr<Budget> PromisedEpsilon(const ShuffledReports& reports, uint64_t delta) {
  COPPICE_ASSIGN_OR_RETURN(const Budget bound, EpsilonBound(reports, delta));
  return IsWorthSaying(reports.local.nanos(), bound.nanos()) ? bound : reports.local;
}

StatusOr<Budget> LargestLocalEpsilon(
    uint64_t honest, const Budget& central, uint64_t delta,
    absl::FunctionRef<StatusOr<double>(const Budget& local)> two_sided_mass) {
  COPPICE_RETURN_IF_ERROR(CheckReports({.honest = honest, .local = central, .two_sided_mass = 1}));
  COPPICE_RETURN_IF_ERROR(CheckDelta(delta));
  const double wanted = DeltaReal(delta);
  uint64_t proved = central.nanos() / kLocalStepNanos;
  uint64_t refuted = kMaxAmplifiedNanos / kLocalStepNanos + 1;
  while (refuted - proved > 1) {
    const uint64_t middle = proved + (refuted - proved) / 2;
    COPPICE_ASSIGN_OR_RETURN(const Budget local, Budget::FromNanos(middle * kLocalStepNanos));
    COPPICE_ASSIGN_OR_RETURN(const double mass, two_sided_mass(local));
    const ShuffledReports reports = {honest, local, mass};
    COPPICE_RETURN_IF_ERROR(CheckReports(reports));
    const bool holds = CheckedDeltaBound(reports, central.nanos(), wanted) <= wanted;
    (holds ? proved : refuted) = middle;
  }
  const uint64_t largest = proved * kLocalStepNanos;
  return IsWorthSaying(largest, central.nanos()) ? Budget::FromNanos(largest) : central;
}

}  // namespace coppice
