// logistic: a weight for every bin of every column, summed to a row's log-odds.
//
// No split is chosen, so no epsilon is spent on choosing: each column is asked once, in turn, what
// is still missing in each of its bins, and a row answers in one bin only, so that many bins cost
// no more than two. It cannot express what depends on two features together, but its few sums are
// measured well where rows are few, and with a delta its noise grows with the root of the number of
// columns instead of their number.
//
// Source     docs/research/mechanisms.md#logistic. The baseline of the thesis "Private Boosted
//            Decision Trees via Smooth Re-Weighting" is logistic regression on one-hot bins by
//            objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011), whose guarantee needs
//            the exact minimum and real-valued noise. This algorithm releases gradients instead.
// Guarantee  epsilon-DP, or (epsilon, delta)-DP with a delta; add or remove one row. It releases
//            noisy moments and gradients of straight lines through the numeric columns, if the
//            noisy number of rows shows that noise leaves enough of them; then the residuals of
//            each bin, column after column. All are sums of whole numbers over rows, bounded row by
//            row; shares add up.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"

namespace coppice::trainers {
namespace {

constexpr int64_t kUnit = int64_t{1} << 20;  // of residuals
constexpr uint32_t kCuts = 127;
constexpr double kLogisticCountShare = 0.01;
constexpr double kMaxLineNoise = 0.4;  // relative to the rows: noisier lines are left out
constexpr char kTooSmall[] =
    "epsilon is too small for so many features: use a larger one, or fewer features";
constexpr uint32_t kMinGroups = 8, kMaxGroups = 64;
constexpr double kGroupInformation = 5;  // root of rows per row of noise

Sensitivity ResidualSensitivity(uint32_t classes) {
  return ClassTask({}, classes, kUnit)->kind().sensitivity;
}

struct LogisticConfig {
  uint32_t classes = 2;
  std::vector<FeatureBins> bins{};
  std::vector<Line> lines{};           // none if lines are impossible
  uint32_t steps = 0;                  // of lines
  std::optional<uint32_t> groups{};    // if they were set
  std::optional<BudgetShare> count{};  // unset if nothing depends on the number of rows
  BudgetShare billed = BudgetShare::WithoutPrivacy();  // of the weights, in epsilon
  BudgetShare fit =
      BudgetShare::WithoutPrivacy();  // the same, or rho that follows from it and the delta
  double line_share = 0;
  uint64_t delta_atto = 0;

  uint64_t terms() const { return lines.size() + 1; }
  StatusOr<BudgetShare> OfColumn(const BudgetShare& columns) const {
    return EqualShare(columns, bins.size());
  }
  StatusOr<LineShares> SharesOfLines(const BudgetShare& of_lines) const {
    return DivideForLines(of_lines, steps, ResidualSensitivity(classes), terms());
  }
};

// Whether lines can be paid for at all, which depends on the schema and the budget alone.
bool CanPayForLines(const LogisticConfig& config) {
  const StatusOr<TwoShares> parts = Divide(config.fit, config.line_share);
  return parts.ok() && config.OfColumn(parts->rest).ok() && config.SharesOfLines(parts->part).ok();
}

StatusOr<double> ColumnScale(const LogisticConfig& config, const BudgetShare& columns) {
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare column, config.OfColumn(columns));
  return NoiseScale(ResidualSensitivity(config.classes), column);
}

// Uses the delta if that lowers the noise, which epsilon and the number of columns decide.
BudgetShare InRhoIfThatIsLess(const LogisticConfig& config, double scale) {
  if (!config.fit.is_private() || config.delta_atto == 0) return config.fit;
  const StatusOr<Rho> rho = Rho::Implying(config.fit.budget(), config.delta_atto);
  if (!rho.ok()) return config.fit;
  const StatusOr<double> in_rho = ColumnScale(config, BudgetShare(*rho));
  return in_rho.ok() && *in_rho < scale ? BudgetShare(*rho) : config.fit;
}

// What the released number of rows decided.
struct Choice {
  bool lines = false;
  BudgetShare columns = BudgetShare::WithoutPrivacy();  // of all columns
  uint32_t groups = 1;

  std::string InWords(const LogisticConfig& config) const {
    return StrCat(lines ? StrCat(config.lines.size(), " lines, then ") : "",
                  "each column in at most ", groups, " bins, ",
                  !config.fit.is_private()       ? "without noise"
                  : config.fit.is_concentrated() ? "with Gaussian noise"
                                                 : "with Laplace noise");
  }
};

// Returns as many groups as still hold enough rows to show above the noise of their sums.
uint32_t GroupsFor(double rows, double scale) {
  if (scale == 0) return kMaxGroups;
  const double noise = scale / static_cast<double>(kUnit);
  const double groups = std::sqrt(std::max(rows, 0.0) / noise / 2) / kGroupInformation;
  const double power = std::exp2(std::round(std::log2(std::max(groups, 1.0))));
  return static_cast<uint32_t>(std::clamp<double>(power, kMinGroups, kMaxGroups));
}

StatusOr<Choice> Choose(double rows, const LogisticConfig& config) {
  Choice choice{.columns = config.fit};
  if (!config.lines.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(config.fit, config.line_share));
    COPPICE_ASSIGN_OR_RETURN(const LineShares shares, config.SharesOfLines(parts.part));
    COPPICE_ASSIGN_OR_RETURN(const double noise, MomentNoise(shares, config.terms()));
    choice.lines = noise < kMaxLineNoise * rows;
    if (choice.lines) choice.columns = parts.rest;
  }
  COPPICE_ASSIGN_OR_RETURN(const double scale, ColumnScale(config, choice.columns));
  choice.groups = config.groups.value_or(GroupsFor(rows, scale));
  return choice;
}

// The weights of one model, while they are fitted.
class LogisticFit {
 public:
  LogisticFit(const BinnedRows& rows, PrivateReleaser& releaser)
      : rows_(rows),
        task_(ClassTask(rows.labels(), rows.num_classes(), kUnit)),
        releaser_(releaser),
        constant_(1, task_->kind().outputs),
        has_line_(rows.num_features()) {
    for (const FeatureBins& bins : rows.bins()) {
      columns_.emplace_back(bins.size(), task_->kind().outputs);
    }
  }

  Status FitLines(const std::vector<Line>& lines, const LineShares& shares) {
    COPPICE_ASSIGN_OR_RETURN(
        FittedLines fitted,
        coppice::trainers::FitLines(rows_, lines, shares, kUnit, *task_, releaser_));
    constant_ = std::move(fitted.constant);
    for (size_t i = 0; i < lines.size(); ++i) {
      columns_[lines[i].column].Add(fitted.lines[i]);
      has_line_[lines[i].column] = true;
    }
    noise_factor_ = std::move(fitted.noise_factor);
    return OkStatus();
  }

  Status FitColumn(uint32_t column, uint32_t groups, const BudgetShare& share) {
    COPPICE_ASSIGN_OR_RETURN(
        const ColumnScores found,
        VisitColumn(rows_, {.column = column, .groups = groups}, kUnit, share, *task_, releaser_));
    columns_[column].Add(found);
    return OkStatus();
  }

  // Tree 0 is the constant; then come the columns' trees, in order.
  StatusOr<std::vector<TrainedTree>> Trees(const Schema& schema, SharedNoise& shared) const {
    std::vector<TrainedTree> trees = {ConstantTree(constant_, *task_)};
    if (!noise_factor_.empty()) shared = {.trees = {0}, .factor = noise_factor_};
    for (uint32_t column = 0; column < columns_.size(); ++column) {
      if (has_line_[column]) shared.trees.push_back(static_cast<uint32_t>(trees.size()));
      COPPICE_RETURN_IF_ERROR(
          AddColumnTrees(schema, column, rows_.bins()[column], columns_[column], *task_, trees));
    }
    return trees;
  }

 private:
  const BinnedRows& rows_;
  std::unique_ptr<BoostTask> task_;
  PrivateReleaser& releaser_;
  ColumnScores constant_;
  std::vector<ColumnScores> columns_;
  std::vector<bool> has_line_;        // per column
  std::vector<double> noise_factor_;  // of the lines' shared noise
};

class LogisticTrainer final : public TrainerFrame<LogisticConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<LogisticConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                     const TrainOptions& options) const override;
  // A rule of thumb: an informative column separates a tenth of the rows, in a few bins, and that
  // must exceed the noise.
  StatusOr<std::vector<std::string>> WarningsOf(const LogisticConfig& config) const override {
    constexpr double kRowsOfNoise = 20, kFew = 300;
    if (!config.fit.is_private()) return std::vector<std::string>();
    COPPICE_ASSIGN_OR_RETURN(const double scale, ColumnScale(config, config.fit));
    const double rows = kRowsOfNoise * scale / static_cast<double>(kUnit);
    if (rows < kFew) return std::vector<std::string>();
    return std::vector<std::string>{
        StrCat("below about ", std::llround(rows),
               " rows, noise hides what a column says: expect little better than always giving the "
               "most frequent answer. A larger epsilon or fewer features help")};
  }

  // Bins; scores and residuals of each output; and a row's bin in the column that is fitted.
  StatusOr<uint64_t> BytesOfRow(const LogisticConfig& config, const Schema& schema) const override {
    const uint64_t outputs = schema.num_classes() > 2 ? schema.num_classes() : 1;
    return BytesOfBinnedRow(config.bins) + outputs * (sizeof(double) + sizeof(int32_t)) +
           2 * sizeof(uint32_t);
  }
  StatusOr<Model> TrainAs(const LogisticConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override;

  ModelShape ShapeOf(const LogisticConfig& config, const Schema& /*schema*/) const override {
    return {.trees = MostColumnTrees(config.bins) + 1,
            .leaves = MostColumnLeaves(config.bins) + 1,
            .scores = true,
            .advice = "leave out features, categories or classes"};
  }

  std::vector<Release> PlanOf(const LogisticConfig& config) const override {
    Releases releases(EnsembleOptions{.trees = 1, .groups = false});
    if (config.count) releases.Add("the number of rows", kDiscreteLaplace, *config.count);
    releases.Add(config.lines.empty()
                     ? "residuals by bin, column after column"
                     : "moments and gradients of lines, where the number of rows is enough for "
                       "them, and residuals by bin, column after column",
                 config.fit.is_concentrated() ? "discrete_gaussian" : kDiscreteLaplace,
                 config.billed, /*times=*/1, config.delta_atto);
    return std::move(releases).Take();
  }

  AlgorithmInfo info_ = {
      .name = "logistic",
      .summary = "logistic regression on binned features: a weight a bin, which can be read",
      .source =
          "docs/research/mechanisms.md, logistic; in place of Chaudhuri, Monteleoni, Sarwate 2011",
      .delta = true,
      .parameters = {
          RealParameter("lines", 0, 0.9, "0.4",
                        "part of epsilon that first fits straight lines through all numeric "
                        "features at once, where rows are enough for that; 0: none. The rest fits "
                        "a weight for each bin, feature after feature"),
          IntegerParameter("steps", 1, 100, "8",
                           "gradient steps of the lines. More come closer to the best lines, with "
                           "more noise in each"),
          IntegerParameter("bins", 1, 128, "",
                           "of each numeric feature, that weights are measured of. More of them "
                           "follow a curve more closely, with more noise. By default 8 to 64, by a "
                           "noisy number of rows, for a hundredth of epsilon")}};
};

StatusOr<LogisticConfig> LogisticTrainer::Configure(const Schema& schema,
                                                    const CheckedSettings& settings,
                                                    const TrainOptions& options) const {
  LogisticConfig config{.classes = schema.num_classes(),
                        .steps = static_cast<uint32_t>(settings.Integer("steps")),
                        .line_share = settings.Real("lines"),
                        .delta_atto = options.delta_atto};
  if (settings.Has("bins")) config.groups = static_cast<uint32_t>(settings.Integer("bins"));
  COPPICE_ASSIGN_OR_RETURN(config.bins, PublicBins(schema, kCuts));
  std::vector<Line> lines = PublicLines(schema, config.bins);
  const bool may_fit_lines = config.line_share > 0 && !lines.empty() && lines.size() <= kMaxLines;
  config.fit = BudgetShare::Of(options.epsilon);
  if (may_fit_lines || (!lines.empty() && !config.groups)) {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(config.fit, kLogisticCountShare));
    config.count = shares.part;
    config.fit = shares.rest;
  }
  config.billed = config.fit;
  COPPICE_ASSIGN_OR_RETURN(const double scale, ColumnScale(config, config.fit));
  if (!(scale < kMaxScale)) return InvalidArgumentError(kTooSmall);
  config.fit = InRhoIfThatIsLess(config, scale);
  if (may_fit_lines) {
    config.lines = std::move(lines);
    if (!CanPayForLines(config)) config.lines.clear();
  }
  return config;
}

StatusOr<Model> LogisticTrainer::TrainAs(const LogisticConfig& config, const RowBlocks& rows,
                                         const TrainOptions& options, PrivateReleaser& releaser,
                                         const TrainProgress& progress) const {
  const Schema& schema = rows.schema();
  int64_t counted = 0;
  if (config.count) {
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<int64_t> noisy,
        releaser.Sums({static_cast<int64_t>(rows.num_rows())}, 1, *config.count));
    counted = noisy[0];
  }
  COPPICE_ASSIGN_OR_RETURN(const Choice choice, Choose(static_cast<double>(counted), config));
  COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned, BinnedRows::Create(rows, config.bins));
  LogisticFit fitting(binned, releaser);
  COPPICE_RETURN_IF_ERROR(progress(0));
  if (choice.lines) {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(config.fit, config.line_share));
    COPPICE_ASSIGN_OR_RETURN(const LineShares shares, config.SharesOfLines(parts.part));
    COPPICE_RETURN_IF_ERROR(fitting.FitLines(config.lines, shares));
  }
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare column, config.OfColumn(choice.columns));
  const auto columns = static_cast<uint32_t>(binned.num_features());
  for (uint32_t f = 0; f < columns; ++f) {
    COPPICE_RETURN_IF_ERROR(progress(f / static_cast<double>(columns)));
    COPPICE_RETURN_IF_ERROR(fitting.FitColumn(f, choice.groups, column));
  }
  SharedNoise shared_noise;
  COPPICE_ASSIGN_OR_RETURN(std::vector<TrainedTree> trees, fitting.Trees(schema, shared_noise));
  return MakeModel(schema, std::move(trees), LeafKind::kScores, /*derived=*/{}, info_, options,
                   PlanOf(config), choice.InWords(config), std::move(shared_noise));
}

}  // namespace

const Trainer& Logistic() {
  static const LogisticTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
