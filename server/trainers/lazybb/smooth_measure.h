// The measure of smooth boosting: how much each row counts in a round, in exact whole numbers.
//
// A row of margin m (its label, -1 or 1, times the sum of the votes so far) has the weight W(m), a
// public table that falls with m. It counts min(1, c W(m)), with the one c for which all n rows
// together count kappa n: the Bregman projection of W to the kappa-dense measures, so no row has
// more than 1 / (kappa n) of the whole. In whole numbers 2^36 is 1, and every row's mass is rounded
// down. More than kMaxRows rows, a public limit that is out of reach, are refused.
//
// The projection does not look at single rows: it scales all weights by one factor and cuts what
// exceeds 1, so a row more or less changes that factor a little for all others, in one direction.
// This is why the whole change can be bounded, and why the bound does not contain n.

#ifndef COPPICE_SERVER_TRAINERS_LAZYBB_SMOOTH_MEASURE_H_
#define COPPICE_SERVER_TRAINERS_LAZYBB_SMOOTH_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/types/span.h"

namespace coppice::trainers {

inline constexpr int kMassBits = 36;
inline constexpr int64_t kMassUnit = int64_t{1} << kMassBits;
inline constexpr size_t kMaxRows = size_t{1} << 26;  // all masses together fit 62 bits

// kappa, in thousandths.
inline constexpr uint32_t kDensityUnit = 1000;

// Guarantee  let a row be added, whose mass is then a. c is the same for all others, so they move
//            one way, and together by |kappa - a|: the whole was kappa n and becomes kappa (n + 1).
//            In L1 all masses move by a + |kappa - a|, which is kappa, or 2a - kappa if that is
//            more. With a <= 1 that is at most 2 - kappa, whatever the number of rows. In the first
//            rounds a is smaller: if w and W are the least and largest weight of a row, c w <=
//            kappa (or the whole would be more), so a <= kappa W / w. In the first round all rows
//            count kappa. Rounding down adds less than 1 per row that moves: kMaxRows. That is
//            MassChange(). Removing a row is the same backwards
//            (docs/research/mechanisms.md#lazybb).
// Threads    immutable once made.
// Source     Barak, Hardt, Kale 2009 (the projection); the thesis' Algorithm 2.
class SmoothMeasure {
 public:
  // Supports margins from -rounds to rounds. `density` is from 1 to kDensityUnit, `rate` (lambda)
  // above 0: W(m) is exp(-rate m), as a whole number from 1 to 2^90, so weights that are further
  // apart than that count as equal.
  SmoothMeasure(double rate, uint32_t density, uint32_t rounds);

  uint32_t rounds() const { return rounds_; }

  // Returns what a row counts, by its margin: the mass of margin m is at m + rounds(). `counts` has
  // the number of rows of each margin, likewise; kMaxRows at most.
  std::vector<int64_t> MassByMargin(absl::Span<const uint64_t> counts) const;

  // Returns by how much all masses together move in L1 when a row is added or removed after `done`
  // rounds of votes: margins are from -done to done.
  uint64_t MassChange(uint32_t done) const;

 private:
  absl::uint128 weight(int64_t margin) const {
    return weights_[static_cast<size_t>(margin + rounds_)];
  }

  uint32_t density_;
  uint32_t rounds_;
  std::vector<absl::uint128> weights_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_LAZYBB_SMOOTH_MEASURE_H_
