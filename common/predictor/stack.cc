#include "common/predictor/stack.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/predictor/weights.h"

namespace coppice {
namespace {

constexpr double kTemperaturePenalty = 0.01;
constexpr double kLevelPenalty = 1000;  // over the number of rows
constexpr double kClassWeightPenalty = 10;
constexpr double kNumberWeightPenalty = 2;

// Log odds below the largest by more than this have no share in a sum of doubles.
double LogSumExp(const double* scores, size_t count) {
  const double largest = *std::max_element(scores, scores + count);
  double sum = 0;
  for (size_t k = 0; k < count; ++k) sum += std::exp(scores[k] - largest);
  return largest + std::log(sum);
}

// The log loss of sum_m w_m X_m + b, plus penalty_m (w_m - centre)^2 and half of `level_penalty`
// times |b|^2. The parameters are the weights, then the levels, if there are any.
//
// With p the probabilities of a row and x_m its scores by learner m, the derivative by w_m is
// p x_m - x_m[label], by b_k p_k - [k = label]. The second derivatives are the covariances of the
// same quantities when the class is drawn from p, which shows that the function is convex; the
// penalties make it strictly so.
class StackLoss : public ConvexLoss {
 public:
  StackLoss(std::vector<const RowScores*> learners, absl::Span<const uint32_t> labels,
            uint32_t classes, double centre, std::vector<double> penalties)
      : learners_(std::move(learners)),
        labels_(labels),
        classes_(classes),
        levels_(classes <= kMostLevels ? classes : 0),
        centre_(centre),
        penalties_(std::move(penalties)),
        level_penalty_(kLevelPenalty / static_cast<double>(labels.size())) {}

  size_t levels() const { return levels_; }

  double Value(absl::Span<const double> weights) const override {
    std::vector<double> scores(classes_);
    double loss = 0;
    for (size_t row = 0; row < labels_.size(); ++row) {
      ScoreRow(row, weights, scores);
      loss += LogSumExp(scores.data(), classes_) - scores[labels_[row]];
    }
    for (size_t m = 0; m < learners_.size(); ++m) {
      loss += penalties_[m] * (weights[m] - centre_) * (weights[m] - centre_);
    }
    for (const double level : weights.subspan(learners_.size())) {
      loss += level_penalty_ / 2 * level * level;
    }
    return loss;
  }

  void Differentiate(absl::Span<const double> weights, std::vector<double>& gradient,
                     std::vector<double>& hessian) const override {
    const size_t learners = learners_.size(), size = weights.size();
    std::vector<double> p(classes_), means(learners);
    for (size_t row = 0; row < labels_.size(); ++row) {
      ScoreRow(row, weights, p);
      const double log_sum = LogSumExp(p.data(), classes_);
      for (double& score : p) score = std::exp(score - log_sum);
      for (size_t m = 0; m < learners; ++m) {
        const double* x = ScoresOf(m, row);
        means[m] = std::inner_product(p.begin(), p.end(), x, 0.0);
        gradient[m] += means[m] - x[labels_[row]];
      }
      AddCovariances(row, p, means, hessian);
      for (size_t k = 0; k < levels_; ++k) {
        gradient[learners + k] += p[k] - (k == labels_[row] ? 1 : 0);
      }
    }
    for (size_t i = 0; i < size; ++i) {
      const bool is_weight = i < learners;
      gradient[i] +=
          is_weight ? 2 * penalties_[i] * (weights[i] - centre_) : level_penalty_ * weights[i];
      hessian[i * size + i] += is_weight ? 2 * penalties_[i] : level_penalty_;
      for (size_t j = 0; j < i; ++j) hessian[j * size + i] = hessian[i * size + j];
    }
  }

 private:
  const double* ScoresOf(size_t learner, size_t row) const {
    return learners_[learner]->data() + row * classes_;
  }

  void ScoreRow(size_t row, absl::Span<const double> weights, std::vector<double>& scores) const {
    const double* levels = weights.data() + learners_.size();
    for (size_t k = 0; k < classes_; ++k) scores[k] = levels_ > 0 ? levels[k] : 0;
    for (size_t m = 0; m < learners_.size(); ++m) {
      const double* x = ScoresOf(m, row);
      for (size_t k = 0; k < classes_; ++k) scores[k] += weights[m] * x[k];
    }
  }

  // Fills the lower half.
  void AddCovariances(size_t row, const std::vector<double>& p, const std::vector<double>& means,
                      std::vector<double>& hessian) const {
    const size_t learners = learners_.size(), size = learners + levels_;
    for (size_t m = 0; m < learners; ++m) {
      const double* x = ScoresOf(m, row);
      for (size_t l = 0; l <= m; ++l) {
        const double* y = ScoresOf(l, row);
        double product = 0;
        for (size_t k = 0; k < classes_; ++k) product += p[k] * x[k] * y[k];
        hessian[m * size + l] += product - means[m] * means[l];
      }
      for (size_t k = 0; k < levels_; ++k) {
        hessian[(learners + k) * size + m] += p[k] * (x[k] - means[m]);
      }
    }
    for (size_t k = 0; k < levels_; ++k) {
      double* of_level = &hessian[(learners + k) * size + learners];
      for (size_t j = 0; j <= k; ++j) of_level[j] -= p[k] * p[j];
      of_level[k] += p[k];
    }
  }

  const std::vector<const RowScores*> learners_;
  const absl::Span<const uint32_t> labels_;
  const size_t classes_, levels_;
  const double centre_;
  const std::vector<double> penalties_;
  const double level_penalty_;
};

// The squared error of sum_m w_m X_m, plus the penalty: half of w H w - 2 w g + constant.
class SquaredLoss : public ConvexLoss {
 public:
  SquaredLoss(const std::vector<const RowScores*>& learners, absl::Span<const double> numbers)
      : size_(learners.size()), products_(size_ * size_), with_numbers_(size_) {
    const double centre = 1 / static_cast<double>(size_);
    for (size_t m = 0; m < size_; ++m) {
      const auto product = [&](const double* other) {
        return 2 * std::inner_product(learners[m]->begin(), learners[m]->end(), other, 0.0);
      };
      for (size_t l = 0; l < size_; ++l) products_[m * size_ + l] = product(learners[l]->data());
      products_[m * size_ + m] += 2 * kNumberWeightPenalty;
      with_numbers_[m] = product(numbers.data()) + 2 * kNumberWeightPenalty * centre;
    }
    constant_ = std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0) +
                kNumberWeightPenalty * centre;
  }

  double Value(absl::Span<const double> weights) const override {
    double value = constant_;
    for (size_t m = 0; m < size_; ++m) {
      value += weights[m] * (ProductWith(weights, m) / 2 - with_numbers_[m]);
    }
    return value;
  }

  void Differentiate(absl::Span<const double> weights, std::vector<double>& gradient,
                     std::vector<double>& hessian) const override {
    for (size_t m = 0; m < size_; ++m) gradient[m] += ProductWith(weights, m) - with_numbers_[m];
    for (size_t i = 0; i < hessian.size(); ++i) hessian[i] += products_[i];
  }

 private:
  double ProductWith(absl::Span<const double> weights, size_t m) const {
    return std::inner_product(weights.begin(), weights.end(), &products_[m * size_], 0.0);
  }

  const size_t size_;
  std::vector<double> products_, with_numbers_;
  double constant_ = 0;
};

StackWeights Split(std::vector<double> solution, size_t learners, uint32_t classes) {
  const auto end = solution.begin() + static_cast<std::ptrdiff_t>(learners);
  StackWeights stack{.weights = {solution.begin(), end}, .level = {end, solution.end()}};
  stack.level.resize(classes);
  return stack;
}

// Whether every row has the scores of the first, up to rounding.
bool AreAllAlike(const RowScores& scores, size_t columns) {
  constexpr double kAlike = 1e-12;
  for (size_t i = columns; i < scores.size(); ++i) {
    if (std::abs(scores[i] - scores[i % columns]) > kAlike) return false;
  }
  return true;
}

}  // namespace

void CentreScores(size_t columns, RowScores& scores) {
  for (size_t row = 0; row < scores.size(); row += columns) {
    const double mean =
        std::accumulate(&scores[row], &scores[row] + columns, 0.0) / static_cast<double>(columns);
    for (size_t k = 0; k < columns; ++k) scores[row + k] -= mean;
  }
}

Calibration Calibrate(const RowScores& scores, absl::Span<const uint32_t> labels,
                      uint32_t classes) {
  const RowScores nothing(scores.size());
  const bool is_constant = AreAllAlike(scores, classes);
  const double mean_square = std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.0) /
                             static_cast<double>(scores.size());
  const StackLoss loss({is_constant ? &nothing : &scores}, labels, classes, /*centre=*/0,
                       {is_constant ? 1 : kTemperaturePenalty * mean_square});
  std::vector<double> start(1 + loss.levels());
  start[0] = is_constant ? 0 : 1 / std::sqrt(mean_square);
  const StackWeights fitted = Split(Minimize(loss, std::move(start), 1), 1, classes);
  return {.temperature = fitted.weights[0], .level = fitted.level};
}

RowScores Calibrated(const Calibration& calibration, const RowScores& scores) {
  RowScores calibrated = scores;
  const size_t classes = calibration.level.size();
  for (size_t i = 0; i < scores.size(); ++i) {
    calibrated[i] = calibration.temperature * scores[i] + calibration.level[i % classes];
  }
  CentreScores(classes, calibrated);
  return calibrated;
}

StackWeights StackClasses(const std::vector<const RowScores*>& learners,
                          absl::Span<const uint32_t> labels, uint32_t classes) {
  const double equal = 1 / static_cast<double>(learners.size());
  const StackLoss loss(learners, labels, classes, equal,
                       std::vector<double>(learners.size(), kClassWeightPenalty));
  std::vector<double> start(learners.size() + loss.levels());
  std::fill_n(start.begin(), learners.size(), equal);
  return Split(Minimize(loss, std::move(start), learners.size()), learners.size(), classes);
}

StackWeights StackNumbers(const std::vector<const RowScores*>& learners,
                          absl::Span<const double> numbers) {
  const size_t size = learners.size();
  return {.weights = Minimize(SquaredLoss(learners, numbers),
                              std::vector<double>(size, 1 / static_cast<double>(size)), size),
          .level = {0}};
}

RowScores Stacked(const StackWeights& stack, const std::vector<const RowScores*>& learners) {
  RowScores stacked(learners[0]->size());
  const size_t columns = stack.level.size();
  for (size_t i = 0; i < stacked.size(); ++i) {
    stacked[i] = stack.level[i % columns];
    for (size_t m = 0; m < learners.size(); ++m) stacked[i] += stack.weights[m] * (*learners[m])[i];
  }
  if (columns > 1) CentreScores(columns, stacked);
  return stacked;
}

double MeanLogLoss(const RowScores& scores, absl::Span<const uint32_t> labels, uint32_t classes) {
  double loss = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const double* of_row = &scores[row * classes];
    loss += LogSumExp(of_row, classes) - of_row[labels[row]];
  }
  return loss / static_cast<double>(labels.size());
}

double MeanSquaredError(const RowScores& scores, absl::Span<const double> numbers) {
  double squares = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    squares += (scores[i] - numbers[i]) * (scores[i] - numbers[i]);
  }
  return squares / static_cast<double>(numbers.size());
}

}  // namespace coppice
