// Straight lines on top of what public rows say: their curvature from public rows, their direction
// and their length from private ones.
//
// Newton's method needs how fast residuals fall along every pair of columns, which is most of what
// private lines pay for (line_fit.h). The held-out scores of public rows say it for nothing.
// Private rows give one noisy gradient a step; the step is the mean of what it would be if slopes
// came from N(0, tau^2), with tau weighed by the gradient itself. Public rows of another
// population, or few, give a wrong curvature and with it too long a step. So private rows also
// choose how much of each step is taken.
//
// A row's terms are a constant; the place of each number in deviations of the public rows, cut to
// 2.5 and in 33 places; one for each category of at least three public rows; and the public scores.
// For a gradient the terms are scaled down until their norm is at most Bound(), three quarters of
// the public rows' norms: L1 for Laplace noise, L2 for Gaussian. What a step adds is the sum of the
// unscaled terms, so it can be written as trees of one column each, and a factor of the public
// predictor's scores.
//
// Guarantee  a row's terms are whole numbers, and their norm is at most Bound() whatever the row
//            holds. With residuals of sensitivity s its products with them move SumGradient() by at
//            most GradientSensitivity(s). All else is a function of the public rows, of released
//            values, and of a row's own features.
// Errors     InvalidArgument for shares that are too small; as in private_releaser.h.
// Threads    immutable.
// Units      kTermUnit is a term of 1.
// Source     docs/research/mechanisms.md#boosting-from-public-rows.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_LINES_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_LINES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/public/public_guard.h"
#include "server/trainers/boosting/public/public_start.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int32_t kTermUnit = 256;
inline constexpr uint32_t kPublicLineSteps = 2;

class PublicTerms {
 public:
  // Nothing if public rows are too few to know a curvature, or terms too many.
  static StatusOr<std::optional<PublicTerms>> Create(const PublicStart& start);

  size_t count() const { return count_; }
  // The bins of the schema's features that terms are read from.
  const std::vector<FeatureBins>& bins() const { return bins_; }
  uint64_t Bound(bool is_concentrated) const { return is_concentrated ? bound_l2_ : bound_l1_; }
  Sensitivity GradientSensitivity(const Sensitivity& residuals) const;

  // The sum over rows of residual times scaled term: of the first output, term after term, then of
  // the next. `rows` have bins() and these public scores.
  std::vector<int64_t> SumGradient(const BinnedRows& rows, const OutputScores& public_scores,
                                   const Residuals& residuals, bool is_concentrated) const;
  // The public rows' scaled terms, row after row.
  std::vector<double> PublicTermsOf(bool is_concentrated) const;

  // What slopes (output after output) add to each row's scores, by unscaled terms.
  OutputScores Along(const BinnedRows& rows, const OutputScores& public_scores,
                     absl::Span<const double> slopes) const;
  OutputScores AlongPublicRows(absl::Span<const double> slopes) const;

  // The same as a model has it.
  struct AsTrees {
    std::vector<double> constant;  // by output
    std::vector<double> factor;    // of the public scores, as for PublicStart::Trees()
    std::vector<uint32_t> columns{};
    std::vector<ColumnScores> of_columns{};
  };
  AsTrees ToTrees(absl::Span<const double> slopes) const;
  size_t num_columns() const;

 private:
  // A term that a column's bins have: at most one a bin.
  struct ColumnTerms {
    uint32_t column = 0;
    std::vector<int32_t> term_of_bin{};  // -1: none
    std::vector<int32_t> place_of_bin{};
  };

  explicit PublicTerms(const PublicStart& start);
  void AddNumber(uint32_t feature);
  void AddCategories(uint32_t feature);
  void FindBounds();
  double Standard(double score, size_t output) const {
    return (score - score_mean_[output]) / score_deviation_[output];
  }
  // Writes the unscaled terms of a row, then scales them down to the bound.
  void TermsOf(const BinnedRows& rows, size_t row, const OutputScores& public_scores,
               absl::Span<int32_t> terms) const;
  static uint64_t NormOf(absl::Span<const int32_t> terms, bool is_concentrated);
  void ScaleDown(absl::Span<int32_t> terms, bool is_concentrated) const;

  const PublicStart* start_;
  size_t count_ = 1;
  std::vector<FeatureBins> bins_;
  std::vector<ColumnTerms> columns_;
  std::vector<double> score_mean_, score_deviation_;
  BinnedRows public_rows_;
  uint64_t bound_l1_ = 1, bound_l2_ = 1;
};

// The share of a gradient, and that of the choice of a step's length.
struct PublicLineShares {
  BudgetShare gradient;
  BudgetShare length;
};

// A released number of rows, and private rows with the public scores of each.
struct PrivateLineRows {
  double count = 0;
  const BinnedRows& rows;
  const OutputScores& public_scores;
};

// Takes kPublicLineSteps steps, and adds them to the task's scores and to `public_now`, the public
// rows' current scores. Returns the slopes, output after output.
//
// Guarantee  costs both shares at every step.
StatusOr<std::vector<double>> FitPublicLines(const PublicStart& start, const PublicTerms& terms,
                                             const PrivateLineRows& rows,
                                             const PublicLineShares& shares,
                                             const AnswerQuality& quality, int64_t unit,
                                             BoostTask& task, OutputScores& public_now,
                                             PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_LINES_H_
