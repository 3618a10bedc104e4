// Amplification by shuffling: the central epsilon of local reports towards an observer who does not
// know which device sent which. It computes with numbers only and neither draws nor sees a report.
//
// Source     Balle, Bell, Gascon and Nissim 2019 (the privacy blanket);
//            docs/research/mechanisms.md#amplification (proof, rounding).

#ifndef COPPICE_COMMON_LDP_AMPLIFICATION_H_
#define COPPICE_COMMON_LDP_AMPLIFICATION_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"

namespace coppice {

inline constexpr uint64_t kMaxShuffledReports = uint64_t{1} << 33;
inline constexpr uint64_t kMaxAmplifiedNanos = 20'000'000'000;  // epsilon 20

// Reports of one deal: randomizers fixed before the first answer, dealt to the devices by a
// uniformly random bijection that the observer does not know.
struct ShuffledReports {
  uint64_t honest = 0;  // reports of devices that follow the protocol and tell nobody their ticket
  Budget local;         // every randomizer is LDP with this budget
  double two_sided_mass{};  // the largest `a` of docs/research/mechanisms.md#amplification
};

// The share of reports that is assumed to be dishonest unless the study's owner says otherwise. It
// is an assumption, and is always stated.
inline constexpr uint32_t kDefaultDishonestMillionths = 100'000;
// How many of `reports` are honest if that share, rounded up, is not.
uint64_t HonestReports(uint64_t reports, uint32_t dishonest_millionths);

// The largest delta, in 10^-18, of a promise about batches whose smallest has this many reports: a
// tenth of 1 / reports, which fails for hardly any batch. With more, the promise may fail for
// somebody in each batch.
uint64_t LargestBatchDelta(uint64_t reports);

// The default delta of statements about `reports` reports, in 10^-18: 1e-8, or LargestBatchDelta()
// if that is less.
uint64_t DefaultShuffleDelta(uint64_t reports);

// Factor that covers the rounding of a mass computed in a few steps of doubles.
inline constexpr double kMassRoundingUp = 1 + 0x1p-48;

// The `a` that holds for every mechanism, 1 / (exp(epsilon) + 1), rounded up.
double MaxTwoSidedMass(const Budget& local);

// Guarantee  the reports are (epsilon, delta)-private for the returned delta, which is rounded up
//            throughout. Neighbours: the row of one device is replaced by any other; how many
//            devices there are is public.
// Units      `epsilon_nanos` in nano-epsilons; below `local`, otherwise delta is 0.
// Errors     InvalidArgument for no report or more than kMaxShuffledReports, for a local epsilon
//            above kMaxAmplifiedNanos, and for a mass that is not positive.
StatusOr<double> DeltaBound(const ShuffledReports& reports, uint64_t epsilon_nanos);

// The least epsilon that DeltaBound() proves at `delta` units of 10^-18; at most `reports.local`,
// which holds without any shuffling. InvalidArgument as above, and for a delta of 0 or of kDeltaOne
// and more.
StatusOr<Budget> EpsilonBound(const ShuffledReports& reports, uint64_t delta);

// The epsilon that certificates and plans state for such reports: EpsilonBound(), or
// `reports.local` if the gain is less than a hundredth. A promise asks its reader to trust another
// party and an assumed share; a gain of some billionths is not worth that, as one more dishonest
// report undoes it. Errors as EpsilonBound().
StatusOr<Budget> PromisedEpsilon(const ShuffledReports& reports, uint64_t delta);

// The largest local epsilon, rounded down to a millionth, whose EpsilonBound() is at most
// `central`; `central` itself if that would be less than a hundredth above it. Calls
// `two_sided_mass` for the mass of each epsilon that it tries.
StatusOr<Budget> LargestLocalEpsilon(
    uint64_t honest, const Budget& central, uint64_t delta,
    absl::FunctionRef<StatusOr<double>(const Budget& local)> two_sided_mass);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_AMPLIFICATION_H_
