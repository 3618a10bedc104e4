// The scale of numbers to predict: a private middle and a private reach, so that wide declared
// bounds cost little; and a last step against the bias that cutting at the reach causes. Few
// numbers have a noisy mean for a middle; very few have nothing else.
//
// Noise on a sum of numbers is as large as the largest number may be. Declared bounds are often a
// hundred times wider than where the numbers lie, so the trees are given a range of their own:
// around a private median, as far as 98 % of the numbers reach. Numbers beyond that are cut to it,
// which pulls all answers towards the middle if they lie on one side; the last step measures that
// bias and takes it away.
//
// Guarantee  each release costs its share, add or remove one row. The middle and the reach are
//            quantiles of numbers that every row computes from itself (and from the middle, which
//            is released before): selections with range 2 max(part, whole - part). The last step is
//            a measurement of one leaf: a row adds one unit to two sums together. So is each
//            release of a mean, where a row adds the range's steps to two sums together.
// Units      steps of the target's declared range (bins.h).
// Source     docs/research/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

struct NumberShares {
  BudgetShare middle, reach, first, trees, last;
};
StatusOr<NumberShares> DivideForNumbers(const BudgetShare& whole);

struct NumberScale {
  double middle = 0;
  double reach = 1;
};
// `rows` is the released number of rows.
StatusOr<NumberScale> ReleaseNumberScale(absl::Span<const uint32_t> targets, double rows,
                                         const BudgetShare& middle, const BudgetShare& reach,
                                         PrivateReleaser& releaser);

// Releases the reach alone, around a released middle.
StatusOr<double> ReleaseReach(absl::Span<const uint32_t> targets, double rows, double middle,
                              const BudgetShare& share, PrivateReleaser& releaser);

// Rows times epsilon below which numbers are few: their median would cost more than their mean.
inline constexpr double kFewNumbers = 1500;
// Below it noise hides what trees say, and all numbers get the same prediction.
inline constexpr double kMinForTrees = 150;

// The part of few numbers' budget that pays for their first mean.
inline constexpr double kCentreShare = 0.05;
// Returns the part of the rest that pays for a second mean, 0 for none. `information` is the
// released number of rows times epsilon.
double SecondCentreShare(double information);

// The shares of what is left then.
struct FewNumberShares {
  BudgetShare reach, first, trees;
  std::optional<BudgetShare> last{};
};
StatusOr<FewNumberShares> DivideForFewNumbers(const BudgetShare& rest, double information);

// A noisy mean of numbers, which also improves the number of rows. Each release has the sums of the
// distances from the range's low and high end: their difference gives the mean, their sum the rows.
// Releases count by inverse variance. Large noise shrinks the mean to the middle of the range.
//
//
// Errors     as PrivateReleaser::Measure.
// Threads    not safe to share.
// Units      steps of the target's declared range (bins.h).
class NumberCentre {
 public:
  // `rows` is the number released for `count`, a share of epsilon or of rho. `targets` must outlive
  // the centre. Sums are of multiples of 1 / `unit` of the range; tests that walk through every sum
  // use a coarser unit.
  static StatusOr<NumberCentre> Create(absl::Span<const uint32_t> targets, double rows,
                                       const BudgetShare& count, uint32_t unit = kTargetSteps);

  Status Release(const BudgetShare& share, PrivateReleaser& releaser);

  double rows() const { return RowsOf(pooled_); }
  double middle() const { return MiddleOf(pooled_); }
  // Returns the last release's noise in the middle. It cannot tell the noise of earlier releases.
  OutputNoise NoiseOfMiddle(const PrivateReleaser& releaser) const;

 private:
  // Numbers weighted by inverse variances, and the weights. In rows.
  struct Pooled {
    double rows = 0, weight_of_rows = 0;
    double off_middle = 0, weight_of_off = 0;
  };

  NumberCentre(absl::Span<const uint32_t> targets, const Pooled& pooled, uint32_t unit)
      : targets_(targets), unit_(unit), pooled_(pooled) {}
  Pooled With(Pooled pooled, const Measurement& measured) const;
  static double RowsOf(const Pooled& pooled);
  static double MiddleOf(const Pooled& pooled);

  absl::Span<const uint32_t> targets_;
  uint32_t unit_;
  Pooled pooled_, before_last_{};
  Measurement last_{};
};

// The value to add to every prediction, in steps. `scores` are the rows'; 1 is one reach.
struct LastStep {
  double value = 0;
  OutputNoise noise{};
};
StatusOr<LastStep> ReleaseLastStep(absl::Span<const uint32_t> targets,
                                   absl::Span<const double> scores, const NumberScale& scale,
                                   const BudgetShare& share, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_
