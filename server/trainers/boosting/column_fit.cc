#include "server/trainers/boosting/column_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/noise_of_sums.h"

namespace coppice::trainers {
namespace {

constexpr double kPrior = 4;  // in standard deviations of the noise
constexpr double kMaxWeight = 10;

// Computes the weights of one output.
class Pooling {
 public:
  // `is_smooth`: negative sums continue smoothly, instead of counting as nothing.
  Pooling(const Measurement& measured, uint32_t outputs, uint32_t output, int64_t unit,
          bool is_smooth)
      : measured_(measured),
        outputs_(outputs),
        output_(output),
        unit_(unit),
        is_smooth_(is_smooth) {}

  // Smooths the sums from `first` to `end`, halving again and again; `share` is what is known of
  // their positive part.
  void Halve(uint32_t first, uint32_t end, double share, std::vector<double>& weights) const {
    share = PositiveShare(first, end, share);
    if (end - first == 1) {
      weights[first] = std::clamp(std::log(share / (1 - share)), -kMaxWeight, kMaxWeight);
      return;
    }
    const uint32_t middle = first + (end - first) / 2;
    Halve(first, middle, share, weights);
    Halve(middle, end, share, weights);
  }

 private:
  // Returns the share of the positive part in the sums, smoothed towards `share`.
  double PositiveShare(uint32_t first, uint32_t end, double share) const {
    double positive = 0, negative = 0;
    for (uint32_t group = first; group < end; ++group) {
      const size_t at = size_t{2} * group * outputs_ + output_;
      positive += static_cast<double>(measured_.sums[at]);
      negative += static_cast<double>(measured_.sums[at + outputs_]);
    }
    const double noise = measured_.scale * std::sqrt(2.0 * (end - first));
    const double prior = kPrior * noise + static_cast<double>(unit_);
    positive = NotBelow(positive, prior * share);
    negative = NotBelow(negative, prior * (1 - share));
    return (positive + prior * share) / (positive + negative + prior);
  }

  // Returns what a sum counts as, given the amount that is added to it.
  double NotBelow(double sum, double added) const {
    if (sum >= 0) return sum;
    const double least = added / 2;
    return is_smooth_ ? least * std::tanh(sum / least) : 0;
  }

  const Measurement& measured_;
  uint32_t outputs_, output_;
  int64_t unit_;
  bool is_smooth_;
};

}  // namespace

BinGroups GroupBins(const FeatureBins& bins, uint32_t groups) {
  BinGroups grouped;
  const bool numeric = bins.type == FeatureType::kNumeric;
  const uint32_t ordinary = bins.ordinary();
  const uint32_t parts = numeric ? std::min(groups, ordinary) : ordinary;
  for (uint32_t bin = 0; bin < ordinary; ++bin) grouped.of_bin.push_back(bin * parts / ordinary);
  grouped.of_bin.push_back(parts);  // missing
  grouped.ordered = numeric ? parts : 0;
  grouped.count = parts + 1;
  return grouped;
}

std::vector<int64_t> SumByGroup(const BinColumn& column, const BinGroups& groups,
                                const Residuals& residuals) {
  const size_t outputs = residuals.size();
  std::vector<int64_t> sums(groups.count * outputs * 2);
  for (size_t output = 0; output < outputs; ++output) {
    for (size_t row = 0; row < column.size(); ++row) {
      const int32_t residual = residuals[output][row];
      const size_t positive = groups.of_bin[column[row]] * outputs * 2 + output;
      sums[positive + (residual < 0 ? outputs : 0)] += std::abs(residual);
    }
  }
  return sums;
}

namespace {

// Returns the weights, bin after bin.
std::vector<double> FlatWeights(const Measurement& measured, const BinGroups& groups,
                                uint32_t outputs, int64_t unit, bool is_smooth) {
  std::vector<double> weights(groups.of_bin.size() * outputs);
  // A step of softmax moves all classes, each against the others.
  const double step = outputs == 1 ? 1 : (outputs - 1.0) / outputs;
  std::vector<double> of_group(groups.count);
  for (uint32_t output = 0; output < outputs; ++output) {
    const Pooling pooling(measured, outputs, output, unit, is_smooth);
    if (groups.ordered > 0) pooling.Halve(0, groups.ordered, 0.5, of_group);
    for (uint32_t group = groups.ordered; group < groups.count; ++group) {
      pooling.Halve(group, group + 1, 0.5, of_group);
    }
    for (size_t bin = 0; bin < groups.of_bin.size(); ++bin) {
      weights[bin * outputs + output] = step * of_group[groups.of_bin[bin]];
    }
  }
  return weights;
}

// Splits `flat` into one list per bin.
template <typename T>
std::vector<std::vector<T>> ByBin(const std::vector<T>& flat, uint32_t outputs) {
  std::vector<std::vector<T>> by_bin;
  for (auto at = flat.begin(); at != flat.end(); at += outputs)
    by_bin.emplace_back(at, at + outputs);
  return by_bin;
}

}  // namespace

std::vector<std::vector<double>> WeightsOf(const Measurement& measured, const BinGroups& groups,
                                           uint32_t outputs, int64_t unit) {
  return ByBin(FlatWeights(measured, groups, outputs, unit, /*is_smooth=*/false), outputs);
}

std::vector<std::vector<OutputNoise>> NoiseOfWeights(const Measurement& measured,
                                                     const BinGroups& groups, uint32_t outputs,
                                                     int64_t unit,
                                                     const PrivateReleaser& releaser) {
  const auto weights = [&](const Measurement& sums) {
    return FlatWeights(sums, groups, outputs, unit, /*is_smooth=*/false);
  };
  const auto smooth = [&](const Measurement& sums) {
    return FlatWeights(sums, groups, outputs, unit, /*is_smooth=*/true);
  };
  return ByBin(
      releaser.NoiseOf(measured, weights,
                       [&] { return NoiseBySimulation(measured, weights(measured), smooth); }),
      outputs);
}

std::vector<double> FadingOf(const Measurement& measured, const BinGroups& groups,
                             uint32_t outputs) {
  std::vector<double> factors;
  const double noise =
      4 * groups.count * measured.scale * measured.scale;  // a variance is 2 scale^2
  for (uint32_t output = 0; output < outputs; ++output) {
    double squares = 0;
    for (size_t at = output; at < measured.sums.size(); at += size_t{2} * outputs) {
      const double difference =
          static_cast<double>(measured.sums[at]) - static_cast<double>(measured.sums[at + outputs]);
      squares += difference * difference;
    }
    factors.push_back(squares > noise ? 1 - noise / squares : 0);
  }
  return factors;
}

namespace {

// The factors follow from the sums, and are taken as they are in the noise, like all that steers a
// fit.
void Fade(const std::vector<double>& factors, ColumnScores& scores) {
  for (size_t bin = 0; bin < scores.weights.size(); ++bin) {
    for (size_t output = 0; output < factors.size(); ++output) {
      scores.weights[bin][output] *= factors[output];
      scores.noise[bin][output] = Scaled(scores.noise[bin][output], factors[output]);
    }
  }
}

}  // namespace

StatusOr<ColumnScores> VisitColumn(const BinnedRows& rows, const ColumnVisit& visit, int64_t unit,
                                   const BudgetShare& share, BoostTask& task,
                                   PrivateReleaser& releaser) {
  const ResidualKind kind = task.kind();
  Residuals residuals(kind.outputs, std::vector<int32_t>(rows.num_rows()));
  task.Fill(residuals);
  const BinGroups groups = GroupBins(rows.bins()[visit.column], visit.groups);
  const BinColumn& bins = rows.column(visit.column);
  COPPICE_ASSIGN_OR_RETURN(
      const Measurement measured,
      releaser.Measure(SumByGroup(bins, groups, residuals), kind.sensitivity, share));
  ColumnScores found(groups.of_bin.size(), kind.outputs);
  found.weights = WeightsOf(measured, groups, kind.outputs, unit);
  found.noise = NoiseOfWeights(measured, groups, kind.outputs, unit, releaser);
  if (visit.fades) Fade(FadingOf(measured, groups, kind.outputs), found);
  COPPICE_RETURN_IF_ERROR(task.Add(bins.Widened(), found.weights));
  return found;
}

}  // namespace coppice::trainers
