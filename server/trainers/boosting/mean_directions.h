// Scores of many classes from the directions in which their rows lie, all released at once.
//
// A tree of many classes measures as many sums in each child, and in a wide table no column tells
// more than two classes apart. But where each class has a place of its own among the rows, the mean
// of its rows tells it: the first gradient of a linear model, residuals times terms summed over all
// rows, is that mean less all rows' mean. It is one release, and needs no moments, whose noise
// grows with the square of the columns.
//
// A row's terms are the constant, kLineUnit, and for each numeric column half its place between the
// bounds and half its place by halves towards zero. Rows are scaled down to a norm that few exceed.
// A pilot measures the gradients for a small share. Its noise is known before, and nothing is spent
// where that is too large. Where the classes' means lie no farther from the middle than twice the
// square of the columns' half width, beside the noise, trees get all the rest. Else a second
// release is averaged with it, and a selection finds how steep scores are.
//
// Guarantee  each release costs its share. A row adds residuals times terms to the gradients,
// within
//            DirectionSensitivity(): norms of terms are held in whole numbers. In a selection it
//            adds to every candidate between 0 and kVoteUnit. Terms are functions of a row's bins.
// Errors     as in private_releaser.h.
// Threads    plain values.
// Source     docs/research/mechanisms.md#mean-directions.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_MEAN_DIRECTIONS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_MEAN_DIRECTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int64_t kVoteUnit = int64_t{1} << 20;

// The shares of all releases, and what they leave for trees.
struct DirectionPlan {
  BudgetShare pilot = BudgetShare::WithoutPrivacy();
  BudgetShare more = BudgetShare::WithoutPrivacy();
  BudgetShare steepness = BudgetShare::WithoutPrivacy();
  BudgetShare trees_after_pilot = BudgetShare::WithoutPrivacy();
  BudgetShare trees = BudgetShare::WithoutPrivacy();
};

// Returns a line for every numeric feature that has a cut.
std::vector<Line> PublicDirections(const Schema& schema, const std::vector<FeatureBins>& bins);

// Returns how far a row moves the gradients, whose `terms` count the constant; `in_rho` says which
// norm its terms are held to.
Sensitivity DirectionSensitivity(const Sensitivity& residuals, uint64_t terms, bool in_rho);

// Sums residual times term, each row's terms scaled down to the norm: of the first output, term
// after term, then of the next.
std::vector<int64_t> SumDirections(const BinnedRows& rows, absl::Span<const Line> lines,
                                   const Residuals& residuals, bool in_rho);

// Divides `whole` for `classes` classes and this many `terms`. None if noise would hide the pilot,
// or if `whole` is too small to be divided. `rows` is the released number.
StatusOr<std::optional<DirectionPlan>> PlanDirections(const BudgetShare& whole, double rows,
                                                      uint32_t classes, uint64_t terms);

struct FoundDirections {
  ColumnScores constant;  // of one bin
  std::vector<ColumnScores> lines;
};

// Finds directions for a task of several classes whose scores are all 0, and adds them to its
// scores. None if classes lie too near to each other: then the pilot alone is spent.
StatusOr<std::optional<FoundDirections>> FindDirections(const BinnedRows& rows,
                                                        absl::Span<const Line> lines,
                                                        const DirectionPlan& plan, double counted,
                                                        BoostTask& task, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_MEAN_DIRECTIONS_H_
