#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common/model/model.h"

namespace coppice {
namespace {

uint32_t LargestOf(const std::vector<double>& numbers) {
  const auto best = std::max_element(numbers.begin(), numbers.end());
  return static_cast<uint32_t>(best - numbers.begin());
}

// The cumulative standard normal distribution.
double NormalBelow(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The squared length of a square matrix, given row by row, times a vector.
double SquaredLength(const std::vector<double>& matrix, const std::vector<double>& vector) {
  double squares = 0;
  for (size_t row = 0; row < vector.size(); ++row) {
    const double entry =
        std::inner_product(vector.begin(), vector.end(),
                           matrix.begin() + static_cast<std::ptrdiff_t>(row * vector.size()), 0.0);
    squares += entry * entry;
  }
  return squares;
}

constexpr double kNormal95 = 1.959964;

// Log of the sum of exp(x - noise's mean) over all outputs but one, and its variance.
OutputNoise OfOthers(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
                     uint32_t label) {
  double most = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < sums.size(); ++k) {
    if (k != label) most = std::max(most, sums[k] - noise[k].mean);
  }
  double total = 0, variance = 0;
  for (size_t k = 0; k < sums.size(); ++k) {
    if (k == label) continue;
    const double weight = std::exp(sums[k] - noise[k].mean - most);
    total += weight;
    variance += weight * weight * noise[k].variance;
  }
  return {.mean = most + std::log(total), .variance = variance / (total * total)};
}

// The standard error of the difference of two outputs.
double ErrorBetween(const OutputNoise& a, const OutputNoise& b, bool opposed) {
  const double first = std::max(a.variance, 0.0), second = std::max(b.variance, 0.0);
  return opposed ? std::sqrt(first) + std::sqrt(second) : std::sqrt(first + second);
}

ScoreEstimate EstimateScore(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
                            uint32_t label) {
  uint32_t second = label == 0 ? 1 : 0;
  for (uint32_t k = 0; k < sums.size(); ++k) {
    if (k != label && sums[k] > sums[second]) second = k;
  }
  const bool opposed = sums.size() == 2;
  const double own = sums[label] - noise[label].mean;
  const OutputNoise others = OfOthers(sums, noise, label);
  return {.value = own - others.mean,
          .error = ErrorBetween(noise[label], others, opposed),
          .lead = own - (sums[second] - noise[second].mean),
          .lead_error = ErrorBetween(noise[label], noise[second], opposed)};
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

void SetNoise(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
              Prediction& prediction) {
  const double p = prediction.probabilities[prediction.label];
  const ScoreEstimate score = EstimateScore(sums, noise, prediction.label);
  prediction.score = score;
  prediction.standard_error = p * (1 - p) * score.error;
  prediction.low = Logistic(score.value - kNormal95 * score.error);
  prediction.high = Logistic(score.value + kNormal95 * score.error);
}

void SetNoiseOfPlace(double place, const OutputNoise& noise, Prediction& prediction) {
  const double error = std::sqrt(std::max(noise.variance, 0.0));
  prediction.score = ScoreEstimate{.value = place - noise.mean, .error = error};
  prediction.standard_error = error;
}

}  // namespace

void CutToProbabilities(std::vector<double>& p) {
  for (double& x : p) x = std::clamp(x, 0.0, 1.0);
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x = total > 0 ? x / total : 1 / static_cast<double>(p.size());
}

Prediction PredictFromWeights(std::vector<double> sums, double variance) {
  Prediction result;
  result.label = LargestOf(sums);
  for (double& x : sums) x = std::max(x, 0.0);
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  const auto outputs = static_cast<double>(sums.size());
  for (double& x : sums) x = total > 0 ? x / total : 1 / outputs;
  result.probabilities = std::move(sums);
  const double p = result.probabilities[result.label];
  // The label's share a / (a + the others) by the delta method, plus the sampling of rows.
  const double noise = variance * ((1 - p) * (1 - p) + (outputs - 1) * p * p) / (total * total);
  const double sampling = p * (1 - p) / std::max(total, 1.0);
  const double error = std::sqrt(noise + sampling);
  // NaN if the total is too small to be squared.
  result.standard_error =
      total > 0 && !std::isnan(error) ? error : std::numeric_limits<double>::infinity();
  return result;
}

Prediction PredictFromScores(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
                             bool regression) {
  Prediction result;
  result.probabilities.resize(sums.size());
  result.standard_error = std::numeric_limits<double>::infinity();
  if (regression) {
    const double place = std::clamp(sums[1], 0.0, 1.0);
    result.probabilities = {1 - place, place};
    result.label = LargestOf(result.probabilities);
    if (!noise.empty()) SetNoiseOfPlace(sums[1], noise[1], result);
    return result;
  }
  result.label = LargestOf(sums);
  double total = 0;
  for (size_t k = 0; k < sums.size(); ++k) {
    result.probabilities[k] = std::exp(sums[k] - sums[result.label]);
    total += result.probabilities[k];
  }
  for (double& p : result.probabilities) p /= total;
  if (!noise.empty()) SetNoise(sums, noise, result);
  return result;
}

Prediction Model::Predict(RowView row) const {
  Prediction prediction =
      derived_.empty() ? PredictOutputs(row) : PredictOutputs(ExtendRow(schema_, derived_, row));
  if (!schema_.target()) {
    if (prediction.score) return prediction;
    const double p = prediction.probabilities[prediction.label];
    const double reach = kNormal95 * prediction.standard_error;
    prediction.low = std::max(p - reach, 0.0);
    prediction.high = std::min(p + reach, 1.0);
    return prediction;
  }
  const Target& target = *schema_.target();
  prediction.value = target.min + target.span() * prediction.probabilities[1];
  prediction.value_error = target.span() * prediction.standard_error;
  const double centre =
      prediction.score ? target.min + target.span() * prediction.score->value : prediction.value;
  const double reach = kNormal95 * prediction.value_error;
  prediction.low = std::clamp(centre - reach, target.min, target.max);
  prediction.high = std::clamp(centre + reach, target.min, target.max);
  return prediction;
}

Prediction Model::PredictByScores(RowView row) const {
  std::vector<double> sums(schema_.num_outputs());
  std::vector<OutputNoise> noise(sums.size());
  std::vector<double> terms;
  bool is_known = true;
  for (size_t t = 0; t < forest_.size(); ++t) {
    const LeafPrediction& leaf = leaves_[t][forest_[t].FindLeaf(row)];
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += leaf.probabilities[k];
    is_known = is_known && (is_public_[t] || !leaf.noise.empty());
    for (size_t k = 0; k < leaf.noise.size(); ++k) {
      noise[k].mean += leaf.noise[k].mean;
      noise[k].variance += leaf.noise[k].variance;
    }
    const bool shares =
        terms.size() < shared_noise_.trees.size() && shared_noise_.trees[terms.size()] == t;
    if (shares) terms.push_back(leaf.term);
  }
  const double shared = SquaredLength(shared_noise_.factor, terms);
  for (OutputNoise& of_output : noise) of_output.variance += shared;
  if (!is_known) noise.clear();
  return PredictFromScores(sums, noise, schema_.target().has_value());
}

Prediction Model::PredictOutputs(RowView row) const {
  if (leaf_kind_ == LeafKind::kScores) return PredictByScores(row);
  if (forest_.size() == 1 && leaf_kind_ == LeafKind::kProbabilities) {
    const LeafPrediction& leaf = leaves_[0][forest_[0].FindLeaf(row)];
    return {.label = leaf.label,
            .probabilities = leaf.probabilities,
            .standard_error = leaf.standard_error};
  }
  Prediction mean;
  mean.probabilities.assign(schema_.num_outputs(), 0);
  double errors = 0, variance = 0;
  for (size_t t = 0; t < forest_.size(); ++t) {
    const LeafPrediction& leaf = leaves_[t][forest_[t].FindLeaf(row)];
    for (size_t k = 0; k < mean.probabilities.size(); ++k) {
      mean.probabilities[k] += leaf.probabilities[k];
    }
    errors += leaf.standard_error;
    variance += leaf.standard_error * leaf.standard_error;
  }
  if (leaf_kind_ == LeafKind::kWeights)
    return PredictFromWeights(std::move(mean.probabilities), variance);
  const bool additive = leaf_kind_ == LeafKind::kAdditive;
  const double trees = static_cast<double>(forest_.size());
  for (double& p : mean.probabilities) p /= trees;
  mean.label = LargestOf(mean.probabilities);
  mean.standard_error = (additive ? errors : std::sqrt(variance)) / trees;
  if (additive) CutToProbabilities(mean.probabilities);
  return mean;
}

double Confidence(const Prediction& prediction) {
  if (prediction.score) {
    const ScoreEstimate& score = *prediction.score;
    if (!(score.lead > 0)) return 0.5;
    return score.lead_error > 0 ? NormalBelow(score.lead / score.lead_error) : 1;
  }
  const std::vector<double>& p = prediction.probabilities;
  double second = 0;
  for (size_t k = 0; k < p.size(); ++k) {
    if (k != prediction.label) second = std::max(second, p[k]);
  }
  const double lead = p[prediction.label] - second;
  if (!(lead > 0) || !std::isfinite(prediction.standard_error)) return 0.5;
  // With two classes the lead is 2p - 1; with more, the two errors count as independent.
  const double error = prediction.standard_error * (p.size() == 2 ? 2 : std::sqrt(2.0));
  return error > 0 ? NormalBelow(lead / error) : 1;
}

}  // namespace coppice
