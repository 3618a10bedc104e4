#include "server/curator/estimation/correction/number_answers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace coppice::curator {
namespace {

// Residuals to expect an answer by: a quarter of the public rows, which follows how errors grow
// with numbers, but enough to have seen the tails, and not more than it takes.
constexpr size_t kLeastResiduals = 40;
constexpr size_t kMostResiduals = 100;
constexpr double kLeastError = 1e-9;  // in spans of the target

}  // namespace

NumberResiduals::NumberResiduals(const Table& public_rows, absl::Span<const double> held_out) {
  const Target& target = *public_rows.schema().target();
  if (held_out.empty()) {
    error_ = target.span() / 4;
    return;
  }
  std::vector<size_t> order(held_out.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [held_out](size_t a, size_t b) { return held_out[a] < held_out[b]; });
  double squares = 0;
  sum_.push_back(0);
  for (const size_t row : order) {
    predicted_.push_back(held_out[row]);
    residual_.push_back(public_rows.target(row) - held_out[row]);
    sum_.push_back(sum_.back() + residual_.back());
    squares += residual_.back() * residual_.back();
  }
  error_ =
      std::max(std::sqrt(squares / static_cast<double>(order.size())), kLeastError * target.span());
}

NumberResiduals::Near NumberResiduals::NearestTo(double predicted) const {
  const size_t rows = predicted_.size();
  const size_t count = std::min(rows, std::clamp(rows / 4, kLeastResiduals, kMostResiduals));
  const auto [low, high] = std::equal_range(predicted_.begin(), predicted_.end(), predicted);
  const auto middle =
      static_cast<size_t>((low - predicted_.begin()) + (high - predicted_.begin())) / 2;
  const size_t first = std::min(middle - std::min(middle, count / 2), rows - count);
  return {.first = first,
          .count = count,
          .mean = count > 0 ? (sum_[first + count] - sum_[first]) / static_cast<double>(count) : 0};
}

double NumberResiduals::ExpectedIn(const NumberRange& range, double predicted) const {
  if (predicted_.empty()) return predicted;
  const Near near = NearestTo(predicted);
  double cut = 0;
  for (size_t i = near.first; i < near.first + near.count; ++i) {
    const double number = predicted + residual_[i] - near.mean;
    cut += std::clamp(number, range.low, range.high) - number;
  }
  return std::clamp(predicted + cut / static_cast<double>(near.count), range.low, range.high);
}

double NumberResiduals::ShareWithin(const NumberRange& range, double predicted) const {
  if (predicted_.empty()) return 1;
  const Near near = NearestTo(predicted);
  double within = 0;
  for (size_t i = near.first; i < near.first + near.count; ++i) {
    const double number = predicted + residual_[i] - near.mean;
    within += number > range.low && number < range.high ? 1 : 0;
  }
  return within / static_cast<double>(near.count);
}

NumberPlaces PlaceNumbers(const NumberRange& range, const NumberResiduals& residuals,
                          absl::Span<const double> predicted) {
  NumberPlaces places;
  for (const double number : predicted) {
    places.of_row.push_back((residuals.ExpectedIn(range, number) - range.low) / range.width());
    places.per_number += residuals.ShareWithin(range, number) / range.width();
  }
  places.per_number /= static_cast<double>(predicted.size());
  return places;
}

}  // namespace coppice::curator
