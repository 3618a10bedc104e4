#include "server/curator/estimation/planning/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"
#include "server/curator/estimation/correction/correction.h"
#include "server/curator/estimation/correction/smooth.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/estimation/pooled/consistent_model.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

// Truths to simulate. The mean gain then has an eighth of a draw's deviation as its error, which is
// less than what the unknown truth itself leaves open.
constexpr size_t kDraws = 64;
constexpr double kNormal90 = 1.645;  // a normal variable is within so many deviations with 90 %

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

// The grid settings in which public labels are like private ones. A plan has no reports that could
// say otherwise: any other beta would be a guess at how different the populations are.
std::vector<Hyperparameters> TrustingGrid(bool numbers) {
  std::vector<Hyperparameters> grid = PooledGrid(numbers);
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
std::vector<double> MeanOf(const PooledBasis& basis, const PooledModel& model,
                           const Posterior& fit) {
  std::vector<double> mean;
  for (size_t k = 0; k < basis.columns(); ++k) {
    for (size_t j = 0; j < basis.rank(); ++j) mean.push_back(model.Mean(fit, k, j));
  }
  return mean;
}

// Scores a model of the public labels in `train` at each row of `test`; see Planner::held_out_.
StatusOr<std::vector<double>> ScoresOn(const Table& train, const Table& test,
                                       const PartitionOptions& partition,
                                       const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const Forest forest, GrowPartition(train, partition, cancel));
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(const PooledBasis basis, PooledBasis::Create(forest, train));
  std::vector<PrivateCounts> no_counts;
  for (const Tree& tree : forest) no_counts.push_back(NoCounts(tree, basis.classes()));
  COPPICE_ASSIGN_OR_RETURN(PooledFit fit,
                           EstimatePooled(basis, forest, no_counts, Evidence::kPublic, cancel));
  COPPICE_ASSIGN_OR_RETURN(
      const Model model,
      Model::Create(train.schema(), forest, std::move(fit.leaves), {}, LeafKind::kAdditive));
  std::vector<double> scores;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    const Prediction prediction = model.Predict(test.row(i));
    if (test.schema().target()) {
      scores.push_back(-std::pow(prediction.value - test.target(i), 2));
    } else {
      scores.push_back(prediction.label == test.label(i) ? 1 : 0);
    }
  }
  return scores;
}

// Scores of the public labels on held-out rows, each row once. `learned` has its numbers cut to the
// range that devices round to; `rows` has them as they are.
StatusOr<std::vector<double>> HeldOutScores(const Table& learned, const Table& rows,
                                            const PartitionOptions& partition, uint64_t seed,
                                            const CancelCheck& cancel) {
  constexpr size_t kHeldOutFolds = 10;  // models of 90 % of the rows are nearly as good as of all
  const size_t n = rows.num_rows();
  // A single row cannot be held out. Half right, or no error at all: there is nothing to go by.
  if (n < 2) return std::vector<double>{rows.schema().target() ? 0 : 0.5};
  PublicRandom random(seed, 1);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  std::vector<double> scores;
  const size_t folds = std::min(kHeldOutFolds, n);
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<size_t> train, test;
    for (size_t i = 0; i < n; ++i) (i % folds == fold ? test : train).push_back(order[i]);
    COPPICE_ASSIGN_OR_RETURN(const std::vector<double> of_fold,
                             ScoresOn(learned.Select(train), rows.Select(test), partition, cancel));
    scores.insert(scores.end(), of_fold.begin(), of_fold.end());
  }
  return scores;
}

// By public row, what the predictor that has not seen it makes of it; see Planner::held_out_.
std::vector<double> ScoresOf(const CorrectionStart& start, const Table& rows) {
  const std::vector<double>& held_out = start.offset.scores;
  std::vector<double> scores;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    if (start.residuals) {
      const double predicted = start.middle + start.residuals->error() * held_out[i];
      scores.push_back(-std::pow(predicted - rows.target(i), 2));
      continue;
    }
    const size_t classes = rows.schema().num_classes();
    const absl::Span<const double> of_row =
        absl::MakeConstSpan(held_out).subspan(i * classes, classes);
    const auto best = std::max_element(of_row.begin(), of_row.end()) - of_row.begin();
    scores.push_back(static_cast<uint32_t>(best) == rows.label(i) ? 1 : 0);
  }
  return scores;
}

// Returns how many reports a study would have and their noise, without what is public.
StatusOr<std::vector<PrivateCounts>> ExpectCounts(const Forest& forest, const Table& rows,
                                                  double devices, const MechanismCost& cost) {
  std::vector<PrivateCounts> expected;
  std::vector<ConsistentEvidence> evidence;
  if (ReportForm::For(rows.schema()).ShowsSomething()) {
    COPPICE_ASSIGN_OR_RETURN(evidence,
                             ExpectEvidence(forest, rows, cost.kind, cost.epsilon, devices));
  }
  for (size_t t = 0; t < forest.size(); ++t) {
    const Domain domain = {.leaves = forest[t].num_leaves(),
                           .classes = rows.schema().num_outputs()};
    PrivateCounts& of_tree = expected.emplace_back(NoCounts(forest[t], domain.classes));
    of_tree.reports = static_cast<uint64_t>(
        std::max(std::round(devices / static_cast<double>(forest.size())), 1.0));
    of_tree.has_masses = !cost.margins_only;
    if (!evidence.empty()) {
      of_tree.consistent = std::move(evidence[t]);
      continue;
    }
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                             MakeLocalMechanism(cost.kind, cost.epsilon, domain));
    for (uint32_t k = 0; k < domain.classes; ++k) of_tree.noise[k] = mechanism->Variance(k);
  }
  return expected;
}

// The rows as if no feature were public.
Table WithoutPublic(const Table& rows) {
  return rows.WithSchema(std::make_shared<const Schema>(
      *rows.schema().WithPublicFeatures(std::vector<std::string>())));
}

// By how much one report moves a count, from what it moves a margin by (mechanism_choice.cc).
double CountInfluence(const MechanismCost& cost, double classes) {
  return cost.margin_influence / (2 * std::sqrt(classes - 1));
}

// The public features that the forest splits by, most nodes first.
std::vector<uint32_t> MostAskedPublicFeatures(const Schema& schema, const Forest& forest) {
  std::map<uint32_t, size_t> nodes_of;
  for (const Tree& tree : forest) {
    for (const Node& node : tree.nodes()) {
      if (node.kind != SplitKind::kLeaf && schema.features()[node.feature].is_public) {
        ++nodes_of[node.feature];
      }
    }
  }
  std::vector<uint32_t> features;
  for (const auto& [feature, nodes] : nodes_of) features.push_back(feature);
  std::stable_sort(features.begin(), features.end(),
                   [&](uint32_t a, uint32_t b) { return nodes_of[a] > nodes_of[b]; });
  features.resize(std::min(features.size(), kMaxFeatureWorths));
  return features;
}

// `mean` is a mean of squared errors and `reach` the half-width of its interval.
Interval RootOfSquares(double mean, double reach) {
  const auto root = [](double squares) { return std::sqrt(std::max(squares, 0.0)); };
  return {.low = root(mean - reach), .mean = root(mean), .high = root(mean + reach)};
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

StatusOr<Planner> Planner::Create(const Table& public_rows, const Budget& epsilon,
                                  const Options& options, const CancelCheck& cancel) {
  Table learned = public_rows;
  std::optional<NumberRange> rounding;
  if (public_rows.schema().target()) {
    rounding = options.rounding.value_or(ChooseRounding(public_rows, options.partition.use_labels));
    COPPICE_ASSIGN_OR_RETURN(learned, CutNumbers(public_rows, *rounding));
  }
  PartitionOptions partition = options.partition;
  Forest forest;
  if (options.forest != nullptr) {
    forest = *options.forest;
  } else {
    COPPICE_ASSIGN_OR_RETURN(
        partition,
        ChooseForestSize(learned, options.partition,
                         ExpectedInformation(options.expected_devices, epsilon), cancel));
    COPPICE_ASSIGN_OR_RETURN(forest, GrowPartition(learned, partition, cancel));
  }
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(PooledBasis basis, PooledBasis::Create(forest, learned));
  Planner planner(std::move(learned), std::move(basis));
  planner.partition_ = partition;
  planner.forest_ = std::move(forest);
  if (rounding) {
    planner.number_unit_ = rounding->width() / planner.basis_.scale();
    planner.number_per_place_ = rounding->width();
  }
  if (ChooseEstimator(partition) == EstimatorKind::kSmooth) {
    COPPICE_RETURN_IF_ERROR(planner.PrepareCorrection(public_rows, rounding, options.seed, cancel));
  } else if (partition.use_labels) {
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<double> scores,
        HeldOutScores(planner.rows_, public_rows, partition, options.seed, cancel));
    const MeanAndDeviation held_out = Summarize(scores);
    planner.held_out_ = held_out.mean;
    planner.held_out_deviation_ = held_out.deviation;
    COPPICE_RETURN_IF_ERROR(planner.DrawTruths(options.seed, cancel));
  }
  return planner;
}

Status Planner::PrepareCorrection(const Table& rows, const std::optional<NumberRange>& rounding,
                                  uint64_t seed, const CancelCheck& cancel) {
  Bags bags;
  for (uint32_t t = 0; t < forest_.size(); ++t) {
    bags.push_back(BagOf(rows.num_rows(), partition_, t));
  }
  COPPICE_ASSIGN_OR_RETURN(CorrectionBasis basis, CorrectionBasis::Create(forest_, bags, rows));
  COPPICE_ASSIGN_OR_RETURN(CorrectionStart start,
                           StartAtPredictor(partition_, rows, rounding, cancel));
  const MeanAndDeviation held_out = Summarize(ScoresOf(start, rows));
  held_out_ = held_out.mean;
  held_out_deviation_ = held_out.deviation;
  if (start.residuals) {
    number_unit_ = start.residuals->error();
    number_per_place_ = number_unit_ / start.offset.numbers->per_unit;
  }
  COPPICE_ASSIGN_OR_RETURN(
      CorrectionForecast forecast,
      CorrectionForecast::Create(std::move(basis), std::move(start.offset), seed, cancel));
  correction_ = std::make_shared<const CorrectionForecast>(std::move(forecast));
  return OkStatus();
}

Status Planner::DrawTruths(uint64_t seed, const CancelCheck& cancel) {
  // Noise is drawn here, once, in units of its deviation: all forecasts scale the same draws, so
  // that they differ by epsilon and devices and not by chance.
  PublicRandom random(seed);
  const std::vector<Hyperparameters> grid = TrustingGrid(basis_.has_numbers());
  const PrivateSide no_reports;
  const PooledModel model(basis_, no_reports, /*use_labels=*/true);
  std::vector<Posterior> fits;
  std::vector<double> likelihoods;
  for (const Hyperparameters& setting : grid) {
    COPPICE_RETURN_IF_ERROR(cancel());
    likelihoods.push_back(fits.emplace_back(model.Fit(setting)).log_likelihood);
  }
  const std::vector<double> weights = GridWeights(basis_, grid, likelihoods, /*use_labels=*/true);
  for (size_t draw = 0; draw < kDraws; ++draw) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const size_t g = DrawIndex(weights, random);
    Truth& truth = truths_.emplace_back();
    truth.setting = grid[g];
    truth.seed = seed + draw;
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
  return OkStatus();
}

// For each row looked at: how likely the label with the largest predicted margin is right, or, for
// numbers, the squared error with its sign changed.
std::vector<double> Planner::ScoresAtRows(absl::Span<const double> truth,
                                          absl::Span<const double> predicted) const {
  const size_t rows = basis_.rows_looked_at(), columns = basis_.columns();
  const double share = 1.0 / basis_.classes();
  std::vector<double> scores;
  scores.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    if (basis_.has_numbers()) {
      scores.push_back(-std::pow(predicted[i] - truth[i], 2));
      continue;
    }
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
  if (!partition_.use_labels) return {};
  if (basis_.has_numbers()) return RootOfSquares(0 - held_out_, SpreadOfLevel());
  // Jeffreys' prior: adds half a hit and half a miss. The error adds two of each (Agresti and
  // Coull), so that it is not too small where nearly all are hits.
  const auto n = static_cast<double>(basis_.rows());
  const double mean = (n * held_out_ + 0.5) / (n + 1);
  const double seen = (n * held_out_ + 2) / (n + 4);
  // Twice the variance: the choice of training rows matters about as much as that of test rows.
  const double error = kNormal90 * std::sqrt(2 * seen * (1 - seen) / (n + 4));
  return {.low = std::max(mean - error, 0.0), .mean = mean, .high = std::min(mean + error, 1.0)};
}

StatusOr<MechanismCost> Planner::Cost(const Budget& epsilon, std::optional<MechanismKind> mechanism,
                                      size_t max_payload_bytes) const {
  const ReportForm& form = ReportForm::For(rows_.schema());
  const ReportSubject subject = ReportSubject::Of(form, rows_.schema(), forest_);
  if (mechanism.has_value()) {
    // A study's terms require the same.
    COPPICE_RETURN_IF_ERROR(form.CheckMechanism(*mechanism, epsilon, rows_.schema()));
    return CostOf(*mechanism, epsilon, subject);
  }
  COPPICE_ASSIGN_OR_RETURN(const MechanismChoice choice,
                           ChooseMechanism(epsilon, subject, max_payload_bytes,
                                           PurposeOf(partition_.rule, form.IsAboutLabelAlone())));
  return choice.cost;
}

StatusOr<StudyForecast> Planner::Forecast(double devices, const MechanismCost& cost,
                                          const CancelCheck& cancel) const {
  if (!ReportForm::For(rows_.schema()).ShowsSomething())
    return ForecastPrivate(devices, cost, cancel);
  return ForecastAs(std::make_shared<const Schema>(rows_.schema()), devices, cost, cancel);
}

StatusOr<StudyForecast> Planner::ForecastPrivate(double devices, const MechanismCost& cost,
                                                 const CancelCheck& cancel) const {
  COPPICE_RETURN_IF_ERROR(cancel());
  const double noise = cost.margin_noise;
  StudyForecast forecast;
  forecast.equivalent_rows = EquivalentRows(basis_, devices, noise);
  if (correction_ != nullptr) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<PrivateCounts> expected,
                             ExpectCounts(forest_, WithoutPublic(rows_), devices, cost));
    if (rows_.num_rows() <= kManyPublicRows) {
      COPPICE_ASSIGN_OR_RETURN(
          const double most,
          correction_->InfluenceOf(expected, CountInfluence(cost, basis_.classes())));
      // A margin goes from -1 to 1.
      forecast.influence = (predicts_numbers() ? number_per_place_ : 2) * most;
    }
    COPPICE_RETURN_IF_ERROR(AddCorrection(expected, cancel, forecast));
    return forecast;
  }
  PrivateSide reports;
  reports.present = true;
  reports.variance = ReportVariance(basis_, devices, noise);
  forecast.influence = InfluenceOf(reports.variance, devices, cost.margin_influence);
  const auto estimate = [&](const Truth& truth) -> StatusOr<std::vector<double>> {
    reports.theta = truth.theta;
    for (size_t k = 0; k < basis_.columns(); ++k) {
      for (size_t j = 0; j < basis_.rank(); ++j) {
        reports.theta[k][j] +=
            truth.noise[k][j] * std::sqrt(reports.variance[j] + truth.setting.leaf_noise);
      }
    }
    // In the setting that the truth was drawn from: averaging over the grid for each draw would
    // take a hundred times as long. So a forecast does not see what it costs to learn the setting.
    const PooledModel model(basis_, reports, /*use_labels=*/true);
    return MeanOf(basis_, model, model.Fit(truth.setting));
  };
  COPPICE_RETURN_IF_ERROR(AddGain(estimate, cancel, forecast));
  return forecast;
}

StatusOr<StudyForecast> Planner::ForecastAs(std::shared_ptr<const Schema> schema, double devices,
                                            const MechanismCost& cost,
                                            const CancelCheck& cancel) const {
  const ReportForm& form = ReportForm::For(*schema);
  if (!form.ShowsSomething()) {
    COPPICE_ASSIGN_OR_RETURN(
        const MechanismCost of_forest,
        CostOf(cost.kind, cost.epsilon, ReportSubject::Of(form, *schema, forest_)));
    return ForecastPrivate(devices, of_forest, cancel);
  }
  COPPICE_RETURN_IF_ERROR(cancel());
  const Table shown = rows_.WithSchema(std::move(schema));
  COPPICE_ASSIGN_OR_RETURN(std::vector<ConsistentEvidence> trees,
                           ExpectEvidence(forest_, shown, cost.kind, cost.epsilon, devices));
  ConsistentReports expected;
  for (ConsistentEvidence& of_tree : trees) {
    expected.rows.push_back(std::move(of_tree.rows));
    for (double& of_leaf : of_tree.variance) of_leaf *= basis_.answer_square();
    expected.variance.push_back(std::move(of_tree.variance));
  }
  const ConsistentForecast of_reports(basis_, expected);
  StudyForecast forecast;
  forecast.equivalent_rows = of_reports.equivalent_rows();
  if (correction_ != nullptr) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<PrivateCounts> counts,
                             ExpectCounts(forest_, shown, devices, cost));
    COPPICE_RETURN_IF_ERROR(AddCorrection(counts, cancel, forecast));
    return forecast;
  }
  const auto estimate = [&](const Truth& truth) {
    PublicRandom random(truth.seed, 3);
    return of_reports.MeanOf(truth.setting, truth.theta, truth.noise,
                             [&random] { return DrawNormal(random); });
  };
  COPPICE_RETURN_IF_ERROR(AddGain(estimate, cancel, forecast));
  return forecast;
}

StatusOr<std::vector<FeatureWorth>> Planner::WorthOfPublicFeatures(
    double devices, const MechanismCost& cost, const CancelCheck& cancel) const {
  const Schema& schema = rows_.schema();
  const std::vector<uint32_t> asked = MostAskedPublicFeatures(schema, forest_);
  std::vector<FeatureWorth> worths;
  if (asked.empty()) return worths;
  COPPICE_ASSIGN_OR_RETURN(const StudyForecast all, Forecast(devices, cost, cancel));
  for (const uint32_t left_out : asked) {
    std::vector<std::string> others;
    for (const uint32_t feature : schema.public_features()) {
      if (feature != left_out) others.push_back(schema.features()[feature].name);
    }
    COPPICE_ASSIGN_OR_RETURN(Schema without, schema.WithPublicFeatures(others));
    // Some mechanisms need all features public, and say nothing of what one of them is worth.
    if (!ReportForm::For(without).CheckMechanism(cost.kind, cost.epsilon, without).ok()) continue;
    COPPICE_ASSIGN_OR_RETURN(
        const StudyForecast forecast,
        ForecastAs(std::make_shared<const Schema>(std::move(without)), devices, cost, cancel));
    worths.push_back({.name = schema.features()[left_out].name,
                      .gain = all.gain.mean - forecast.gain.mean,
                      .equivalent_rows = all.equivalent_rows - forecast.equivalent_rows});
  }
  std::stable_sort(worths.begin(), worths.end(),
                   [](const FeatureWorth& a, const FeatureWorth& b) { return a.gain > b.gain; });
  return worths;
}

Status Planner::AddCorrection(absl::Span<const PrivateCounts> expected, const CancelCheck& cancel,
                              StudyForecast& forecast) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> gains,
                           correction_->GainsOf(expected, cancel));
  SetGain(gains, forecast);
  return OkStatus();
}

Status Planner::AddGain(const Estimate& estimate, const CancelCheck& cancel,
                        StudyForecast& forecast) const {
  if (truths_.empty()) return OkStatus();
  std::vector<std::vector<double>> gains;
  for (const Truth& truth : truths_) {
    COPPICE_RETURN_IF_ERROR(cancel());
    COPPICE_ASSIGN_OR_RETURN(const std::vector<double> found, estimate(truth));
    std::vector<double>& of_rows =
        gains.emplace_back(ScoresAtRows(truth.at_rows, basis_.AtRows(found)));
    for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] -= truth.public_scores[i];
  }
  SetGain(gains, forecast);
  return OkStatus();
}

void Planner::SetGain(const std::vector<std::vector<double>>& of_draws,
                      StudyForecast& forecast) const {
  std::vector<double> gains;
  double row_variance = 0;  // of the rows' gains, mean over the draws
  for (const std::vector<double>& of_rows : of_draws) {
    const MeanAndDeviation gain = Summarize(of_rows);
    gains.push_back(gain.mean);
    row_variance +=
        gain.deviation * gain.deviation / static_cast<double>(of_draws.size() * basis_.rows());
  }
  const MeanAndDeviation gain = Summarize(gains);
  // The draws differ by what the truth may be, the rows by which of them happen to be public.
  // Twice the rows' variance, for the same reason as in public_only().
  const double spread = kNormal90 * std::sqrt(gain.deviation * gain.deviation + 2 * row_variance);
  if (basis_.has_numbers()) {
    SetRmse(gain.mean, spread, forecast);
    return;
  }
  const Interval level = public_only();
  forecast.gain = {.low = gain.mean - spread, .mean = gain.mean, .high = gain.mean + spread};
  const double mean = std::min(level.mean + gain.mean, 1.0);
  const double reach = std::hypot(std::max(level.mean - level.low, level.high - level.mean),
                                  kNormal90 * gain.deviation);
  forecast.accuracy = {
      .low = std::max(mean - reach, 0.0), .mean = mean, .high = std::min(mean + reach, 1.0)};
}

double Planner::SpreadOfLevel() const {
  return kNormal90 * held_out_deviation_ * std::sqrt(2 / static_cast<double>(basis_.rows()));
}

void Planner::SetRmse(double gain, double spread, StudyForecast& forecast) const {
  const double unit = number_unit_ * number_unit_;
  const double level = -held_out_, less = unit * gain, reach = unit * spread;
  const auto lower_by = [level](double squares) {
    return std::sqrt(level) - std::sqrt(std::max(level - squares, 0.0));
  };
  forecast.gain = {
      .low = lower_by(less - reach), .mean = lower_by(less), .high = lower_by(less + reach)};
  forecast.rmse = RootOfSquares(level - less, std::hypot(SpreadOfLevel(), reach));
}

// The score is Q times coordinates that respond to a report's by n c_j / (N lambda_j). The trust in
// reports, c_j, is largest where the prior is widest and public labels say nothing.
double Planner::InfluenceOf(absl::Span<const double> report_variance, double devices,
                            double margin_influence) const {
  const double widest_prior = basis_.has_numbers() ? 0.9 : 0.3;  // of PooledGrid()
  constexpr double kMinLeafNoise = 0.03;
  const std::vector<double> shape = PriorShape(basis_);
  std::vector<double> gains;
  for (size_t j = 0; j < basis_.rank(); ++j) {
    const double trust = 1 / (1 + (report_variance[j] + kMinLeafNoise) / (widest_prior * shape[j]));
    gains.push_back(static_cast<double>(basis_.rows()) * trust / (devices * basis_.lambda()[j]));
  }
  // A report of numbers is one end of their range; half the range is a margin of one.
  const double per_margin = basis_.has_numbers() ? number_per_place_ / 2 : 1;
  return per_margin * margin_influence * basis_.LargestSwing(gains);
}

}  // namespace coppice::curator
