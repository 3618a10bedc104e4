#include "server/trainers/boosting/step_prior.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace coppice::trainers {
namespace {

// The deviations of steps that are weighed, around the likeliest before any sum is seen. Found, as
// all of these, on the development tables of docs/research/auto.md.
constexpr std::array<double, 8> kStepWidths = {.03, .06, .12, .25, .5, 1, 2, 4};
constexpr double kLikeliestWidth = 0.12, kSpreadOfWidths = 1.5;  // the latter of the logarithm
constexpr double kMemory = 0.5;                                  // of a level at the next
// Of residuals' absolute sum: how fast residuals fall as scores rise, and of that their variance.
// Nine numbers in ten have residuals that are not cut.
constexpr double kClassSlope = 0.5, kClassVariance = 0.5;
constexpr double kNumberSlope = 0.9, kNumberVariance = 0.3;
constexpr double kLeastSlope = 0.1;  // in deviations of the noise
constexpr double kMostClassStep = 2, kMostNumberStep = 1;

}  // namespace

StepPrior::StepPrior(const ResidualKind& kind, int64_t unit)
    : outputs_(kind.outputs), is_number_(kind.whole > 0), unit_(static_cast<double>(unit)) {
  static_assert(kStepWidths.size() == kWidths);
  for (size_t i = 0; i < kWidths; ++i) {
    const double off = std::log(kStepWidths[i] / kLikeliestWidth) / kSpreadOfWidths;
    start_[i] = -off * off / 2;
  }
  likelihood_ = start_;
}

std::vector<StepPrior::Cell> StepPrior::CellsOf(const Measurement& level) const {
  const double deviation = level.scale * std::numbers::sqrt2 / unit_;
  std::vector<Cell> cells;
  for (size_t at = 0; at < level.sums.size(); at += size_t{2} * outputs_) {
    for (size_t output = 0; output < outputs_; ++output) {
      const double positive = static_cast<double>(level.sums[at + output]) / unit_;
      const double negative = static_cast<double>(level.sums[at + outputs_ + output]) / unit_;
      const double slope =
          std::max((is_number_ ? kNumberSlope : kClassSlope) * (positive + negative),
                   kLeastSlope * deviation + 1e-9);
      cells.push_back({.sum = positive - negative,
                       .slope = slope,
                       .variance = 2 * deviation * deviation +
                                   (is_number_ ? kNumberVariance : kClassVariance) * slope});
    }
  }
  return cells;
}

void StepPrior::Observe(const Measurement& level) {
  const std::vector<Cell> cells = CellsOf(level);
  for (size_t i = 0; i < kWidths; ++i) {
    likelihood_[i] = start_[i] + kMemory * (likelihood_[i] - start_[i]);
    for (const Cell& cell : cells) {
      const double moved = cell.slope * kStepWidths[i];
      const double variance = cell.variance + moved * moved;
      likelihood_[i] -= std::log(variance) / 2 + cell.sum * cell.sum / (2 * variance);
    }
  }
}

std::vector<double> StepPrior::Steps(const Measurement& level) const {
  std::array<double, kWidths> weights{};
  const double most = *std::max_element(likelihood_.begin(), likelihood_.end());
  double total = 0;
  for (size_t i = 0; i < kWidths; ++i) total += weights[i] = std::exp(likelihood_[i] - most);
  const double limit = is_number_ ? kMostNumberStep : kMostClassStep;
  const double classes = outputs_ > 1 ? (outputs_ - 1.0) / outputs_ : 1;
  std::vector<double> steps;
  for (const Cell& cell : CellsOf(level)) {
    double factor = 0;
    for (size_t i = 0; i < kWidths; ++i) {
      const double width = kStepWidths[i];
      factor += weights[i] / total * cell.slope /
                (cell.slope * cell.slope + cell.variance / (width * width));
    }
    steps.push_back(std::clamp(classes * factor * cell.sum, -limit, limit));
  }
  return steps;
}

}  // namespace coppice::trainers
