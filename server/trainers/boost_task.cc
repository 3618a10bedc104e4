#include "server/trainers/boost_task.h"

#include <algorithm>
#include <cmath>

#include "common/data/table.h"
#include "server/trainers/bins.h"

namespace coppice {
namespace {

constexpr double kSmoothing = 1.5 * 1.4142135623730951;  // noise scales: 1.5 standard deviations
constexpr double kMostStep = 10;
constexpr double kNumberStep = 0.4;

int32_t OnGrid(double x, int64_t unit, int64_t most) {
  if (!(x > 0)) return 0;  // and not a number
  return static_cast<int32_t>(std::min<int64_t>(std::llround(x * static_cast<double>(unit)), most));
}

double LogRatio(double positive, double negative, double smoothing) {
  return std::clamp(
      std::log((std::max(positive, 0.0) + smoothing) / (std::max(negative, 0.0) + smoothing)),
      -kMostStep, kMostStep);
}

// Without noise a little is added all the same, or an empty side would be infinitely sure.
double Smoothing(const ChildSums& measured, int64_t unit) {
  return measured.scale > 0 ? kSmoothing * measured.scale : static_cast<double>(unit) / 2;
}

// One score, the log-odds of the second class. |y - p|, at most 1/2.
class TwoClasses final : public BoostTask {
 public:
  TwoClasses(absl::Span<const uint32_t> labels, int64_t unit)
      : BoostTask(1, labels.size(), unit), labels_(labels) {}

  ResidualKind kind() const override {
    return {.range = halves(2),
            .sensitivity = {.l1 = halves(1), .l2_squared = halves(1) * halves(1)},
            .multiway = 1};
  }
  void Fill(Residuals& residuals) const override {
    for (size_t row = 0; row < labels_.size(); ++row) {
      const double p = 1 / (1 + std::exp(-scores_[0][row]));
      residuals[0][row] = labels_[row] == kUnlabelled ? 0
                          : labels_[row] == 1         ? OnGrid(1 - p, unit_, half())
                                                      : -OnGrid(p, unit_, half());
    }
  }
  void Value(const ChildSums& measured, absl::Span<double> value) const override {
    const double smoothing = Smoothing(measured, unit_);
    value[0] = LogRatio(static_cast<double>(measured.positive[0]),
                        static_cast<double>(measured.negative[0]), smoothing);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return {-scores[0] / 2, scores[0] / 2};
  }

 private:
  absl::Span<const uint32_t> labels_;
};

// One score a class. The residuals' L1 norm is at most 1.
class SeveralClasses final : public BoostTask {
 public:
  SeveralClasses(absl::Span<const uint32_t> labels, uint32_t classes, int64_t unit)
      : BoostTask(classes, labels.size(), unit), labels_(labels), classes_(classes) {}

  ResidualKind kind() const override {
    return {.outputs = classes_,
            .range = halves(4),
            .sensitivity = {.l1 = halves(2), .l2_squared = 2 * halves(1) * halves(1)},
            .multiway = 2};
  }
  void Fill(Residuals& residuals) const override {
    std::vector<double> p(classes_);
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] == kUnlabelled) {
        for (auto& of_class : residuals) of_class[row] = 0;
        continue;
      }
      Softmax(row, p);
      const double others = 1 - p[labels_[row]];
      const double scale = others > 0 ? std::min(1.0, 0.5 / others) : 1;
      FillRow(row, p, scale, residuals);
    }
  }
  void Value(const ChildSums& measured, absl::Span<double> value) const override {
    const double smoothing = Smoothing(measured, unit_);
    for (uint32_t k = 0; k < classes_; ++k) {
      value[k] = (classes_ - 1.0) / classes_ *
                 LogRatio(static_cast<double>(measured.positive[k]),
                          static_cast<double>(measured.negative[k]), smoothing);
    }
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return {scores.begin(), scores.end()};
  }

 private:
  void Softmax(size_t row, std::vector<double>& p) const {
    double most = scores_[0][row];
    for (uint32_t k = 1; k < classes_; ++k) most = std::max(most, scores_[k][row]);
    double total = 0;
    for (uint32_t k = 0; k < classes_; ++k) total += p[k] = std::exp(scores_[k][row] - most);
    for (double& x : p) x /= total;
  }

  // The other classes' shares are rounded down and add up to half a unit at most; the row's own
  // class gets their sum: the norm is a unit at most, whatever floating point did.
  void FillRow(size_t row, const std::vector<double>& p, double scale, Residuals& residuals) const {
    const uint32_t label = labels_[row];
    int64_t sum = 0, largest = -1;
    uint32_t place = 0;
    for (uint32_t k = 0; k < classes_; ++k) {
      if (k == label) continue;
      const auto share = static_cast<int64_t>(
          std::floor(std::clamp(scale * p[k], 0.0, 0.5) * static_cast<double>(unit_)));
      residuals[k][row] = static_cast<int32_t>(-share);
      sum += share;
      if (share > largest) {
        largest = share;
        place = k;
      }
    }
    if (sum > half()) {
      const int64_t excess = std::min(sum - half(), largest);
      residuals[place][row] += static_cast<int32_t>(excess);
      sum -= excess;
    }
    residuals[label][row] = static_cast<int32_t>(std::min(sum, half()));
  }

  absl::Span<const uint32_t> labels_;
  uint32_t classes_;
};

// A number, centred and scaled by released values: the score is in [-1, 1] of the scale.
class Numbers final : public BoostTask {
 public:
  // `middle` and `reach` in steps of the target's range.
  Numbers(absl::Span<const uint32_t> targets, double middle, double reach, int64_t unit)
      : BoostTask(1, targets.size(), unit), targets_(targets), middle_(middle), reach_(reach) {}

  ResidualKind kind() const override {
    return {.whole = unit_,
            .range = halves(4),
            .sensitivity = {.l1 = halves(2), .l2_squared = halves(2) * halves(2)},
            .multiway = 1};
  }
  void Fill(Residuals& residuals) const override {
    for (size_t row = 0; row < targets_.size(); ++row) {
      const double wanted = std::clamp((targets_[row] - middle_) / reach_, -1.0, 1.0);
      const double q = std::clamp((wanted - scores_[0][row]) / kNumberStep, -1.0, 1.0);
      residuals[0][row] = q < 0 ? -OnGrid(-q, unit_, unit_) : OnGrid(q, unit_, unit_);
    }
  }
  void Value(const ChildSums& measured, absl::Span<double> value) const override {
    const auto positive = static_cast<double>(measured.positive[0]);
    const auto negative = static_cast<double>(measured.negative[0]);
    const double smoothing = 2 * kSmoothing * measured.scale + 1;
    value[0] = kNumberStep *
               std::clamp((positive - negative) / (std::max(positive + negative, 0.0) + smoothing),
                          -1.0, 1.0);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    const double place = scores[0] * reach_ / kTargetSteps;
    return {-place, place};
  }

 private:
  absl::Span<const uint32_t> targets_;
  double middle_, reach_;
};

}  // namespace

void BoostTask::Add(absl::Span<const uint32_t> child_of_row,
                    const std::vector<std::vector<double>>& values) {
  for (size_t output = 0; output < scores_.size(); ++output) {
    for (size_t row = 0; row < child_of_row.size(); ++row) {
      scores_[output][row] += values[child_of_row[row]][output];
    }
  }
}

std::unique_ptr<BoostTask> ClassTask(absl::Span<const uint32_t> labels, uint32_t num_classes,
                                     int64_t unit) {
  if (num_classes == 2) return std::make_unique<TwoClasses>(labels, unit);
  return std::make_unique<SeveralClasses>(labels, num_classes, unit);
}

std::unique_ptr<BoostTask> NumberTask(absl::Span<const uint32_t> targets, double middle,
                                      double reach, int64_t unit) {
  return std::make_unique<Numbers>(targets, middle, reach, unit);
}

}  // namespace coppice
