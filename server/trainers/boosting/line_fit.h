// Straight lines through the numeric columns, all fitted at once: one slope per column and one
// constant.
//
// The terms of a row are the constant, kLineUnit, and for each line the place of its bin, a whole
// number from -kLineUnit to kLineUnit that follows from the schema; 0 if the value is missing, or
// the constant too if the row has no label.
//
// Guarantee  SumMoments() and SumAlongLines() move by no more than MomentSensitivity() and
//            LineSensitivity() say if a row is added or removed: sums of whole numbers, of which a
//            row adds products of its own terms and residuals.
// Errors     InvalidArgument for shares that are too small; as of releaser.h.
// Threads    plain values.
// Source     docs/research/mechanisms.md#logistic.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/schema/schema.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int32_t kLineUnit = 128;
inline constexpr uint32_t kMaxLines = 63;
// The bound of one step, in log-odds between the middle of a column and its end: far beyond what
// rows say, so that only noise ever meets it.
inline constexpr double kMaxSlope = 1000;

struct Line {
  uint32_t column = 0;
  std::vector<int32_t> places{};  // of the column's bins
};

// One for every numeric feature that has a cut.
std::vector<Line> PublicLines(const Schema& schema, const std::vector<FeatureBins>& bins);

// `terms` counts the lines and the constant.
Sensitivity MomentSensitivity(uint64_t terms);
// `residuals` is what a row's residuals are held to.
Sensitivity LineSensitivity(const Sensitivity& residuals, uint64_t terms);

// Products of two terms, each pair once: (0, 0), (0, 1), ..., (1, 1), ...; the constant is term 0.
std::vector<int64_t> SumMoments(const BinnedRows& rows, absl::Span<const Line> lines);
// Residual times term: of the first output, term after term, then of the next.
std::vector<int64_t> SumAlongLines(const BinnedRows& rows, absl::Span<const Line> lines,
                                   const Residuals& residuals);

// What noise of this scale leaves of moments: the largest eigenvalue that a symmetric matrix of it
// has, about, in rows.
double MomentNoise(double scale, uint64_t terms);

// How fast residuals fall as slopes grow: moments as released, with as much added to the diagonal
// as it takes to trust them.
class Curvature {
 public:
  Curvature(const Measurement& moments, uint64_t terms);

  // The slopes that would take these sums of residuals away if residuals fell linearly, each held
  // to [-kMaxSlope, kMaxSlope]: finite whatever the moments are.
  std::vector<double> Solve(std::vector<double> sums) const;

 private:
  bool Factorize(double ridge);

  size_t terms_;
  std::vector<double> moments_;  // in rows, square
  std::vector<double> factor_;   // Cholesky's, lower
};

// What lines spend: on their moments, and on each of their steps.
struct LineShares {
  BudgetShare moments;
  BudgetShare step;
  uint32_t steps = 0;
};

// InvalidArgument if that is too little to be divided, or for noise that could still be drawn.
absl::StatusOr<LineShares> DivideForLines(const BudgetShare& lines, uint32_t steps,
                                          const Sensitivity& residuals, uint64_t terms);

// The noise that moments would have, as above.
absl::StatusOr<double> MomentNoise(const LineShares& shares, uint64_t terms);

// Scores that lines add: to every row, and to those in each bin of a line's column. Term 0 of their
// shared noise is the constant's, which is 1; the lines' follow.
struct FittedLines {
  ColumnScores constant;  // of one bin
  std::vector<ColumnScores> lines;
  std::vector<double> noise_factor;  // SharedNoise's
};

// Fits the lines to a task of classes, whose residuals count 1 as `unit`, and adds them to its
// scores. Newton's steps against the largest curvature that a loss of these moments can have
// (Boehning, Lindsay 1988): a quarter of them, for softmax a half of them in each class.
//
// Guarantee  costs the moments' share and that of every step.
absl::StatusOr<FittedLines> FitLines(const BinnedRows& rows, absl::Span<const Line> lines,
                                     const LineShares& shares, int64_t unit, BoostTask& task,
                                     PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_LINE_FIT_H_
