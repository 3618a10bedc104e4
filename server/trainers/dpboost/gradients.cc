#include "server/trainers/dpboost/gradients.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/check_finite.h"
#include "server/trainers/core/noise_of_sums.h"

namespace coppice::trainers {
namespace {

// The difference of a label in [-1, 1] and its score never reaches this.
constexpr double kAnyDifference = 8;

// Rounds a residual in units of g* to the nearest step.
int32_t OnGrid(double residual) {
  const double steps = std::clamp(residual, -1.0, 1.0) * static_cast<double>(kResidualSteps);
  return static_cast<int32_t>(steps + std::copysign(0.5, steps));
}

}  // namespace

Gradients::Gradients(const BinnedRows& rows, GradientLoss loss, Filtering filtering)
    : rows_(rows), loss_(loss), filtering_(filtering) {
  const uint32_t classes = rows.num_classes();
  const size_t outputs = loss == GradientLoss::kLogistic && classes > 2 ? classes : 1;
  scores_.assign(outputs, std::vector<double>(rows.num_rows(), 0.0));
  if (loss == GradientLoss::kSquare) {
    bound_ = step_ = filtering == Filtering::kNone ? kAnyDifference : 1;
    return;
  }
  // The second derivative is at most 1/4: four times a residual is a safe step for the log-odds,
  // which are the difference of two outputs.
  const double at_start = 1 - 1.0 / classes;
  bound_ = filtering == Filtering::kNone ? 1 : at_start;
  step_ = (classes > 2 ? 4 * at_start : 4) * bound_;
}

RowResiduals Gradients::Of(absl::Span<const uint32_t> rows) const {
  const size_t outputs = scores_.size();
  RowResiduals seen{
      .rows = std::vector<uint32_t>(rows.size()),
      .values = std::vector<std::vector<int32_t>>(outputs, std::vector<int32_t>(rows.size()))};
  std::vector<int32_t> residuals(outputs);
  size_t count = 0;
  for (const uint32_t row : rows) {
    const bool counts =
        outputs == 1 ? FillOne(row, residuals[0]) : FillClasses(row, absl::MakeSpan(residuals));
    seen.rows[count] = row;
    for (size_t k = 0; k < outputs; ++k) seen.values[k][count] = residuals[k];
    count += counts ? 1 : 0;
  }
  seen.rows.resize(count);
  for (std::vector<int32_t>& values : seen.values) values.resize(count);
  return seen;
}

bool Gradients::FillOne(uint32_t row, int32_t& residual) const {
  const double score = scores_[0][row];
  double wants = 0;
  if (rows_.regression()) {
    wants = 2.0 * rows_.targets()[row] / kTargetSteps - 1 - score;
  } else {
    const uint32_t label = rows_.labels()[row];
    if (label == kUnlabelled) return false;
    const auto is_second = static_cast<double>(label == 1);
    wants = loss_ == GradientLoss::kSquare ? 2 * is_second - 1 - score
                                           : is_second - 1 / (1 + std::exp(-score));
  }
  if (filtering_ == Filtering::kDrop && std::abs(wants) > bound_) return false;
  residual = OnGrid(wants / bound_);
  return true;
}

// The other classes' parts are rounded towards zero and the record's own is their sum, so the bound
// holds in whole numbers, whatever floating point did.
bool Gradients::FillClasses(uint32_t row, absl::Span<int32_t> residuals) const {
  const size_t classes = scores_.size();
  const uint32_t label = rows_.labels()[row];
  if (label == kUnlabelled) return false;
  double most = scores_[0][row], total = 0, others = 0;
  for (size_t k = 1; k < classes; ++k) most = std::max(most, scores_[k][row]);
  for (size_t k = 0; k < classes; ++k) {
    const double weight = std::exp(scores_[k][row] - most);
    total += weight;
    if (k != label) others += weight;
  }
  others /= total;
  constexpr double kRounding = 1e-9;  // at the start all residuals are g* itself
  if (filtering_ == Filtering::kDrop && others > bound_ + kRounding) return false;
  const double scale = 1 / std::max(others, bound_);
  int64_t left = kResidualSteps;
  int64_t own = 0;
  for (size_t k = 0; k < classes; ++k) {
    if (k == label) continue;
    const double share = std::exp(scores_[k][row] - most) / total * scale;
    const auto steps = std::min(
        static_cast<int64_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(kResidualSteps)),
        left);
    residuals[k] = static_cast<int32_t>(-steps);
    left -= steps;
    own += steps;
  }
  residuals[label] = static_cast<int32_t>(own);
  return true;
}

Status Gradients::Add(absl::Span<const uint32_t> rows, absl::Span<const double> value) {
  COPPICE_RETURN_IF_ERROR(CheckFinite(value));
  for (size_t k = 0; k < scores_.size(); ++k) {
    const double step = step_ * value[k];
    for (const uint32_t row : rows) scores_[k][row] += step;
  }
  return OkStatus();
}

std::vector<OutputNoise> Gradients::OutputsNoise(absl::Span<const OutputNoise> noise) const {
  if (noise.size() == 1) return {Scaled(noise[0], -step_ / 2), Scaled(noise[0], step_ / 2)};
  std::vector<OutputNoise> outputs;
  for (const OutputNoise& of_output : noise) outputs.push_back(Scaled(of_output, step_));
  return outputs;
}

std::vector<double> Gradients::ToOutputs(absl::Span<const double> value) const {
  std::vector<double> outputs;
  for (const double of_output : value) outputs.push_back(step_ * of_output);
  if (outputs.size() > 1) return outputs;
  // Two classes' softmax is the logistic function of their difference. A square loss' score is
  // already the difference of probabilities; only its sign is needed, so its scale does not matter.
  return {-outputs[0] / 2, outputs[0] / 2};
}

}  // namespace coppice::trainers
