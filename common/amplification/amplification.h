// What shuffling buys: the central epsilon of local reports for whoever sees them without knowing
// which device gave which, in pure numbers. Nothing here draws or sees a report.
//
// Source     Balle, Bell, Gascon and Nissim 2019 (the privacy blanket); docs/research/mechanisms.md
//            #amplification has the proof for unequal randomizers and the argument for rounding.

#ifndef COPPICE_COMMON_AMPLIFICATION_AMPLIFICATION_H_
#define COPPICE_COMMON_AMPLIFICATION_AMPLIFICATION_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/privacy/budget.h"

namespace coppice {

inline constexpr uint64_t kMaxShuffledReports = uint64_t{1} << 33;
inline constexpr uint64_t kMaxAmplifiedNanos = 20'000'000'000;  // epsilon 20

// Reports of one deal: randomizers fixed before the first answer, dealt to the devices by a
// uniformly random bijection that the observer does not know.
struct ShuffledReports {
  uint64_t honest = 0;  // reports whose devices follow the protocol and tell nobody their ticket
  Budget local;         // every randomizer is this-LDP
  double two_sided_mass{};  // the largest `a` of docs/research/mechanisms.md#amplification
};

// What is taken for dishonest unless the study's owner says otherwise: an assumption, always
// stated.
inline constexpr uint32_t kDefaultDishonestMillionths = 100'000;
// How many of `reports` are honest if that share of them, rounded up, is not.
uint64_t HonestReports(uint64_t reports, uint32_t dishonest_millionths);

// The largest delta, in 10^-18, of a promise about batches of which the smallest has this many
// reports: with a tenth of one in them the promise fails for hardly any batch, with more it may
// fail for somebody in each.
uint64_t LargestBatchDelta(uint64_t reports);

// The delta of statements about `reports` reports unless another is asked for: 1e-8, or a tenth of
// one in that many if that is less; in units of 10^-18.
uint64_t DefaultShuffleDelta(uint64_t reports);

// Factor that covers the rounding of a mass computed in a few steps of doubles.
inline constexpr double kMassRoundingUp = 1 + 0x1p-48;

// The `a` that holds for every mechanism, 1 / (exp(epsilon) + 1), rounded up.
double MaxTwoSidedMass(const Budget& local);

// Guarantee  the reports are (epsilon, delta)-private for the delta returned: it is rounded up
//            throughout. Neighbours: the row of one device for any other row; how many devices
//            there are is public.
// Units      `epsilon_nanos` in nano-epsilons; below `local`, else delta is 0.
// Errors     InvalidArgument for no report or more than kMaxShuffledReports, for a local epsilon
//            above kMaxAmplifiedNanos, and for a mass that is not positive.
absl::StatusOr<double> DeltaBound(const ShuffledReports& reports, uint64_t epsilon_nanos);

// The least epsilon that DeltaBound() vouches for at `delta` units of 10^-18; at most
// `reports.local`, which holds with no shuffling at all. InvalidArgument as above, and for a delta
// of 0 or of kDeltaOne and more.
absl::StatusOr<Budget> EpsilonBound(const ShuffledReports& reports, uint64_t delta);

// What is said of such reports, in certificates and plans: EpsilonBound(), or `reports.local` where
// that gains less than a hundredth. A promise makes its reader trust another party and an assumed
// share of honest reports; a gain of some billionths only looks like one, as it is gone with the
// next report that is dishonest. Errors as EpsilonBound().
absl::StatusOr<Budget> PromisedEpsilon(const ShuffledReports& reports, uint64_t delta);

// The largest local epsilon, rounded down to a millionth, whose EpsilonBound() is at most
// `central`; never below `central`, which it is where it would be less than a hundredth above.
// `two_sided_mass` is asked for the mass of each one tried.
absl::StatusOr<Budget> LargestLocalEpsilon(
    uint64_t honest, const Budget& central, uint64_t delta,
    absl::FunctionRef<absl::StatusOr<double>(const Budget& local)> two_sided_mass);

}  // namespace coppice

#endif  // COPPICE_COMMON_AMPLIFICATION_AMPLIFICATION_H_
