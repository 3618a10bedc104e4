// auto: boosted trees with nothing to tune.
//
// Source     docs/mechanisms.md#boosting has the recipe, its proof and where it comes from.
// Guarantee  epsilon-DP, or (epsilon, delta)-DP with a delta; add or remove one row. A hundredth of
//            epsilon goes to a noisy number of rows, from which (with epsilon, delta, the schema
//            and the task) everything else is decided: how many trees, how deep, whether straight
//            lines come before them, and whether delta is of use. A tree is grown on residuals that
//            each row computes from itself and what was released; levels and trees add up, in
//            epsilon or in rho. Numbers to predict are centred and scaled by two private quantiles
//            first.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/boost_tree.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/boosting/number_scale.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"

namespace coppice::trainers {
namespace {

constexpr double kCountShare = 0.01;
constexpr double kSelectShare = 0.65;   // of a level; the rest measures
constexpr double kInformation = 140;    // rows times epsilon, for each further round
constexpr double kMinInformation = 35;  // below it a single split is mostly noise
constexpr double kMaxRounds = 200;
constexpr double kMaxTreeDepth = 4;
constexpr double kLineShare = 0.2;  // of the forest, where lines come first
constexpr uint32_t kLineSteps = 8;
constexpr double kMaxMomentNoise = 0.2;  // as a part of the rows: lines with more are left out
constexpr Growth kLevels = {.to = 5, .from = 4};  // shares of the levels

struct Budgets {
  BudgetShare count = BudgetShare::WithoutPrivacy();
  BudgetShare forest = BudgetShare::WithoutPrivacy();
  uint64_t delta_atto = 0;  // of the forest
  // What the forest's epsilon and delta allow, if they allow anything.
  std::optional<BudgetShare> concentrated{};
  // Costs are added up as rho, and the forest is held to what it states: noise is Gaussian.
  bool states_rho = false;
};

// Straight lines through the numeric columns, and what they leave for trees.
struct LinePlan {
  LineShares shares;
  BudgetShare trees = BudgetShare::WithoutPrivacy();
};

// What was decided from the number of rows as released.
struct Choice {
  double rows = 0;
  BudgetShare forest = BudgetShare::WithoutPrivacy();
  double rounds = 1;  // levels of all trees together
  std::optional<LinePlan> lines{};

  uint32_t depth() const {
    return static_cast<uint32_t>(std::clamp(std::round(rounds), 1.0, kMaxTreeDepth));
  }
  uint32_t trees() const {
    return static_cast<uint32_t>(std::max(1.0, std::round(rounds / depth())));
  }
  std::string InWords() const {
    return absl::StrCat(lines ? "lines, then " : "", trees(), " trees of ", depth(), " levels, ",
                        !forest.is_private()       ? "without noise"
                        : forest.is_concentrated() ? "with Gaussian noise"
                                                   : "with Laplace noise");
  }
};

// Rounds are worth their noise while each still sees enough: the signal of a round grows with the
// rows, its noise with the rounds (in epsilon), or with their root (in rho).
Choice Choose(double rows, const Budgets& budgets) {
  rows = std::max(rows, 0.0);
  if (!budgets.forest.is_private()) return {.rows = rows, .rounds = kMaxRounds};
  const double epsilon = budgets.forest.budget().epsilon();
  const Choice pure = {
      .rows = rows, .forest = budgets.forest, .rounds = std::sqrt(rows * epsilon / kInformation)};
  const auto held = [](Choice choice) {
    choice.rounds = std::clamp(choice.rounds, 1.0, kMaxRounds);
    return choice;
  };
  if (!budgets.concentrated) return held(pure);
  const double whole_rho =
      static_cast<double>(budgets.concentrated->rho().picos()) / Rho::kPicosPerRho;
  const Choice concentrated = {
      .rows = rows,
      .forest = *budgets.concentrated,
      .rounds = std::pow(
          rows * std::sqrt(8 * kSelectShare * whole_rho) / (kSelectShare * kInformation), 2.0 / 3)};
  return held(budgets.states_rho || concentrated.rounds > pure.rounds ? concentrated : pure);
}

// What a level's selection is worth, as a pure epsilon of the whole level.
double EpsilonInEffect(const Budgets& budgets) {
  if (!budgets.states_rho) return budgets.forest.budget().epsilon();
  const double rho = static_cast<double>(budgets.concentrated->rho().picos()) / Rho::kPicosPerRho;
  return std::sqrt(8 * kSelectShare * rho) / kSelectShare;
}

absl::StatusOr<std::vector<LevelShares>> SharesOfLevels(const BudgetShare& forest,
                                                        const Choice& choice) {
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

// Whether `forest` can be divided, however many trees the number of rows will ask for.
absl::Status CheckShares(const Schema& schema, const BudgetShare& forest) {
  BudgetShare of_trees = forest;
  if (schema.target()) {
    COPPICE_ASSIGN_OR_RETURN(const NumberShares shares, DivideForNumbers(forest));
    of_trees = shares.trees;
  }
  Choice most;
  most.rounds = kMaxRounds;
  return SharesOfLevels(of_trees, most).status();
}

absl::StatusOr<LinePlan> DivideForLinesAndTrees(const Choice& choice, uint64_t terms) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(choice.forest, kLineShare));
  COPPICE_RETURN_IF_ERROR(SharesOfLevels(parts.rest, choice).status());
  const Sensitivity residuals = ClassTask({}, /*num_classes=*/2)->kind().sensitivity;
  COPPICE_ASSIGN_OR_RETURN(const LineShares shares,
                           DivideForLines(parts.part, kLineSteps, residuals, terms));
  return LinePlan{.shares = shares, .trees = parts.rest};
}

// Columns that say little alone may say much together, which takes trees many splits. So two
// classes in tables that are mostly numeric, which have oblique columns, begin with lines, if noise
// leaves enough of these: a matter of the schema, of shares, and of the number of rows as released.
absl::StatusOr<std::optional<LinePlan>> ChooseLines(const Choice& choice, const Schema& schema,
                                                    const BoostColumns& columns,
                                                    absl::Span<const Line> lines) {
  if (!choice.forest.is_private() || schema.target() || schema.num_classes() != 2 ||
      columns.derived.empty() || lines.size() > kMaxLines) {
    return std::nullopt;
  }
  const uint64_t terms = lines.size() + 1;
  const absl::StatusOr<LinePlan> plan = DivideForLinesAndTrees(choice, terms);
  if (!plan.ok()) return std::nullopt;  // too little to be divided
  COPPICE_ASSIGN_OR_RETURN(const double noise, MomentNoise(plan->shares, terms));
  if (!(noise < kMaxMomentNoise * choice.rows)) return std::nullopt;
  return *plan;
}

TrainedTree ToTrained(BoostTree tree, const BoostTask& task) {
  TrainedTree trained;
  for (uint32_t leaf = 0; leaf < tree.scores.size(); ++leaf) {
    trained.leaves.push_back(ScoreLeaf(task.Outputs(tree.scores[leaf]),
                                       task.OutputsNoise(tree.noise[leaf]),
                                       tree.tree.leaf_node(leaf)));
  }
  trained.tree = std::move(tree.tree);
  return trained;
}

// The trees of one model, grown one after the other.
class Boosting {
 public:
  Boosting(const Schema& schema, const Schema& tree_schema, const BinnedRows& rows,
           const Choice& choice, absl::Span<const Line> lines, PrivateReleaser& releaser,
           const TrainProgress& progress)
      : schema_(schema),
        tree_schema_(tree_schema),
        rows_(rows),
        columns_(rows),
        choice_(choice),
        lines_(lines),
        releaser_(releaser),
        progress_(progress) {}

  absl::StatusOr<std::vector<TrainedTree>> Run() {
    if (rows_.regression()) return Numbers();
    const std::unique_ptr<BoostTask> task = ClassTask(rows_.labels(), rows_.num_classes());
    std::vector<TrainedTree> trees;
    if (!choice_.lines) {
      COPPICE_RETURN_IF_ERROR(Grow(*task, choice_.forest, trees));
      return trees;
    }
    COPPICE_RETURN_IF_ERROR(Lines(*task, trees));
    COPPICE_RETURN_IF_ERROR(Grow(*task, choice_.lines->trees, trees));
    return trees;
  }

  // The noise that the lines share, if there are any; after Run().
  SharedNoise TakeSharedNoise() { return std::move(shared_noise_); }

 private:
  absl::Status Grow(BoostTask& task, const BudgetShare& forest, std::vector<TrainedTree>& trees) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<LevelShares> levels,
                             SharesOfLevels(forest, choice_));
    for (uint32_t t = 0; t < choice_.trees(); ++t) {
      COPPICE_RETURN_IF_ERROR(progress_(t / static_cast<double>(choice_.trees())));
      COPPICE_ASSIGN_OR_RETURN(BoostTree tree,
                               GrowBoostTree(tree_schema_, columns_, levels, task, releaser_));
      trees.push_back(ToTrained(std::move(tree), task));
    }
    return absl::OkStatus();
  }

  absl::Status Lines(BoostTask& task, std::vector<TrainedTree>& trees) {
    COPPICE_RETURN_IF_ERROR(progress_(0));
    COPPICE_ASSIGN_OR_RETURN(
        const FittedLines fitted,
        FitLines(rows_, lines_, choice_.lines->shares, kResidualUnit, task, releaser_));
    trees.push_back(ConstantTree(fitted.constant, task));
    shared_noise_ = {.trees = {0}, .factor = fitted.noise_factor};
    for (size_t i = 0; i < lines_.size(); ++i) {
      const uint32_t column = lines_[i].column;
      shared_noise_.trees.push_back(static_cast<uint32_t>(trees.size()));
      COPPICE_RETURN_IF_ERROR(
          AddColumnTrees(schema_, column, rows_.bins()[column], fitted.lines[i], task, trees));
    }
    return absl::OkStatus();
  }

  // What all rows have in common, by the first and the last step, is a tree of one leaf.
  absl::StatusOr<std::vector<TrainedTree>> Numbers() {
    COPPICE_ASSIGN_OR_RETURN(const NumberShares shares, DivideForNumbers(choice_.forest));
    COPPICE_ASSIGN_OR_RETURN(
        const NumberScale scale,
        ReleaseNumberScale(rows_.targets(), choice_.rows, shares.middle, shares.reach, releaser_));
    const std::unique_ptr<BoostTask> task = NumberTask(rows_.targets(), scale.middle, scale.reach);
    COPPICE_ASSIGN_OR_RETURN(const BoostTree first,
                             ReleaseConstant(rows_, shares.first, *task, releaser_));
    std::vector<TrainedTree> trees;
    COPPICE_RETURN_IF_ERROR(Grow(*task, shares.trees, trees));
    COPPICE_ASSIGN_OR_RETURN(const LastStep last, ReleaseLastStep(rows_.targets(), task->scores(0),
                                                                  scale, shares.last, releaser_));
    const double place =
        (scale.middle + scale.reach * first.scores[0][0] + last.value) / kTargetSteps;
    std::vector<OutputNoise> noise = task->OutputsNoise(first.noise[0]);
    constexpr double kStep = 1.0 / kTargetSteps;
    AddNoise({Scaled(last.noise, -kStep), Scaled(last.noise, kStep)}, noise);
    trees.push_back({.leaves = {ScoreLeaf({-place, place}, std::move(noise), 0)}});
    return trees;
  }

  const Schema& schema_;
  const Schema& tree_schema_;
  const BinnedRows& rows_;
  const JointColumns columns_;
  const Choice& choice_;
  absl::Span<const Line> lines_;
  PrivateReleaser& releaser_;
  const TrainProgress& progress_;
  SharedNoise shared_noise_;
};

class AutoTrainer final : public TrainerFrame<Budgets> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  absl::StatusOr<Budgets> Configure(const Schema& schema, const CheckedSettings&,
                                    const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const BoostColumns columns, PublicBoostColumns(schema));
    COPPICE_RETURN_IF_ERROR(ExtendSchema(schema, columns.derived).status());
    const uint32_t classes = schema.target() ? 1 : static_cast<uint32_t>(schema.num_classes());
    COPPICE_RETURN_IF_ERROR(CheckBins(columns.bins, classes == 2 ? 1 : classes));
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                             Divide(BudgetShare::Of(options.epsilon), kCountShare));
    COPPICE_RETURN_IF_ERROR(CheckShares(schema, shares.rest));
    Budgets budgets{.count = shares.part, .forest = shares.rest};
    if (options.delta_atto == 0 || !options.epsilon) return budgets;
    budgets.delta_atto = options.delta_atto;
    const absl::StatusOr<Rho> rho = Rho::Implying(shares.rest.budget(), options.delta_atto);
    if (rho.ok() && CheckShares(schema, BudgetShare(*rho)).ok())
      budgets.concentrated = BudgetShare(*rho);
    if (!options.concentrated) return budgets;
    if (!budgets.concentrated) {
      return absl::InvalidArgumentError(
          "epsilon and delta come to a rho that is too small to be divided: take more of either");
    }
    budgets.states_rho = true;
    return budgets;
  }

  absl::StatusOr<Model> TrainAs(const Budgets& budgets, const Table& rows,
                                const TrainOptions& options, PrivateReleaser& releaser,
                                const TrainProgress& progress) const override {
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<int64_t> counted,
        releaser.Sums({static_cast<int64_t>(rows.num_rows())}, 1, budgets.count));
    Choice choice = Choose(static_cast<double>(counted[0]), budgets);
    COPPICE_ASSIGN_OR_RETURN(BoostColumns columns, PublicBoostColumns(rows.schema()));
    const std::vector<Line> lines = PublicLines(rows.schema(), columns.bins);
    COPPICE_ASSIGN_OR_RETURN(choice.lines, ChooseLines(choice, rows.schema(), columns, lines));
    COPPICE_ASSIGN_OR_RETURN(const Schema tree_schema,
                             ExtendSchema(rows.schema(), columns.derived));
    COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned,
                             BinnedRows::Create(rows, std::move(columns.bins), columns.derived));
    Boosting boosting(rows.schema(), tree_schema, binned, choice, lines, releaser, progress);
    COPPICE_ASSIGN_OR_RETURN(std::vector<TrainedTree> trees, boosting.Run());
    return MakeModel(rows.schema(), std::move(trees), LeafKind::kScores, std::move(columns.derived),
                     info_, options, PlanOf(budgets), choice.InWords(), boosting.TakeSharedNoise());
  }

  absl::StatusOr<std::vector<std::string>> WarningsOf(const Budgets& budgets) const override {
    constexpr double kFew = 1000;
    if (!budgets.forest.is_private()) return std::vector<std::string>();
    const double rows = kMinInformation / EpsilonInEffect(budgets);
    if (rows < kFew) return std::vector<std::string>();
    return std::vector<std::string>{
        absl::StrCat("below about ", std::llround(rows),
                     " rows noise hides even the best split: expect little more than the "
                     "accuracy of always giving the most frequent answer. More epsilon helps")};
  }

  std::vector<Release> PlanOf(const Budgets& budgets) const override {
    Releases releases(EnsembleOptions{.trees = 1, .groups = false});
    releases.Add("the number of rows", kDiscreteLaplace, budgets.count);
    releases.Add(
        "the forest: moments and gradients of lines, where two classes have enough rows for "
        "them, then splits, and sums at every node",
        budgets.delta_atto == 0
            ? "permute_and_flip, discrete_laplace"
            : "permute_and_flip, discrete_laplace or exponential, discrete_gaussian",
        budgets.forest, /*times=*/1, budgets.delta_atto,
        budgets.states_rho ? budgets.concentrated->rho().picos() : 0);
    return std::move(releases).Take();
  }

  AlgorithmInfo info_ = {
      .name = "auto",
      .summary = "boosted trees with nothing to tune: nearly always the most accurate",
      .source = "docs/mechanisms.md, boosting",
      .delta = true,
      .regression = true,
      .parameters = {}};
};

}  // namespace

const Trainer& Auto() {
  static const AutoTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
