#include "server/curator/estimation/plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/smooth.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/public_random.h"

namespace coppice::curator {
namespace {

constexpr size_t kDraws = 64;
constexpr double kNormal90 = 1.645;

PrivateCounts NoCounts(const Tree& tree, uint32_t classes) {
  PrivateCounts counts;
  counts.counts.classes = classes;
  counts.counts.leaf.resize(tree.num_leaves());
  counts.counts.label.resize(size_t{tree.num_leaves()} * classes);
  counts.noise.resize(classes);
  return counts;
}

// Box and Muller's transform.
double DrawNormal(PublicRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

// Settings in which public labels are like private ones.
std::vector<Hyperparameters> TrustingGrid() {
  std::vector<Hyperparameters> grid = SmoothGrid();
  std::erase_if(grid, [](const Hyperparameters& setting) { return setting.beta != 1; });
  return grid;
}

size_t DrawIndex(absl::Span<const double> weights, PublicRandom& random) {
  double rest = random.Unit();
  size_t i = 0;
  while (i + 1 < weights.size() && rest >= weights[i]) rest -= weights[i++];
  return i;
}

// Coordinates of all columns, one after the other.
std::vector<double> MeanOf(const SmoothBasis& basis, const SmoothModel& model,
                           const Posterior& fit) {
  std::vector<double> mean;
  for (size_t k = 0; k < basis.columns(); ++k) {
    for (size_t j = 0; j < basis.rank(); ++j) mean.push_back(model.Mean(fit, k, j));
  }
  return mean;
}

// How many of the rows in `test` the public labels of the others predict.
absl::StatusOr<size_t> HitsOf(const Table& train, const Table& test,
                              const PartitionOptions& partition, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const Forest forest, GrowPartition(train, partition, cancel));
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(const SmoothBasis basis, SmoothBasis::Create(forest, train));
  std::vector<PrivateCounts> no_counts;
  for (const Tree& tree : forest) no_counts.push_back(NoCounts(tree, basis.classes()));
  COPPICE_ASSIGN_OR_RETURN(SmoothFit fit,
                           EstimateSmooth(basis, forest, no_counts, Evidence::kPublic, cancel));
  COPPICE_ASSIGN_OR_RETURN(
      const Model model,
      Model::Create(train.schema(), forest, std::move(fit.leaves), {}, LeafKind::kAdditive));
  size_t hits = 0;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    hits += model.Predict(test.row(i)).label == test.label(i) ? 1 : 0;
  }
  return hits;
}

// The accuracy of the public labels on rows held out, each once.
absl::StatusOr<double> HeldOutAccuracy(const Table& rows, const PartitionOptions& partition,
                                       uint64_t seed, const CancelCheck& cancel) {
  constexpr size_t kFolds = 10;
  const size_t n = rows.num_rows();
  if (n < 2) return 0.5;
  PublicRandom random(seed, 1);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  size_t hits = 0;
  const size_t folds = std::min(kFolds, n);
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<size_t> train, test;
    for (size_t i = 0; i < n; ++i) (i % folds == fold ? test : train).push_back(order[i]);
    COPPICE_ASSIGN_OR_RETURN(const size_t of_fold,
                             HitsOf(rows.Select(train), rows.Select(test), partition, cancel));
    hits += of_fold;
  }
  return static_cast<double>(hits) / static_cast<double>(n);
}

struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;
};

MeanAndDeviation Summarize(absl::Span<const double> values) {
  const auto n = static_cast<double>(values.size());
  MeanAndDeviation result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  for (const double value : values) {
    result.deviation += (value - result.mean) * (value - result.mean) / n;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

}  // namespace

absl::StatusOr<Planner> Planner::Create(const Table& public_rows, const Budget& epsilon,
                                        const Options& options, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(
      const PartitionOptions partition,
      ChooseForestSize(public_rows, options.partition,
                       ExpectedInformation(options.expected_devices, epsilon), cancel));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, GrowPartition(public_rows, partition, cancel));
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(SmoothBasis basis, SmoothBasis::Create(forest, public_rows));
  Planner planner(std::move(basis));
  planner.partition_ = partition;
  planner.forest_ = std::move(forest);
  if (partition.use_labels) {
    COPPICE_ASSIGN_OR_RETURN(planner.held_out_,
                             HeldOutAccuracy(public_rows, partition, options.seed, cancel));
    COPPICE_RETURN_IF_ERROR(planner.DrawTruths(options.seed, cancel));
  }
  return planner;
}

absl::Status Planner::DrawTruths(uint64_t seed, const CancelCheck& cancel) {
  PublicRandom random(seed);
  const std::vector<Hyperparameters> grid = TrustingGrid();
  const PrivateSide no_reports;
  const SmoothModel model(basis_, no_reports, /*use_labels=*/true);
  std::vector<Posterior> fits;
  for (const Hyperparameters& setting : grid) {
    COPPICE_RETURN_IF_ERROR(cancel());
    fits.push_back(model.Fit(setting));
  }
  const std::vector<double> weights = GridWeights(grid, fits);
  for (size_t draw = 0; draw < kDraws; ++draw) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const size_t g = DrawIndex(weights, random);
    Truth& truth = truths_.emplace_back();
    truth.setting = grid[g];
    std::vector<double> all;
    for (size_t k = 0; k < basis_.columns(); ++k) {
      std::vector<double>& theta = truth.theta.emplace_back();
      std::vector<double>& noise = truth.noise.emplace_back();
      for (size_t j = 0; j < basis_.rank(); ++j) {
        theta.push_back(model.Mean(fits[g], k, j) +
                        std::sqrt(fits[g].variance[j]) * DrawNormal(random));
        noise.push_back(DrawNormal(random));
      }
      all.insert(all.end(), theta.begin(), theta.end());
    }
    truth.at_rows = basis_.AtRows(all);
    truth.public_scores =
        ScoresAtRows(truth.at_rows, basis_.AtRows(MeanOf(basis_, model, fits[g])));
  }
  return absl::OkStatus();
}

// How likely the label with the largest predicted margin is right, at each of the rows looked at.
std::vector<double> Planner::ScoresAtRows(absl::Span<const double> truth,
                                          absl::Span<const double> predicted) const {
  const size_t rows = basis_.rows_looked_at(), columns = basis_.columns();
  const double share = 1.0 / basis_.classes();
  std::vector<double> scores;
  scores.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    if (columns == 1) {
      const double p = std::clamp((1 + truth[i]) / 2, 0.0, 1.0);
      scores.push_back(predicted[i] > 0 ? p : 1 - p);
      continue;
    }
    size_t best = 0;
    double all = 0;
    const auto probability = [&](size_t k) {
      return std::max(share + truth[k * rows + i] / basis_.scale(), 0.0);
    };
    for (size_t k = 0; k < columns; ++k) {
      all += probability(k);
      if (predicted[k * rows + i] > predicted[best * rows + i]) best = k;
    }
    scores.push_back(all > 0 ? probability(best) / all : share);
  }
  return scores;
}

Interval Planner::public_only() const {
  if (truths_.empty()) return {};
  // Jeffreys' prior: half a hit and half a miss more than were seen. For the error two of each
  // (Agresti and Coull), so that it is not too small where nearly all are hits.
  const auto n = static_cast<double>(basis_.rows());
  const double mean = (n * held_out_ + 0.5) / (n + 1);
  const double seen = (n * held_out_ + 2) / (n + 4);
  // Twice the variance: which rows teach matters about as much as which rows test.
  const double error = kNormal90 * std::sqrt(2 * seen * (1 - seen) / (n + 4));
  return {.low = std::max(mean - error, 0.0), .mean = mean, .high = std::min(mean + error, 1.0)};
}

absl::StatusOr<MechanismCost> Planner::Cost(const Budget& epsilon,
                                            std::optional<MechanismKind> mechanism,
                                            size_t max_payload_bytes) const {
  if (mechanism.has_value()) return CostOf(*mechanism, epsilon, forest_, basis_.classes());
  COPPICE_ASSIGN_OR_RETURN(const MechanismChoice choice,
                           ChooseMechanism(epsilon, forest_, basis_.classes(), max_payload_bytes));
  return choice.cost;
}

absl::StatusOr<StudyForecast> Planner::Forecast(double devices, const MechanismCost& cost,
                                                const CancelCheck& cancel) const {
  COPPICE_RETURN_IF_ERROR(cancel());
  const double noise = cost.margin_noise;
  StudyForecast forecast;
  forecast.equivalent_rows = devices / (basis_.effective_cells() * (noise + basis_.mean_mass()));
  PrivateSide reports;
  reports.present = true;
  reports.variance = ReportVariance(basis_, devices, noise);
  forecast.influence = InfluenceOf(reports.variance, devices, cost.margin_influence);
  if (truths_.empty()) return forecast;
  std::vector<double> gains;
  double row_variance = 0;  // of what rows gain, the mean over the draws
  for (const Truth& truth : truths_) {
    COPPICE_RETURN_IF_ERROR(cancel());
    reports.theta = truth.theta;
    for (size_t k = 0; k < basis_.columns(); ++k) {
      for (size_t j = 0; j < basis_.rank(); ++j) {
        reports.theta[k][j] +=
            truth.noise[k][j] * std::sqrt(reports.variance[j] + truth.setting.leaf_noise);
      }
    }
    const SmoothModel model(basis_, reports, /*use_labels=*/true);
    const Posterior fit = model.Fit(truth.setting);
    std::vector<double> of_rows =
        ScoresAtRows(truth.at_rows, basis_.AtRows(MeanOf(basis_, model, fit)));
    for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] -= truth.public_scores[i];
    const MeanAndDeviation gain = Summarize(of_rows);
    gains.push_back(gain.mean);
    row_variance +=
        gain.deviation * gain.deviation / static_cast<double>(truths_.size() * basis_.rows());
  }
  const MeanAndDeviation gain = Summarize(gains);
  const Interval level = public_only();
  // Twice the rows' variance, as for the level: which rows teach matters about as much.
  const double spread = kNormal90 * std::sqrt(gain.deviation * gain.deviation + 2 * row_variance);
  forecast.gain = {.low = gain.mean - spread, .mean = gain.mean, .high = gain.mean + spread};
  const double mean = std::min(level.mean + gain.mean, 1.0);
  const double reach = std::hypot(std::max(level.mean - level.low, level.high - level.mean),
                                  kNormal90 * gain.deviation);
  forecast.accuracy = {
      .low = std::max(mean - reach, 0.0), .mean = mean, .high = std::min(mean + reach, 1.0)};
  return forecast;
}

// The score is Q times coordinates that answer to a report's by n c_j / (N lambda_j), and c_j, the
// trust in reports, is largest where the prior is widest and public labels say nothing.
double Planner::InfluenceOf(absl::Span<const double> report_variance, double devices,
                            double margin_influence) const {
  constexpr double kWidestPrior = 0.3, kMinLeafNoise = 0.03;  // of SmoothGrid()
  const std::vector<double> shape = PriorShape(basis_);
  std::vector<double> gains;
  for (size_t j = 0; j < basis_.rank(); ++j) {
    const double trust = 1 / (1 + (report_variance[j] + kMinLeafNoise) / (kWidestPrior * shape[j]));
    gains.push_back(static_cast<double>(basis_.rows()) * trust / (devices * basis_.lambda()[j]));
  }
  return margin_influence * basis_.LargestSwing(gains);
}

std::string Advice(absl::Span<const double> gains, const PartitionOptions& partition) {
  if (partition.from_schema) {
    return "Without public rows the partition is spread over all that the schema allows, also "
           "where "
           "nobody is, and nothing says how well classes can be told apart; reports will be worth "
           "as "
           "many labelled public rows as stated.";
  }
  if (!partition.use_labels) {
    return "Without public labels nothing says how well classes can be told apart; reports will be "
           "worth as many labelled public rows as stated.";
  }
  const auto worth = std::count_if(gains.begin(), gains.end(),
                                   [](double gain) { return gain >= kWorthwhileGain; });
  if (worth == 0) {
    return "Reports will not help here: none of these studies is expected to gain half a point "
           "over the public labels alone. Ask for more devices, a larger epsilon, or nobody.";
  }
  if (worth == static_cast<std::ptrdiff_t>(gains.size())) {
    return "Reports help in every one of these studies.";
  }
  return absl::StrCat("Reports help in ", worth, " of these ", gains.size(),
                      " studies. In the others, where the gain is below half a point, they will "
                      "not, and nobody need be asked.");
}

}  // namespace coppice::curator
