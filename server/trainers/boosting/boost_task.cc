#include "server/trainers/boosting/boost_task.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/table.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/check_finite.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/row_ranges.h"

namespace coppice::trainers {
namespace {

constexpr double kSmoothing =
    1.5 * std::numbers::sqrt2;     // in noise scales: 1.5 standard deviations
constexpr double kPartWeight = 8;  // in standard deviations of the noise
constexpr double kMaxStep = 10;
constexpr double kNumberStep = 0.4;
// What rows of two classes lack on average, min(p, 1 - p) if p is right, below which nearly all are
// certain and residuals are cut, and from which on they are weighted in full. Found on mushroom,
// whose log loss at epsilon 4 was .022 for .013 with weights in full (in a prototype). With .1 and
// .2 rice's calibration error is .035 for .030, and nothing else shows.
constexpr double kCertain = 0.05, kUncertain = 0.15;

// `x` must be from 0 to 1.
int32_t OnGrid(double x, int64_t unit) {
  return static_cast<int32_t>(
      std::min(static_cast<int64_t>(x * static_cast<double>(unit) + 0.5), unit));
}

// Clamps `x` to [-most, most] as two sums of sizes, which compilers vectorize. It rounds from 2^24
// on, which no score reaches.
float Clamped(float x, float most) { return (std::abs(x + most) - std::abs(x - most)) / 2; }

// Returns 1 / (1 + exp(-x)) to 10^-5, less than a step of residuals. It has no branch and no table,
// so compilers vectorize it: 2^t is a float's exponent, times a few terms of exp's series for the
// rest of t.
float Sigmoid(double x) {
  constexpr float kReach = 16;
  constexpr float kLog2OfE = 1.44269504f, kLogOf2 = 0.69314718f;
  constexpr int kExponentOf1 = 127, kBitsBelowExponent = 23;
  constexpr int kUp = 64;  // conversions round towards 0: down, for positive numbers
  const float t = -kLog2OfE * Clamped(static_cast<float>(x), kReach);
  const int whole = static_cast<int>(t + (kUp + 0.5f)) - kUp;
  const float y = kLogOf2 * (t - static_cast<float>(whole));
  const float series =
      1 +
      y * (1 + y * (1.0f / 2) * (1 + y * (1.0f / 3) * (1 + y * (1.0f / 4) * (1 + y * (1.0f / 5)))));
  const auto power = std::bit_cast<float>((whole + kExponentOf1) << kBitsBelowExponent);
  return 1 / (1 + power * series);
}

double LogRatio(double positive, double negative, double smoothing) {
  return std::clamp(
      std::log((std::max(positive, 0.0) + smoothing) / (std::max(negative, 0.0) + smoothing)),
      -kMaxStep, kMaxStep);
}

// Without noise it still adds a little, or an empty side would be infinitely certain.
double Smoothing(const ChildSums& measured, int64_t unit) {
  return measured.scale > 0 ? kSmoothing * measured.scale : static_cast<double>(unit) / 2;
}

// Returns the noise of LogRatio() of two noisy sums.
OutputNoise NoiseOfLogRatio(int64_t positive, int64_t negative, double smoothing,
                            const NoiseLaw& law) {
  const OutputNoise above = NoiseOfLog(static_cast<double>(positive), smoothing, law);
  const OutputNoise below = NoiseOfLog(static_cast<double>(negative), smoothing, law);
  return {.mean = above.mean - below.mean, .variance = above.variance + below.variance};
}

// The parts of a child of two classes. A part's share of positive residuals is shrunk towards h,
// the share of all parts, as if `weight_` of h had been seen too.
class PooledParts {
 public:
  PooledParts(absl::Span<const ChildSums> parts, int64_t unit)
      : count_(static_cast<double>(parts.size())), law_(parts[0].law()) {
    double positive = 0, negative = 0;
    for (const ChildSums& part : parts) {
      positive += static_cast<double>(part.positive[0]);
      negative += static_cast<double>(part.negative[0]);
    }
    positive_ = std::max(positive, 0.0);
    negative_ = std::max(negative, 0.0);
    smoothing_ = Smoothing(parts[0], unit) * std::sqrt(count_);
    h_ = (positive_ + smoothing_) / total();
    weight_ = kPartWeight * Smoothing(parts[0], unit) / kSmoothing * std::numbers::sqrt2;
  }

  double Value(const ChildSums& part) const {
    const double above = std::max(static_cast<double>(part.positive[0]), 0.0) + weight_ * h_;
    const double below = std::max(static_cast<double>(part.negative[0]), 0.0) + weight_ * (1 - h_);
    return std::clamp(std::log(above / below), -kMaxStep, kMaxStep);
  }

  // The value is log(P + w h) - log(N + w (1 - h)) for the part's own sums P and N; h depends on
  // every sum of the child, so this uses the derivatives by all of them.
  OutputNoise Noise(const ChildSums& part) const {
    const auto own_positive = static_cast<double>(part.positive[0]);
    const auto own_negative = static_cast<double>(part.negative[0]);
    const OutputNoise above = NoiseOfLog(own_positive, weight_ * h_, law_);
    const OutputNoise below = NoiseOfLog(own_negative, weight_ * (1 - h_), law_);
    const double a = 1 / (std::max(own_positive, 0.0) + weight_ * h_);
    const double b = 1 / (std::max(own_negative, 0.0) + weight_ * (1 - h_));
    const double by_h = weight_ * (a + b), by_h_twice = weight_ * weight_ * (b * b - a * a);
    const double h_positive = (negative_ + smoothing_) / (total() * total());
    const double h_negative = -(positive_ + smoothing_) / (total() * total());
    const double h_squares = count_ * (h_positive * h_positive + h_negative * h_negative);
    const double h_bend = -2 * count_ * (h_positive + h_negative) / total();
    const double variance = 2 * law_.scale * law_.scale;
    const double bend = -2 * weight_ * (a * a * h_positive + b * b * h_negative) +
                        by_h_twice * h_squares + by_h * h_bend;
    return {.mean = above.mean - below.mean + variance / 2 * bend,
            .variance = above.variance + below.variance +
                        variance * (2 * by_h * (a * h_positive - b * h_negative) +
                                    by_h * by_h * h_squares)};
  }

 private:
  double total() const { return positive_ + negative_ + 2 * smoothing_; }

  double count_;
  NoiseLaw law_;
  double positive_ = 0, negative_ = 0;  // of all parts
  double smoothing_ = 0, weight_ = 0;
  double h_ = 0.5;
};

// One score, the log-odds of the second class.
//
// The weighted residual is minus the gradient of a loss of the margin m, the score in the row's
// favour: exp(-m) / 2 for m > 0, and (1 - m) / 2 below. For any share q of the second class its
// mean is least at log(q / (1 - q)), so fitting it leaves probabilities right, and its gradient is
// never more than 1/2. Where a node's rows all have one score, the log-ratio of their sums is the
// step to that minimum.
class TwoClasses final : public BoostTask {
 public:
  TwoClasses(absl::Span<const uint32_t> labels, int64_t unit)
      : BoostTask(1, labels.size(), unit), labels_(labels) {}

  ResidualKind kind() const override {
    return {.range = halves(2),
            .sensitivity = {.l1 = halves(1), .l2_squared = halves(1) * halves(1)},
            .multiway = 1,
            .line_step = 4};
  }
  void FillRows(size_t first, size_t end, Residuals& residuals) const override {
    // A branch on the label would be mispredicted every other time.
    const auto unit = static_cast<float>(unit_);
    const auto most = static_cast<float>(half());
    const double* const score = scores_[0].data();
    const uint32_t* const labels = labels_.data();
    int32_t* const residual = residuals[0].data();
    for (size_t row = first; row < end; ++row) {
      const float label = labels[row] == 1 ? 1.0f : 0.0f;
      const float is_known = labels[row] == kUnlabelled ? 0.0f : 1.0f;
      const float p = Sigmoid(score[row]);
      const float off_even = std::abs(p - 0.5f);  // max(p, 1 - p) is 1/2 more
      const float weight = 1 - weighting_ * off_even / (0.5f + off_even);
      const float lacks = weight * (label - p) * is_known;
      const float steps = std::clamp(lacks * unit, -most, most);
      residual[row] = static_cast<int32_t>(steps + std::copysign(0.5f, steps));
    }
  }
  void WeightResiduals(double rows) override {
    rows_ = std::max(rows, 1.0);
    weighting_ = 1;
  }
  void Observe(const Measurement& of_all_rows) override {
    if (!rows_) return;
    double sum = 0;
    for (const int64_t of_part : of_all_rows.sums) sum += static_cast<double>(of_part);
    const double lacks = sum / static_cast<double>(unit_) / *rows_;
    weighting_ =
        static_cast<float>(std::clamp((lacks - kCertain) / (kUncertain - kCertain), 0.0, 1.0));
  }
  void Value(const ChildSums& measured, absl::Span<double> value) const override {
    const double smoothing = Smoothing(measured, unit_);
    value[0] = LogRatio(static_cast<double>(measured.positive[0]),
                        static_cast<double>(measured.negative[0]), smoothing);
  }
  void ValueNoise(const ChildSums& measured, absl::Span<OutputNoise> noise) const override {
    noise[0] = NoiseOfLogRatio(measured.positive[0], measured.negative[0],
                               Smoothing(measured, unit_), measured.law());
  }
  void Values(absl::Span<const ChildSums> parts, absl::Span<double> values) const override {
    if (parts.size() == 1) return Value(parts[0], values);
    const PooledParts pooled(parts, unit_);
    for (size_t i = 0; i < parts.size(); ++i) values[i] = pooled.Value(parts[i]);
  }
  void ValuesNoise(absl::Span<const ChildSums> parts,
                   absl::Span<OutputNoise> noise) const override {
    if (parts.size() == 1) return ValueNoise(parts[0], noise);
    const PooledParts pooled(parts, unit_);
    for (size_t i = 0; i < parts.size(); ++i) noise[i] = pooled.Noise(parts[i]);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return {-scores[0] / 2, scores[0] / 2};
  }

 private:
  absl::Span<const uint32_t> labels_;
  std::optional<double> rows_;  // as released; unset: residuals stay cut
  float weighting_ = 0;         // 0: residuals are cut; 1: weighted; between: a mixture
};

// One score per class. The residuals' L1 norm is at most 1.
class SeveralClasses final : public BoostTask {
 public:
  SeveralClasses(absl::Span<const uint32_t> labels, uint32_t classes, int64_t unit)
      : BoostTask(classes, labels.size(), unit), labels_(labels), classes_(classes) {}

  ResidualKind kind() const override {
    return {.outputs = classes_,
            .range = halves(4),
            .sensitivity = {.l1 = halves(2), .l2_squared = 2 * halves(1) * halves(1)},
            .multiway = 2,
            .line_step = 2};
  }
  void FillRows(size_t first, size_t end, Residuals& residuals) const override {
    std::vector<double> p(classes_);
    for (size_t row = first; row < end; ++row) {
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
  void ValueNoise(const ChildSums& measured, absl::Span<OutputNoise> noise) const override {
    for (uint32_t k = 0; k < classes_; ++k) {
      noise[k] = Scaled(NoiseOfLogRatio(measured.positive[k], measured.negative[k],
                                        Smoothing(measured, unit_), measured.law()),
                        (classes_ - 1.0) / classes_);
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

  // The other classes' shares are rounded down and limited to half a unit together; the row's own
  // class gets their sum: the norm is at most a unit, whatever floating point did.
  void FillRow(size_t row, const std::vector<double>& p, double scale, Residuals& residuals) const {
    const uint32_t label = labels_[row];
    int64_t sum = 0;
    for (uint32_t k = 0; k < classes_; ++k) {
      if (k == label) continue;
      const auto wanted = static_cast<int64_t>(
          std::floor(std::clamp(scale * p[k], 0.0, 0.5) * static_cast<double>(unit_)));
      const int64_t share = std::min(wanted, half() - sum);
      residuals[k][row] = static_cast<int32_t>(-share);
      sum += share;
    }
    residuals[label][row] = static_cast<int32_t>(sum);
  }

  absl::Span<const uint32_t> labels_;
  uint32_t classes_;
};

// A number, centred and scaled by released values: a score of 1 is one reach above the middle.
class Numbers final : public BoostTask {
 public:
  // `middle` and `reach` are in steps of the target's range.
  Numbers(absl::Span<const uint32_t> targets, double middle, double reach, int64_t unit)
      : BoostTask(1, targets.size(), unit), targets_(targets), middle_(middle), reach_(reach) {}

  ResidualKind kind() const override {
    return {.whole = unit_,
            .range = halves(4),
            .sensitivity = {.l1 = halves(2), .l2_squared = halves(2) * halves(2)},
            .multiway = 1,
            .line_step = kNumberStep,
            .line_ridge = 2};
  }
  void FillRows(size_t first, size_t end, Residuals& residuals) const override {
    for (size_t row = first; row < end; ++row) {
      const double wanted = std::clamp((targets_[row] - middle_) / reach_, -1.0, 1.0);
      const double q = std::clamp((wanted - scores_[0][row]) / kNumberStep, -1.0, 1.0);
      residuals[0][row] = q < 0 ? -OnGrid(-q, unit_) : OnGrid(q, unit_);
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
  // The value is u r(t), where u is the difference and t the sum of the two sums, and
  // r(t) = 1 / (t + s).
  void ValueNoise(const ChildSums& measured, absl::Span<OutputNoise> noise) const override {
    const auto positive = static_cast<double>(measured.positive[0]);
    const auto negative = static_cast<double>(measured.negative[0]);
    const double variance = 2 * measured.scale * measured.scale;
    const double s = 2 * kSmoothing * measured.scale + 1;
    const double u = positive - negative, t = positive + negative;
    const double r = 1 / (std::max(t, 0.0) + s);
    const double below = std::min(t, 0.0) / s;  // continued there by a parabola
    const double continued = r * (1 - below + below * below);
    const double slope = -r * r * (1 - 2 * below), bend = 2 * r * r * r;
    std::vector<double> value(1);
    Value(measured, absl::MakeSpan(value));
    const double estimate = u * (continued - variance * bend);
    const double by_positive = continued + u * slope, by_negative = -continued + u * slope;
    noise[0].mean = value[0] - kNumberStep * estimate;
    noise[0].variance = kNumberStep * kNumberStep * variance *
                        (by_positive * by_positive + by_negative * by_negative);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    const double place = scores[0] * reach_ / kTargetSteps;
    return {-place, place};
  }

 private:
  absl::Span<const uint32_t> targets_;
  double middle_, reach_;
};

// A number, by a score that is the number itself.
class WholeNumbers final : public BoostTask {
 public:
  WholeNumbers(absl::Span<const uint32_t> targets, double unit_of_scores, int64_t unit)
      : BoostTask(1, targets.size(), unit), targets_(targets), unit_of_scores_(unit_of_scores) {}

  ResidualKind kind() const override { return Numbers({}, 0, 1, unit_).kind(); }
  void FillRows(size_t first, size_t end, Residuals& residuals) const override {
    for (size_t row = first; row < end; ++row) {
      const double q = std::clamp(targets_[row] / unit_of_scores_ - scores_[0][row], -1.0, 1.0);
      residuals[0][row] = q < 0 ? -OnGrid(-q, unit_) : OnGrid(q, unit_);
    }
  }
  void Value(const ChildSums&, absl::Span<double> value) const override { value[0] = 0; }
  void ValueNoise(const ChildSums&, absl::Span<OutputNoise> noise) const override { noise[0] = {}; }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    const double place = scores[0] * unit_of_scores_ / kTargetSteps;
    return {-place, place};
  }

 private:
  absl::Span<const uint32_t> targets_;
  double unit_of_scores_;
};

}  // namespace

std::vector<OutputNoise> BoostTask::OutputsNoise(absl::Span<const OutputNoise> scores) const {
  if (scores.size() > 1) return {scores.begin(), scores.end()};  // each class has its own score
  std::vector<OutputNoise> outputs;
  for (const double factor : Outputs({1.0})) {
    outputs.push_back(Scaled(scores[0], factor));
  }
  return outputs;
}

void BoostTask::Fill(Residuals& residuals) const {
  ForRowRanges(scores_[0].size(), threads_,
               [&](size_t, size_t first, size_t end) { FillRows(first, end, residuals); });
}

void BoostTask::Values(absl::Span<const ChildSums> parts, absl::Span<double> values) const {
  for (size_t i = 0; i < parts.size(); ++i) {
    Value(parts[i], values.subspan(i * scores_.size(), scores_.size()));
  }
}

void BoostTask::ValuesNoise(absl::Span<const ChildSums> parts,
                            absl::Span<OutputNoise> noise) const {
  for (size_t i = 0; i < parts.size(); ++i) {
    ValueNoise(parts[i], noise.subspan(i * scores_.size(), scores_.size()));
  }
}

Status BoostTask::StartAt(std::vector<std::vector<double>> scores) {
  for (const std::vector<double>& of_output : scores) {
    COPPICE_RETURN_IF_ERROR(CheckFinite(of_output));
  }
  scores_ = std::move(scores);
  return OkStatus();
}

Status BoostTask::AddToAll(absl::Span<const double> value) {
  COPPICE_RETURN_IF_ERROR(CheckFinite(value));
  for (size_t output = 0; output < scores_.size(); ++output) {
    for (double& score : scores_[output]) score += value[output];
  }
  return OkStatus();
}

Status BoostTask::Add(absl::Span<const uint32_t> child_of_row,
                      const std::vector<std::vector<double>>& values) {
  for (const std::vector<double>& of_child : values) COPPICE_RETURN_IF_ERROR(CheckFinite(of_child));
  std::vector<double> of_child(values.size());
  for (size_t output = 0; output < scores_.size(); ++output) {
    for (size_t child = 0; child < values.size(); ++child) of_child[child] = values[child][output];
    double* const scores = scores_[output].data();
    ForRowRanges(child_of_row.size(), threads_, [&](size_t, size_t first, size_t end) {
      for (size_t row = first; row < end; ++row) scores[row] += of_child[child_of_row[row]];
    });
  }
  return OkStatus();
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

std::unique_ptr<BoostTask> WholeNumberTask(absl::Span<const uint32_t> targets,
                                           double unit_of_scores, int64_t unit) {
  return std::make_unique<WholeNumbers>(targets, unit_of_scores, unit);
}

}  // namespace coppice::trainers
