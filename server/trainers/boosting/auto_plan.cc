#include "server/trainers/boosting/auto_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/narrow_bounds.h"
#include "server/trainers/boosting/number_scale.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

// These numbers were found by trial on public tables and are the same for all data: the first group
// on banknote, credit, rice, diabetes and abalone at epsilon 0.1 to 4, the others on the tables
// that docs/research/auto.md names, which also says what they gain and lose. Most optima are flat:
// half of kInformation costs .003 of accuracy and twice of it nothing that shows, kSelectShare of
// .5 costs .002 and .75 is level.
constexpr double kCountShare = 0.01;
// What a second number of rows, odds and narrower bounds leave of the forest, at least.
constexpr double kLeastForTrees = (1 - 0.05) * (1 - 0.1) * (1 - kMaxNarrowingShare) * 0.95;
constexpr double kSelectShare = 0.65;  // of a level; the rest measures
constexpr double kInformation = 140;   // rows times epsilon, for each further round
constexpr double kMaxRounds = kMostLevels;
constexpr double kMaxTreeDepth = 4;
// Shares of the levels: deeper nodes have fewer rows, but with equal shares a tree is only .001
// worse.
constexpr Growth kLevels = {.to = 5, .from = 4};

// Rows times epsilon below which the first number of rows is hardly more than noise.
constexpr double kFewInformation = 300;
constexpr double kSecondCountShare = 0.05;
// Below it, a model of several classes consists of their counts alone.
constexpr double kConstantInformation = 15;

// For two classes. Below the first limit their counts are noise themselves; above the second a
// start at the odds was not seen to help.
constexpr double kOddsInformation = 100, kMaxOddsInformation = 12'000;
constexpr double kMinOddsShare = 0.02, kMaxOddsShare = 0.1;
constexpr double kOddsRelease = 28;  // rows times epsilon for the odds, between the bounds above
// Log-odds that trees begin with not at all (one class in five), and in full (one in ten).
constexpr double kEvenLogOdds = 1.4, kRareLogOdds = 2.2;
constexpr double kPartsInformation = 120;  // above it, parts are measured apart
constexpr uint32_t kRunsOfChild = 4;       // two gain half as much, eight lose log loss
// With more rounds the splits themselves tell rows apart, and parts are only noise.
constexpr double kMaxPartRounds = 9, kMaxPartRoundsInRho = 5;
// How far the ends of a child that is measured whole lean apart: enough to rank its rows, and
// hardly ever to change an answer.
constexpr double kTilt = 0.05;

constexpr double kLineShare = 0.2;        // of the forest, if lines come first
constexpr double kNumberLineShare = 0.1;  // of the trees, likewise
constexpr uint32_t kLineSteps = 8;
constexpr double kMaxMomentNoise = 0.2;  // relative to the rows: noisier lines are left out

// A visit costs .15 of the forest, as long as all together leave it .6, or more of it if most
// columns are such: adult with its columns crossed to five of many categories had an AUC of .847 at
// epsilon 1, and .788 without visits (in a prototype).
constexpr double kVisitShare = 0.15, kMaxVisitShare = 0.4, kMaxShareOfVisitedAlone = 0.8;

// Numeric columns, and rows times epsilon, below which classes do not look for directions.
constexpr size_t kMinDirections = 16;
constexpr double kDirectionInformation = 1000;

constexpr double kPassShare = 0.4;      // of the forest, if passes come last
constexpr double kMinPassSignal = 0.4;  // of the middle column, in deviations of the noise
constexpr double kMinPassRounds = 0.7;  // relative to the rounds without delta
constexpr double kMaxPassRounds = 12;   // with more, trees find what passes would
// Every column and class without information adds its noise to all rows.
constexpr size_t kMaxPassColumns = 32;
constexpr uint32_t kMaxPassClasses = 8;
constexpr double kMinSlope = 0.02;

double RhoOf(const BudgetShare& share) {
  return static_cast<double>(share.rho().picos()) / Rho::kPicosPerRho;
}

AutoChoice ClampRounds(AutoChoice choice) {
  choice.rounds = std::clamp(choice.rounds, 1.0, kMaxRounds);
  return choice;
}

}  // namespace

// Rounds are worth their noise while each sees enough. A round's signal grows with the rows, its
// noise with the number of rounds (in epsilon) or its root (in rho), and the later a round is, the
// less is left to find. So their number is where rows * epsilon / rounds^2, or in rho rows *
// sqrt(rho) / rounds^(3/2), is just enough.
double RoundsInEpsilon(double rows, double epsilon) {
  return std::sqrt(std::max(rows, 0.0) * epsilon / kInformation);
}
double RoundsInRho(double rows, const BudgetShare& forest) {
  return std::pow(std::max(rows, 0.0) * std::sqrt(8 * kSelectShare * RhoOf(forest)) /
                      (kSelectShare * kInformation),
                  2.0 / 3);
}

namespace {

// The two ways to spend the rest of the forest's share: the second uses its delta.
struct BudgetOptions {
  BudgetShare epsilon = BudgetShare::WithoutPrivacy();
  std::optional<BudgetShare> rho{};
  bool only_rho = false;
};

BudgetOptions BudgetOptionsOf(const AutoBudgets& budgets, const BudgetShare& left) {
  if (left.is_concentrated()) return {.epsilon = left, .rho = left, .only_rho = true};
  BudgetOptions options{.epsilon = left};
  if (!budgets.concentrated) return options;
  if (left.amount() == budgets.forest.amount()) {
    options.rho = budgets.concentrated;
  } else if (const auto rho = Rho::Implying(left.budget(), budgets.delta_atto); rho.ok()) {
    options.rho = BudgetShare(*rho);
  }
  return options;
}

AutoChoice Choose(double rows, const BudgetOptions& options) {
  rows = std::max(rows, 0.0);
  const double pure =
      options.only_rho ? 0 : RoundsInEpsilon(rows, options.epsilon.budget().epsilon());
  const double concentrated = options.rho ? RoundsInRho(rows, *options.rho) : 0;
  if (options.only_rho || concentrated > pure) {
    return ClampRounds({.rows = rows, .forest = *options.rho, .rounds = concentrated});
  }
  return ClampRounds({.rows = rows, .forest = options.epsilon, .rounds = pure});
}

}  // namespace

Status CheckTreeShares(const BudgetShare& trees) {
  AutoChoice most;
  most.rounds = kMaxRounds;
  return SharesOfLevels(trees, most).status();
}

Status CheckShares(const Schema& schema, const BudgetShare& forest) {
  if (!schema.target()) return CheckTreeShares(forest);
  COPPICE_ASSIGN_OR_RETURN(const NumberShares shares, DivideForNumbers(forest));
  return CheckTreeShares(shares.trees);
}

namespace {

StatusOr<VisitPlan> DivideForVisits(const AutoChoice& choice, std::vector<uint32_t> columns,
                                    const Schema& schema) {
  const auto visited = static_cast<double>(columns.size());
  const double of_columns = visited / static_cast<double>(schema.num_features());
  const double share = std::min(kVisitShare * visited,
                                std::max(kMaxVisitShare, kMaxShareOfVisitedAlone * of_columns));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(choice.forest, share));
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare visit, EqualShare(parts.part, columns.size()));
  COPPICE_RETURN_IF_ERROR(SharesOfLevels(parts.rest, choice).status());
  const auto classes = static_cast<uint32_t>(schema.num_classes());
  COPPICE_ASSIGN_OR_RETURN(const double scale,
                           NoiseScale(ClassTask({}, classes)->kind().sensitivity, visit));
  if (!(scale < kMaxScale)) return InvalidArgumentError("epsilon is too small for a visit");
  return VisitPlan{.columns = std::move(columns), .visit = visit, .rest = parts.rest};
}

}  // namespace

// A tree takes a split for each category of a column that cannot be split into all of them, while a
// visit measures all at once, for what one costs.
std::optional<VisitPlan> ChooseVisits(const AutoChoice& choice, const Schema& schema,
                                      const BoostColumns& columns) {
  std::vector<uint32_t> visited;
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    const FeatureBins& bins = columns.bins[f];
    if (bins.type == FeatureType::kCategorical && bins.known > kMaxSplitCategories) {
      visited.push_back(f);
    }
  }
  if (visited.empty()) return std::nullopt;
  StatusOr<VisitPlan> plan = DivideForVisits(choice, std::move(visited), schema);
  if (!plan.ok()) return std::nullopt;  // too small to be divided
  return *std::move(plan);
}

namespace {

// What lines and trees share, and how.
struct LinesAndTrees {
  BudgetShare whole;
  double of_lines = 0;
  Sensitivity residuals{};
};

StatusOr<LinePlan> DivideForLinesAndTrees(const LinesAndTrees& both, const AutoChoice& choice,
                                          uint64_t terms) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(both.whole, both.of_lines));
  COPPICE_RETURN_IF_ERROR(SharesOfLevels(parts.rest, choice).status());
  COPPICE_ASSIGN_OR_RETURN(const LineShares shares,
                           DivideForLines(parts.part, kLineSteps, both.residuals, terms));
  return LinePlan{.shares = shares, .trees = parts.rest};
}

// Columns that say little alone may say much together, for which trees need many splits. So models
// of two classes, and of numbers, in mostly numeric tables (those with oblique columns) begin with
// lines, if noise leaves enough of them: that depends on the schema, the shares and the released
// row count.
StatusOr<std::optional<LinePlan>> ChooseLines(const LinesAndTrees& both, const AutoChoice& choice,
                                              const BoostColumns& columns,
                                              absl::Span<const Line> lines) {
  if (columns.derived.empty() || lines.size() > kMaxLines) return std::nullopt;
  const uint64_t terms = lines.size() + 1;
  const StatusOr<LinePlan> plan = DivideForLinesAndTrees(both, choice, terms);
  if (!plan.ok()) return std::nullopt;  // too small to be divided
  COPPICE_ASSIGN_OR_RETURN(const double noise, MomentNoise(plan->shares, terms));
  if (!(noise < kMaxMomentNoise * choice.rows)) return std::nullopt;
  return *plan;
}

// Several classes have no lines. In wide tables that are mostly numeric their means may tell them
// apart better than trees do (mean_directions.h).
StatusOr<std::optional<DirectionPlan>> ChooseDirections(const AutoChoice& choice,
                                                        const Schema& schema,
                                                        const BoostColumns& columns,
                                                        absl::Span<const Line> lines) {
  if (columns.derived.empty() || lines.size() < kMinDirections) return std::nullopt;
  const BudgetShare& whole = choice.after_visits();
  if (!(choice.rows * EpsilonInEffect(whole) >= kDirectionInformation)) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(
      const std::optional<DirectionPlan> plan,
      PlanDirections(whole, choice.rows, static_cast<uint32_t>(schema.num_classes()),
                     lines.size() + 1));
  if (!plan || !SharesOfLevels(plan->trees, choice).ok()) return std::nullopt;
  return plan;
}

// Returns how fast each output's residuals fall as its score grows, by what the odds say.
std::vector<double> SlopesOf(const ClassStart& start, uint32_t classes) {
  std::vector<double> slopes;
  for (uint32_t output = 0; output < (classes == 2 ? 1 : classes); ++output) {
    const double share =
        !start.odds.empty() ? start.odds[output] : 1.0 / static_cast<double>(classes);
    slopes.push_back(std::max(share * (1 - share), kMinSlope));
  }
  return slopes;
}

// Returns the signal of the middle column's cells, in deviations of a visit's noise.
StatusOr<double> MiddleSignal(const PassPlan& plan, const Schema& schema,
                              const BoostColumns& columns) {
  const auto classes = static_cast<uint32_t>(schema.num_classes());
  COPPICE_ASSIGN_OR_RETURN(
      const double scale,
      NoiseScale(ClassTask({}, classes)->kind().sensitivity, plan.passes.visit));
  const double deviation = std::numbers::sqrt2 * scale / kResidualUnit;
  double slope = 0;
  for (const double of_output : plan.passes.slopes) {
    slope += of_output / static_cast<double>(plan.passes.slopes.size());
  }
  std::vector<double> signals;
  for (size_t f = 0; f < schema.num_features(); ++f) {
    const FeatureBins cells = PassBins(columns.bins[f], schema.features()[f]);
    signals.push_back(PassSignal(cells, plan.passes.rows, slope) / deviation);
  }
  const auto middle = signals.begin() + static_cast<std::ptrdiff_t>(signals.size() / 2);
  std::nth_element(signals.begin(), middle, signals.end());
  return *middle;
}

// With a delta, visiting all columns costs only the root of their number, and nothing is selected.
// In mostly numeric tables oblique columns and lines are worth more.
std::optional<AutoChoice> ChoosePasses(const ClassStart& start, double effective_rows,
                                       const BudgetOptions& options, const Schema& schema,
                                       const BoostColumns& columns) {
  if (!options.rho || !columns.derived.empty() || schema.num_features() == 0 ||
      schema.num_features() > kMaxPassColumns || schema.num_classes() > kMaxPassClasses) {
    return std::nullopt;
  }
  const double rounds = RoundsInRho(effective_rows, *options.rho);
  if (rounds > kMaxPassRounds) return std::nullopt;
  if (!options.only_rho &&
      rounds <=
          kMinPassRounds * RoundsInEpsilon(effective_rows, options.epsilon.budget().epsilon())) {
    return std::nullopt;
  }
  AutoChoice choice = ClampRounds({.rows = start.rows, .forest = *options.rho, .rounds = rounds});
  choice.visits = ChooseVisits(choice, schema, columns);
  const StatusOr<TwoShares> parts = Divide(choice.after_visits(), kPassShare);
  if (!parts.ok() || !SharesOfLevels(parts->rest, choice).ok()) return std::nullopt;
  const StatusOr<BudgetShare> visit =
      EqualShare(parts->part, kColumnPasses * schema.num_features());
  if (!visit.ok()) return std::nullopt;
  const auto classes = static_cast<uint32_t>(schema.num_classes());
  PassPlan plan{.passes = {.visit = *visit, .rows = start.rows, .slopes = SlopesOf(start, classes)},
                .trees = parts->rest};
  const StatusOr<double> signal = MiddleSignal(plan, schema, columns);
  if (!signal.ok() || *signal < kMinPassSignal) return std::nullopt;
  choice.passes = std::move(plan);
  return choice;
}

// Decides what is measured of a split between two classes.
ChildDetail DetailOf(const ClassStart& start, const AutoChoice& choice) {
  const double most = choice.forest.is_concentrated() ? kMaxPartRoundsInRho : kMaxPartRounds;
  if (!choice.passes && choice.rounds > most) return {};
  const bool has_runs = start.rows * EpsilonInEffect(start.left) >= kPartsInformation;
  return {.runs = has_runs ? kRunsOfChild : 1, .categories = true, .tilt = kTilt};
}

// Rare classes carry only as much information as if both were equally rare.
double EffectiveRows(const ClassStart& start) {
  if (start.odds.size() != 2) return start.rows;
  return start.rows * std::min(1.0, 4 * start.odds[0] * start.odds[1]);
}

// Classes of at least one in five begin with even scores: otherwise a split that changes answers
// would look no better than one that does not.
double StartOf(double log_odds) {
  const double part =
      std::clamp((std::abs(log_odds) - kEvenLogOdds) / (kRareLogOdds - kEvenLogOdds), 0.0, 1.0);
  return part * log_odds;
}

std::vector<int64_t> CountLabels(absl::Span<const uint32_t> labels, uint32_t classes) {
  std::vector<int64_t> counts(classes);
  for (const uint32_t label : labels) {
    if (label < classes) ++counts[label];
  }
  return counts;
}

// Returns the class shares, never 0: a noise deviation is added to each count.
std::vector<double> SharesOfClasses(const Measurement& counts) {
  std::vector<double> shares;
  double sum = 0;
  for (const int64_t count : counts.sums) {
    shares.push_back(std::max(static_cast<double>(count), 0.0) +
                     std::max(std::numbers::sqrt2 * counts.scale, 1.0));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Returns the scores, one per output, that a start with these counts has.
std::vector<double> ScoresOfCounts(const Measurement& counts) {
  const std::vector<double> shares = SharesOfClasses(counts);
  if (shares.size() == 2) return {StartOf(std::log(shares[1] / shares[0]))};
  std::vector<double> scores;
  for (const double share : shares) scores.push_back(std::log(share));
  return scores;
}

Status MeasureClasses(absl::Span<const uint32_t> labels, uint32_t classes, const BudgetShare& share,
                      PrivateReleaser& releaser, ClassStart& start, RowEstimate& rows) {
  COPPICE_ASSIGN_OR_RETURN(
      const Measurement counts,
      releaser.Measure(CountLabels(labels, classes), {.l1 = 1, .l2_squared = 1}, share));
  double sum = 0;
  for (const int64_t count : counts.sums) sum += static_cast<double>(count);
  rows.Add(sum, 2 * classes * counts.scale * counts.scale);
  start.rows = rows.rows();
  start.odds = SharesOfClasses(counts);
  start.scores = ScoresOfCounts(counts);
  start.noise = releaser.NoiseOf(counts, ScoresOfCounts, [&] {
    return NoiseBySimulation(counts, start.scores, ScoresOfCounts);
  });
  return OkStatus();
}

// Measures a number of rows that is more than noise, if the first one is not.
Status MeasureRows(int64_t rows, PrivateReleaser& releaser, ClassStart& start,
                   RowEstimate& estimate) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(start.left, kSecondCountShare));
  COPPICE_ASSIGN_OR_RETURN(const Measurement counted,
                           releaser.Measure({rows}, {.l1 = 1, .l2_squared = 1}, parts.part));
  estimate.Add(static_cast<double>(counted.sums[0]), 2 * counted.scale * counted.scale);
  start.left = parts.rest;
  start.rows = estimate.rows();
  return OkStatus();
}

}  // namespace

double EpsilonInEffect(const BudgetShare& share) {
  if (!share.is_concentrated()) return share.budget().epsilon();
  return std::sqrt(8 * kSelectShare * RhoOf(share)) / kSelectShare;
}

Status CheckForest(const Schema& schema, const BudgetShare& forest) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares least, Divide(forest, kLeastForTrees));
  return CheckShares(schema, least.part);
}

std::optional<BudgetShare> ConcentratedForest(const Schema& schema, const BudgetShare& forest,
                                              uint64_t delta_atto) {
  const StatusOr<Rho> rho = Rho::Implying(forest.budget(), delta_atto);
  const StatusOr<TwoShares> least = Divide(forest, kLeastForTrees);
  if (!rho.ok() || !least.ok()) return std::nullopt;
  const StatusOr<Rho> least_rho = Rho::Implying(least->part.budget(), delta_atto);
  if (!least_rho.ok() || !CheckShares(schema, BudgetShare(*least_rho)).ok()) return std::nullopt;
  return BudgetShare(*rho);
}

StatusOr<AutoBudgets> AutoBudgetsOf(const Schema& schema, const TrainOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                           Divide(BudgetShare::Of(options.epsilon), kCountShare));
  COPPICE_RETURN_IF_ERROR(CheckForest(schema, shares.rest));
  AutoBudgets budgets{.count = shares.part, .forest = shares.rest};
  if (options.delta_atto == 0 || !options.epsilon) return budgets;
  budgets.delta_atto = options.delta_atto;
  budgets.concentrated = ConcentratedForest(schema, shares.rest, options.delta_atto);
  if (!options.concentrated) return budgets;
  if (!budgets.concentrated) {
    return InvalidArgumentError(
        "epsilon and delta give a rho that is too small to divide: increase either");
  }
  budgets.states_rho = true;
  return budgets;
}

StatusOr<ClassStart> ReleaseClassStart(absl::Span<const uint32_t> labels, uint32_t num_classes,
                                       const RowEstimate& counted, const AutoBudgets& budgets,
                                       PrivateReleaser& releaser) {
  ClassStart start{.rows = counted.rows(),
                   .left = budgets.states_rho ? *budgets.concentrated : budgets.forest};
  RowEstimate rows = counted;
  const auto information = [&] { return start.rows * EpsilonInEffect(start.left); };
  if (information() < kFewInformation) {
    COPPICE_RETURN_IF_ERROR(
        MeasureRows(static_cast<int64_t>(labels.size()), releaser, start, rows));
  }
  if (num_classes > 2) {
    start.is_all = information() < kConstantInformation;
    if (start.is_all) {
      COPPICE_RETURN_IF_ERROR(
          MeasureClasses(labels, num_classes, start.left, releaser, start, rows));
    }
    return start;
  }
  if (information() < kOddsInformation || information() > kMaxOddsInformation) return start;
  const double share = std::clamp(kOddsRelease / information(), kMinOddsShare, kMaxOddsShare);
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(start.left, share));
  COPPICE_RETURN_IF_ERROR(MeasureClasses(labels, num_classes, parts.part, releaser, start, rows));
  start.left = parts.rest;
  if (information() < kOddsInformation || start.scores[0] == 0) {
    start.scores.clear();
    start.noise.clear();
  }
  if (information() < kOddsInformation) start.odds.clear();
  return start;
}

uint32_t AutoChoice::depth() const {
  return static_cast<uint32_t>(std::clamp(std::round(rounds), 1.0, kMaxTreeDepth));
}
uint32_t AutoChoice::trees() const {
  return static_cast<uint32_t>(std::max(1.0, std::round(rounds / depth())));
}

std::string AutoChoice::InWords() const {
  if (constant) {
    return StrCat("one number for all rows, ",
                  forest.is_concentrated() ? "with Gaussian noise" : "with Laplace noise");
  }
  return StrCat(lines              ? "lines, then "
                : found_directions ? "the classes' means, then "
                                   : "",
                visits ? StrCat("a visit to each of ", visits->columns.size(),
                                " columns of many categories, then ")
                       : "",
                trees(), trees() == 1 ? " tree of " : " trees of ", depth(),
                depth() == 1 ? " level, " : " levels, ",
                passes ? StrCat("then ", kColumnPasses, " passes over all columns, ") : "",
                forest.is_concentrated() ? "with Gaussian noise" : "with Laplace noise");
}

AutoChoice ChooseForNumbers(double rows, const AutoBudgets& budgets) {
  return ChooseForNumbers(rows, budgets,
                          budgets.states_rho ? *budgets.concentrated : budgets.forest);
}

AutoChoice ChooseForNumbers(double rows, const AutoBudgets& budgets, const BudgetShare& left) {
  return Choose(rows, BudgetOptionsOf(budgets, left));
}

StatusOr<AutoChoice> ChooseForClasses(const ClassStart& start, const AutoBudgets& budgets,
                                      const Schema& schema, const BoostColumns& columns,
                                      absl::Span<const Line> lines) {
  const BudgetOptions options = BudgetOptionsOf(budgets, start.left);
  const double effective_rows = EffectiveRows(start);
  AutoChoice choice = Choose(effective_rows, options);
  choice.rows = start.rows;
  choice.visits = ChooseVisits(choice, schema, columns);
  if (auto with_passes = ChoosePasses(start, effective_rows, options, schema, columns)) {
    choice = *std::move(with_passes);
  }
  if (schema.num_classes() == 2) choice.detail = DetailOf(start, choice);
  if (schema.num_classes() == 2) {
    const LinesAndTrees both = {.whole = choice.after_visits(),
                                .of_lines = kLineShare,
                                .residuals = ClassTask({}, /*num_classes=*/2)->kind().sensitivity};
    COPPICE_ASSIGN_OR_RETURN(choice.lines, ChooseLines(both, choice, columns, lines));
  } else {
    COPPICE_ASSIGN_OR_RETURN(choice.directions, ChooseDirections(choice, schema, columns, lines));
  }
  return choice;
}

StatusOr<std::optional<LinePlan>> ChooseLinesForNumbers(const AutoChoice& choice,
                                                        const BoostColumns& columns,
                                                        absl::Span<const Line> lines) {
  COPPICE_ASSIGN_OR_RETURN(const NumberShares shares, DivideForNumbers(choice.forest));
  const LinesAndTrees both = {.whole = shares.trees,
                              .of_lines = kNumberLineShare,
                              .residuals = NumberTask({}, 0, 1)->kind().sensitivity};
  return ChooseLines(both, choice, columns, lines);
}

ModelShape MostOfChoices(absl::Span<const FeatureBins> bins, uint64_t outputs) {
  const auto levels = static_cast<uint64_t>(kMaxRounds);
  const uint64_t ends = uint64_t{1} << static_cast<uint64_t>(kMaxTreeDepth);  // of a tree
  uint64_t widest = 0;
  for (const FeatureBins& column : bins) widest = std::max<uint64_t>(widest, column.size());
  // Parts are measured apart for one output and few rounds: in each child of a level runs of a
  // numeric column, or the other categories one by one.
  const uint64_t parts = outputs == 1 ? std::max<uint64_t>(2 * kRunsOfChild, widest + 2) : 0;
  const auto levels_with_parts =
      static_cast<uint64_t>(std::max(kMaxPartRounds, kMaxPartRoundsInRho));
  // Lines and visits go over different columns, passes over all of them.
  return {
      .trees = levels + 2 * MostColumnTrees(bins) + 2,
      .leaves = levels * ends + levels_with_parts * ends * parts + 2 * MostColumnLeaves(bins) + 2,
      .scores = true,
      .advice = "leave out features, categories or classes"};
}

StatusOr<std::vector<LevelShares>> SharesOfLevels(const BudgetShare& forest,
                                                  const AutoChoice& choice) {
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare tree, EqualShare(forest, choice.trees()));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<BudgetShare> levels,
                           GeometricShares(tree, choice.depth(), kLevels));
  std::vector<LevelShares> shares;
  for (const BudgetShare& level : levels) {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(level, kSelectShare));
    shares.push_back({.select = parts.part, .measure = parts.rest});
  }
  return shares;
}

}  // namespace coppice::trainers
