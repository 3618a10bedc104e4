#include "server/trainers/boosting/number_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

constexpr uint32_t kMiddles = 512;  // steps of the grid of medians
constexpr uint32_t kReaches = 64;   // of the geometric grid of distances
constexpr double kMinReach = 1.0 / 512;
// In noise scales: smaller differences of the last step's two sums do not count as a bias.
constexpr double kLastThreshold = 6;

// Rows times epsilon that a mean, or a reach, should be worth, within these parts of the budget.
constexpr double kScaleInformation = 25;
constexpr double kMinScaleShare = 0.05;
constexpr double kMaxScaleShare = 0.25;
constexpr double kEnoughForLastStep = 800;
constexpr double kCentreVariance = 0.16;  // the prior's, for means in units of half the range

std::vector<double> MiddleGrid() {
  std::vector<double> grid;
  for (uint32_t i = 0; i <= kMiddles; ++i) {
    grid.push_back(static_cast<double>(kTargetSteps) * i / kMiddles);
  }
  return grid;
}

std::vector<double> ReachGrid() {
  std::vector<double> grid;
  for (uint32_t i = 0; i < kReaches; ++i) {
    grid.push_back(kTargetSteps * std::pow(kMinReach, 1 - i / (kReaches - 1.0)));
  }
  return grid;
}

struct Fraction {
  int64_t part = 1;
  int64_t whole = 2;
};
uint64_t RangeOf(const Fraction& quantile) {
  return static_cast<uint64_t>(2 * std::max(quantile.part, quantile.whole - quantile.part));
}

constexpr Fraction kMedian = {.part = 1, .whole = 2};
// 98 %: with 90 % too much is cut, and the largest number is one row's own.
constexpr Fraction kReachQuantile = {.part = 49, .whole = 50};

// Returns the cut of `grid` nearest to a quantile of `values`. Each cut's score is `preference`
// lower than that of the one before: a public number.
StatusOr<double> Quantile(std::vector<double> values, const std::vector<double>& grid,
                          const Fraction& quantile, int64_t preference, const BudgetShare& share,
                          PrivateReleaser& releaser) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<int64_t>(values.size());
  std::vector<int64_t> scores;
  for (const double cut : grid) {
    const int64_t rank = std::upper_bound(values.begin(), values.end(), cut) - values.begin();
    const auto place = static_cast<int64_t>(scores.size());
    scores.push_back(-std::abs(quantile.whole * rank - quantile.part * count) - place * preference);
  }
  COPPICE_ASSIGN_OR_RETURN(const size_t chosen, releaser.Select(scores, share, RangeOf(quantile)));
  return grid[chosen];
}

// Beyond the largest distance all reaches score alike, and there may be many: a smaller one is
// preferred, by so much that noise seldom makes up for a few steps; but never by more than a part
// of what separates the quantile from nothing, which grows with the rows.
int64_t PreferenceForSmall(const BudgetShare& share, double rows) {
  constexpr double kNats = 0.3;  // per step
  constexpr double kMaxOfEvidence = 0.25;
  const Budget epsilon = share.is_concentrated() ? share.rho().ForSelection() : share.budget();
  const double by_noise = kNats * static_cast<double>(RangeOf(kReachQuantile)) / epsilon.epsilon();
  const double by_rows = kMaxOfEvidence * kReachQuantile.part * std::max(rows, 0.0) / kReaches;
  return std::llround(std::min(by_noise, by_rows));
}

double ScaleShare(double information) {
  return std::clamp(kScaleInformation / information, kMinScaleShare, kMaxScaleShare);
}

double WeightOf(double variance) { return 1 / std::max(variance, 1e-12); }

// Returns the step from the sums of the amounts by which rows exceed, or miss, their predictions.
double StepOf(const Measurement& measured, const NumberScale& scale) {
  const double all = static_cast<double>(measured.sums[0]) + static_cast<double>(measured.sums[1]);
  if (!(all > 0)) return 0;
  const double bias =
      (static_cast<double>(measured.sums[0]) - static_cast<double>(measured.sums[1])) / all;
  const double sure = std::min(std::abs(bias), 1.0) - kLastThreshold * measured.scale / all;
  return 2 * scale.reach * std::copysign(std::max(sure, 0.0), bias);
}

}  // namespace

StatusOr<NumberShares> DivideForNumbers(const BudgetShare& whole) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares middle, Divide(whole, 0.05));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares reach, Divide(middle.rest, 0.05 / 0.95));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares last, Divide(reach.rest, 0.03 / 0.90));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares first, Divide(last.rest, 0.01));
  return NumberShares{.middle = middle.part,
                      .reach = reach.part,
                      .first = first.part,
                      .trees = first.rest,
                      .last = last.part};
}

StatusOr<NumberScale> ReleaseNumberScale(absl::Span<const uint32_t> targets, double rows,
                                         const BudgetShare& middle, const BudgetShare& reach,
                                         PrivateReleaser& releaser) {
  NumberScale scale;
  COPPICE_ASSIGN_OR_RETURN(scale.middle, Quantile({targets.begin(), targets.end()}, MiddleGrid(),
                                                  kMedian, 0, middle, releaser));
  COPPICE_ASSIGN_OR_RETURN(scale.reach, ReleaseReach(targets, rows, scale.middle, reach, releaser));
  return scale;
}

StatusOr<double> ReleaseReach(absl::Span<const uint32_t> targets, double rows, double middle,
                              const BudgetShare& share, PrivateReleaser& releaser) {
  std::vector<double> distances;
  distances.reserve(targets.size());
  for (const uint32_t target : targets) distances.push_back(std::abs(target - middle));
  COPPICE_ASSIGN_OR_RETURN(const double reach,
                           Quantile(std::move(distances), ReachGrid(), kReachQuantile,
                                    PreferenceForSmall(share, rows), share, releaser));
  return std::max(reach, 2 * kMinReach * kTargetSteps);
}

double SecondCentreShare(double information) {
  constexpr double kMin = 0.001;
  const double share = ScaleShare(information) - kCentreShare;
  return share > kMin ? share : 0;
}

StatusOr<FewNumberShares> DivideForFewNumbers(const BudgetShare& rest, double information) {
  constexpr double kLast = 0.03, kFirst = 0.01, kFirstWithoutLast = 0.03;
  COPPICE_ASSIGN_OR_RETURN(const TwoShares reach, Divide(rest, ScaleShare(information)));
  if (information < kEnoughForLastStep) {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares first, Divide(reach.rest, kFirstWithoutLast));
    return FewNumberShares{.reach = reach.part, .first = first.part, .trees = first.rest};
  }
  COPPICE_ASSIGN_OR_RETURN(const TwoShares last, Divide(reach.rest, kLast));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares first, Divide(last.rest, kFirst));
  return FewNumberShares{
      .reach = reach.part, .first = first.part, .trees = first.rest, .last = last.part};
}

StatusOr<NumberCentre> NumberCentre::Create(absl::Span<const uint32_t> targets, double rows,
                                            const BudgetShare& count, uint32_t unit) {
  COPPICE_ASSIGN_OR_RETURN(const double scale, NoiseScale({.l1 = 1, .l2_squared = 1}, count));
  const double weight = WeightOf(2 * scale * scale);
  return NumberCentre(targets, {.rows = rows * weight, .weight_of_rows = weight}, unit);
}

Status NumberCentre::Release(const BudgetShare& share, PrivateReleaser& releaser) {
  std::vector<int64_t> sums(2);
  for (const uint32_t target : targets_) {
    const uint64_t above = uint64_t{target} * unit_ / kTargetSteps;
    sums[0] += static_cast<int64_t>(above);
    sums[1] += static_cast<int64_t>(unit_ - above);
  }
  const uint64_t row = unit_;
  COPPICE_ASSIGN_OR_RETURN(last_,
                           releaser.Measure(sums, {.l1 = row, .l2_squared = row * row}, share));
  before_last_ = pooled_;
  pooled_ = With(pooled_, last_);
  return OkStatus();
}

OutputNoise NumberCentre::NoiseOfMiddle(const PrivateReleaser& releaser) const {
  const auto middles = [this](const Measurement& measured) -> std::vector<double> {
    return {MiddleOf(With(before_last_, measured))};
  };
  return releaser.NoiseOf(last_, middles,
                          [&] { return NoiseBySimulation(last_, {middle()}, middles); })[0];
}

// The sum or difference of two sums has twice the variance of each.
NumberCentre::Pooled NumberCentre::With(Pooled pooled, const Measurement& measured) const {
  const double scale = measured.scale / unit_;
  const double weight = WeightOf(2 * 2 * scale * scale);
  const double above = static_cast<double>(measured.sums[0]) / unit_;
  const double below = static_cast<double>(measured.sums[1]) / unit_;
  pooled.rows += weight * (above + below);
  pooled.weight_of_rows += weight;
  pooled.off_middle += weight * (above - below);
  pooled.weight_of_off += weight;
  return pooled;
}

double NumberCentre::RowsOf(const Pooled& pooled) {
  return std::max(pooled.rows / pooled.weight_of_rows, 1.0);
}

double NumberCentre::MiddleOf(const Pooled& pooled) {
  constexpr double kMost = 1.5;
  const double rows = RowsOf(pooled);
  const double mean = std::clamp(pooled.off_middle / pooled.weight_of_off / rows, -kMost, kMost);
  const double noise = 1 / pooled.weight_of_off / (rows * rows);
  const double drawn = std::clamp(mean * kCentreVariance / (kCentreVariance + noise), -1.0, 1.0);
  return kTargetSteps / 2.0 * (1 + drawn);
}

StatusOr<LastStep> ReleaseLastStep(absl::Span<const uint32_t> targets,
                                   absl::Span<const double> scores, const NumberScale& scale,
                                   const BudgetShare& share, PrivateReleaser& releaser) {
  std::vector<int64_t> sums(2);
  for (size_t row = 0; row < targets.size(); ++row) {
    const double predicted =
        std::clamp(scale.middle + scale.reach * scores[row], 0.0, 1.0 * kTargetSteps);
    const double off = std::clamp((targets[row] - predicted) / (2 * scale.reach), -1.0, 1.0);
    const int64_t above = std::llround((1 + off) / 2 * kResidualUnit);
    sums[0] += above;
    sums[1] += kResidualUnit - above;
  }
  COPPICE_ASSIGN_OR_RETURN(
      const Measurement measured,
      releaser.Measure(sums, {.l1 = kResidualUnit, .l2_squared = kResidualUnit * kResidualUnit},
                       share));
  const double step = StepOf(measured, scale);
  const auto steps = [&](const Measurement& before) -> std::vector<double> {
    return {StepOf(before, scale)};
  };
  const std::vector<OutputNoise> noise =
      releaser.NoiseOf(measured, steps, [&] { return NoiseBySimulation(measured, {step}, steps); });
  return LastStep{.value = step, .noise = noise[0]};
}

}  // namespace coppice::trainers
