#include "server/research/one_hot.h"

#include <cmath>
#include <numeric>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/bins.h"

namespace coppice::research {
namespace {

constexpr uint32_t kOneHotCuts = 9;
constexpr double kOneHotTolerance = 1e-6;  // of the gradient's length
constexpr int kOneHotSteps = 100'000;

// The gradient of the objective at `weights`.
std::vector<double> GradientOf(const OneHotRows& rows, absl::Span<const uint32_t> labels,
                               absl::Span<const uint32_t> positions,
                               const LogisticObjective& objective,
                               const std::vector<double>& weights) {
  std::vector<double> gradient(weights.size());
  for (const uint32_t row : positions) {
    const double p = 1 / (1 + std::exp(-rows.Logit(weights, row)));
    const double part = (p - labels[row]) * rows.value() / static_cast<double>(positions.size());
    for (const uint32_t column : rows.of(row)) gradient[column] += part;
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    gradient[i] += objective.penalty * weights[i];
    if (!objective.tilt.empty()) gradient[i] += objective.tilt[i];
  }
  return gradient;
}

}  // namespace

StatusOr<OneHotRows> OneHotRows::Create(const Table& rows) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<trainers::FeatureBins> bins,
                           trainers::PublicBins(rows.schema(), kOneHotCuts));
  COPPICE_ASSIGN_OR_RETURN(const trainers::BinnedRows binned,
                           trainers::BinnedRows::Create(rows, std::move(bins)));
  OneHotRows made;
  made.columns_ = binned.num_features() + 1;
  made.value_ = 1 / std::sqrt(static_cast<double>(made.columns_));
  made.ones_.resize(binned.num_rows() * made.columns_);
  for (size_t f = 0; f < binned.num_features(); ++f) {
    for (size_t row = 0; row < binned.num_rows(); ++row) {
      made.ones_[row * made.columns_ + f] =
          static_cast<uint32_t>(made.dimension_ + binned.column(f)[row]);
    }
    made.dimension_ += binned.bins()[f].size();
  }
  for (size_t row = 0; row < binned.num_rows(); ++row) {
    made.ones_[(row + 1) * made.columns_ - 1] = static_cast<uint32_t>(made.dimension_);
  }
  ++made.dimension_;
  return made;
}

double OneHotRows::Logit(absl::Span<const double> weights, size_t row) const {
  double sum = 0;
  for (const uint32_t column : of(row)) sum += weights[column];
  return sum * value_;
}

// Nesterov's descent: the loss of rows of length 1 is 1/4-smooth and the penalty makes it strongly
// convex, so the error falls by 1 - sqrt(penalty / smooth) a step.
StatusOr<std::vector<double>> FitLogistic(const OneHotRows& rows, absl::Span<const uint32_t> labels,
                                          absl::Span<const uint32_t> positions,
                                          const LogisticObjective& objective) {
  const double smooth = 0.25 + objective.penalty, root = std::sqrt(objective.penalty / smooth);
  const double momentum = (1 - root) / (1 + root);
  std::vector<double> weights(rows.dimension()), ahead = weights;
  for (int step = 0; step < kOneHotSteps; ++step) {
    const std::vector<double> gradient = GradientOf(rows, labels, positions, objective, ahead);
    const double squares =
        std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0);
    if (squares <= kOneHotTolerance * kOneHotTolerance) return ahead;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double next = ahead[i] - gradient[i] / smooth;
      ahead[i] = next + momentum * (next - weights[i]);
      weights[i] = next;
    }
  }
  return InternalError("logistic regression: the descent did not reach its tolerance");
}

StatusOr<Answers> AnswerByLogit(const Table& asked, absl::Span<const double> weights) {
  COPPICE_ASSIGN_OR_RETURN(const OneHotRows rows, OneHotRows::Create(asked));
  Answers answers(2, rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const double p = 1 / (1 + std::exp(-rows.Logit(weights, row)));
    answers.of(row)[0] = 1 - p;
    answers.of(row)[1] = p;
  }
  return answers;
}

}  // namespace coppice::research
