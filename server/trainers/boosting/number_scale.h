// What numbers to predict are measured against: a private middle and a private reach, so that wide
// declared bounds cost little; and a last step against the bias that comes of cutting at the reach.
//
// Guarantee  each release costs its share, add or remove one row. The middle and the reach are
//            quantiles of numbers that every row computes from itself (and from the middle, which
//            is released by then): selections with range 2 max(part, whole - part). The last step
//            is a measurement of one leaf: a row adds one unit to two sums together.
// Units      steps of the target's declared range (bins.h).
// Source     docs/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/tree/model.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

struct NumberShares {
  BudgetShare middle, reach, first, trees, last;
};
absl::StatusOr<NumberShares> DivideForNumbers(const BudgetShare& whole);

struct NumberScale {
  double middle = 0;
  double reach = 1;
};
// `rows` is their number as released.
absl::StatusOr<NumberScale> ReleaseNumberScale(absl::Span<const uint32_t> targets, double rows,
                                               const BudgetShare& middle, const BudgetShare& reach,
                                               PrivateReleaser& releaser);

// What to add to every prediction, in steps. `scores` are the rows', 1 being a reach.
struct LastStep {
  double value = 0;
  OutputNoise noise{};
};
absl::StatusOr<LastStep> ReleaseLastStep(absl::Span<const uint32_t> targets,
                                         absl::Span<const double> scores, const NumberScale& scale,
                                         const BudgetShare& share, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_NUMBER_SCALE_H_
