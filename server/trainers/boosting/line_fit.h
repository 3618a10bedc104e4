// Straight lines through the numeric columns, all fitted at once: one slope per column and one
// constant.
//
// Two columns may each say nothing and their difference everything, and a tree needs many splits
// for one slanted border. Lines through all columns at once have it in one step. What Newton's
// method costs is its second derivatives, which change with every step; but for two classes those
// of the logistic loss are never more than a quarter of the columns' moments (Boehning and Lindsay
// 1988). So the moments are released once, and every step after that costs a gradient alone and,
// noise apart, does not overshoot. The loss of numbers has the same second derivative for all rows
// whose residual is not cut, and none for the others.
//
// The terms of a row are the constant, kLineUnit, and for each line the place of the row's bin, a
// whole number from -kLineUnit to kLineUnit that follows from the schema. A missing value has 0; a
// row without a label has 0 in all terms.
//
// Guarantee  if a row is added or removed, SumMoments() and SumAlongLines() move by at most
//            MomentSensitivity() and LineSensitivity(): they are sums of whole numbers, to which a
//            row adds products of its own terms and residuals.
// Errors     InvalidArgument for shares that are too small; as in private_releaser.h.
// Threads    plain values.
// Source     docs/research/mechanisms.md#logistic.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int32_t kLineUnit = 128;
inline constexpr uint32_t kMaxLines = 63;
// Bounds one step, in log-odds between the middle of a column and its end: far beyond what rows
// say, so only noise ever reaches it.
inline constexpr double kMaxSlope = 1000;

struct Line {
  uint32_t column = 0;
  std::vector<int32_t> places{};  // of the column's bins
};

// Returns a line for every numeric feature that has a cut.
std::vector<Line> PublicLines(const Schema& schema, const std::vector<FeatureBins>& bins);

// `terms` counts the lines and the constant.
Sensitivity MomentSensitivity(uint64_t terms);
// `residuals` is the bound of a row's residuals.
Sensitivity LineSensitivity(const Sensitivity& residuals, uint64_t terms);

// Sums the products of term pairs: (0, 0), (0, 1), ..., (1, 1), ...; the constant is term 0.
std::vector<int64_t> SumMoments(const BinnedRows& rows, absl::Span<const Line> lines);
// Sums residual times term: of the first output, term after term, then of the next.
std::vector<int64_t> SumAlongLines(const BinnedRows& rows, absl::Span<const Line> lines,
                                   const Residuals& residuals);

// Returns how much of the moments noise of this scale hides: about the largest eigenvalue of a
// symmetric noise matrix, in rows.
double MomentNoise(double scale, uint64_t terms);

// How fast residuals fall as slopes grow: the released moments, with as much added to the diagonal
// as they need to be trusted.
class Curvature {
 public:
  // `ridge` is added to the diagonal, in units of the noise, and more of it until that suffices.
  Curvature(const Measurement& moments, uint64_t terms, double ridge = 0.5);

  // Returns the slopes that would remove these sums of residuals if residuals fell linearly, each
  // clamped to [-kMaxSlope, kMaxSlope]: finite for any moments.
  std::vector<double> Solve(std::vector<double> sums) const;

 private:
  bool Factorize(double ridge);

  size_t terms_;
  std::vector<double> moments_;  // in rows, square
  std::vector<double> factor_;   // Cholesky's, lower
};

// The shares of the moments and of each step.
struct LineShares {
  BudgetShare moments;
  BudgetShare step;
  uint32_t steps = 0;
};

// InvalidArgument if the share is too small to be divided, or the noise too large to be drawn.
StatusOr<LineShares> DivideForLines(const BudgetShare& lines, uint32_t steps,
                                    const Sensitivity& residuals, uint64_t terms);

// Returns the noise that the moments would have, as above.
StatusOr<double> MomentNoise(const LineShares& shares, uint64_t terms);

// The scores that lines add: to every row, and to the rows in each bin of a line's column. In their
// shared noise term 0 is the constant's, which is 1; the lines' terms follow.
struct FittedLines {
  ColumnScores constant;  // of one bin
  std::vector<ColumnScores> lines;
  std::vector<double> noise_factor;  // of SharedNoise
};

// Fits the lines to a task whose residuals count 1 as `unit`, and adds them to its scores. Takes
// Newton's steps against the largest curvature that a loss with these moments can have (Boehning,
// Lindsay 1988): a quarter of them, for softmax a half in each class, for numbers all of them.
//
// Guarantee  costs the moments' share and that of every step.
StatusOr<FittedLines> FitLines(const BinnedRows& rows, absl::Span<const Line> lines,
                               const LineShares& shares, int64_t unit, BoostTask& task,
                               PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_
