#include "common/evaluation/class_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "absl/strings/str_format.h"

namespace coppice {
namespace {

constexpr double kNormal95 = 1.959964;
constexpr size_t kMaxProbabilities = size_t{1} << 20;  // over all classes
constexpr size_t kMinProbabilities = 256;              // of one class

double ShareOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ConfidenceInterval Wilson(uint64_t hits, uint64_t rows) {
  if (rows == 0) return {.low = 0, .high = 1};
  const auto n = static_cast<double>(rows);
  const double p = static_cast<double>(hits) / n, z2 = kNormal95 * kNormal95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double reach = kNormal95 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {.low = std::max(centre - reach, 0.0), .high = std::min(centre + reach, 1.0)};
}

// `only_answers` rows are right in the answers alone, `only_majority` in the majority alone.
void ScoreGain(uint64_t only_answers, uint64_t only_majority, ClassScores& scores) {
  const auto rows = static_cast<double>(scores.rows);
  const double b = static_cast<double>(only_answers) + 0.5;
  const double c = static_cast<double>(only_majority) + 0.5;
  const double n = rows + 2;
  scores.gain = scores.accuracy - scores.majority.share;
  const double centre = (b - c) / n;
  const double reach = kNormal95 * std::sqrt(b + c - (b - c) * (b - c) / n) / n;
  scores.gain_interval = {.low = std::max(std::min(centre - reach, scores.gain), -1.0),
                          .high = std::min(std::max(centre + reach, scores.gain), 1.0)};
}

}  // namespace

Majority MajorityOf(absl::Span<const uint64_t> rows_of_class) {
  const uint64_t rows = std::accumulate(rows_of_class.begin(), rows_of_class.end(), uint64_t{0});
  const auto most = std::max_element(rows_of_class.begin(), rows_of_class.end());
  if (rows == 0) return {};
  return {.label = static_cast<uint32_t>(most - rows_of_class.begin()),
          .share = ShareOf(*most, rows)};
}

Majority MajorityOf(absl::Span<const uint32_t> labels, uint32_t classes) {
  std::vector<uint64_t> rows_of_class(classes);
  for (const uint32_t label : labels) {
    if (label < classes) ++rows_of_class[label];
  }
  return MajorityOf(rows_of_class);
}

ClassEvaluation::ClassEvaluation(uint32_t classes)
    : classes_(classes), confusion_(classes, std::vector<uint64_t>(classes)) {
  const size_t scored = classes == 2 ? 1 : classes;
  const size_t each = std::max(kMaxProbabilities / scored, kMinProbabilities);
  for (size_t i = 0; i < scored; ++i) probabilities_.emplace_back(0.0, 1.0, each);
}

void ClassEvaluation::Add(uint32_t predicted, absl::Span<const double> probabilities,
                          uint32_t label) {
  ++confusion_[label][predicted];
  log_loss_ -= std::log(std::max(probabilities[label], kMinLogLossProbability));
  if (classes_ == 2) {
    probabilities_[0].Add(probabilities[1], label == 1 ? 1 : 0);
    AddToCalibration(probabilities[1], label == 1);
    return;
  }
  for (uint32_t k = 0; k < classes_; ++k) {
    probabilities_[k].Add(probabilities[k], label == k ? 1 : 0);
  }
  AddToCalibration(probabilities[predicted], label == predicted);
}

void ClassEvaluation::AddToCalibration(double probability, bool hit) {
  const double bin = std::clamp(probability * kBins, 0.0, kBins - 1.0);
  BinSums& sums = bins_[static_cast<size_t>(bin)];
  ++sums.rows;
  sums.hits += hit ? 1 : 0;
  sums.probability += probability;
}

ClassScores ClassEvaluation::Scores() const {
  ClassScores scores;
  scores.abstained = abstained_;
  scores.confusion = confusion_;
  std::vector<uint64_t> rows_of_class, answers_of_class(classes_);
  for (uint32_t k = 0; k < classes_; ++k) {
    const std::vector<uint64_t>& row = confusion_[k];
    rows_of_class.push_back(std::accumulate(row.begin(), row.end(), uint64_t{0}));
    for (uint32_t p = 0; p < classes_; ++p) answers_of_class[p] += row[p];
    scores.rows += rows_of_class[k];
    scores.correct += row[k];
  }
  scores.accuracy = ShareOf(scores.correct, scores.rows);
  scores.interval = Wilson(scores.correct, scores.rows);
  scores.majority = MajorityOf(rows_of_class);
  const uint32_t most = scores.majority.label;
  ScoreGain(scores.correct - confusion_[most][most], rows_of_class[most] - confusion_[most][most],
            scores);
  const auto share = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? std::nullopt : std::optional<double>(ShareOf(part, whole));
  };
  for (uint32_t k = 0; k < classes_; ++k) {
    scores.recall.push_back(share(confusion_[k][k], rows_of_class[k]));
    scores.precision.push_back(share(confusion_[k][k], answers_of_class[k]));
    const double shown = ShareOf(rows_of_class[k], scores.rows);
    if (shown > 0) scores.majority_log_loss -= shown * std::log(shown);
  }
  ScoreProbabilities(scores);
  ScoreCalibration(scores);
  return scores;
}

void ClassEvaluation::ScoreProbabilities(ClassScores& scores) const {
  if (scores.rows > 0) scores.log_loss = log_loss_ / static_cast<double>(scores.rows);
  double areas = 0;
  size_t present = 0;
  for (const ValueCounts& values : probabilities_) {
    scores.is_auc_exact = scores.is_auc_exact && values.is_exact();
    const std::optional<double> area = RocArea(values);
    areas += area.value_or(0);
    present += area.has_value() ? 1 : 0;
  }
  if (present > 0) scores.auc = areas / static_cast<double>(present);
}

void ClassEvaluation::ScoreCalibration(ClassScores& scores) const {
  for (size_t i = 0; i < kBins; ++i) {
    CalibrationBin bin = {.low = static_cast<double>(i) / kBins,
                          .high = static_cast<double>(i + 1) / kBins,
                          .rows = bins_[i].rows};
    if (bin.rows > 0) {
      bin.predicted = bins_[i].probability / static_cast<double>(bin.rows);
      bin.observed = ShareOf(bins_[i].hits, bin.rows);
      scores.calibration_error +=
          ShareOf(bin.rows, scores.rows) * std::abs(bin.predicted - bin.observed);
    }
    scores.calibration.push_back(bin);
  }
}

std::string ClassVerdict(std::string_view majority_class, double majority, double gain,
                         const ConfidenceInterval& interval) {
  if (interval.low > 0) {
    return absl::StrFormat("Better than always answering %s (%.3f) by %.3f (%.3f to %.3f).",
                           majority_class, majority, gain, interval.low, interval.high);
  }
  if (interval.high < 0) {
    return absl::StrFormat("Worse than always answering %s (%.3f) by %.3f (%.3f to %.3f).",
                           majority_class, majority, -gain, -interval.high, -interval.low);
  }
  return absl::StrFormat(
      "No better than always answering %s, which is right on %.3f of these rows.", majority_class,
      majority);
}

}  // namespace coppice
