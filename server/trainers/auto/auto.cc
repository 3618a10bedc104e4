// auto: boosted trees with nothing to tune.
//
// A private tree has to pay twice: to choose its splits, and to learn what to answer. Three
// decisions make little pay for much here. A split is scored by the sum of the absolute sums of
// residuals in its children. A row can move that by its own residual and no more, and a split that
// separates classes by an edge mu gains n mu / 2, where the same row moves Gini's gain as much and
// the gain is only n mu^2 / 4. Every level is measured, not only the leaves, since rows at the end
// of a tree are few; then the next level sees only what is still missing, and classes are balanced
// again, without which the score would not see a split among rows of which nearly all have one
// class. And a row's residual is held to one half: noise is as large as the largest residual may
// be, but most rows' are small.
//
// Boosting adds such trees up, as in Friedman 2001. More rounds follow the data more closely, each
// with less of the budget; how many pay depends on little else than rows times epsilon, so a noisy
// number of rows is enough to choose everything, and nothing is left to tune on private data.
//
// Source     docs/research/mechanisms.md#boosting has the recipe, its proof and its origin.
// Without an epsilon it is not this algorithm without noise, which gives away for noise's sake what
// nothing asks for then, but the reference of gradient_boosting.cc.
//
// Guarantee  epsilon-DP, or (epsilon, delta)-DP with a delta; add or remove one row. A hundredth of
//            epsilon pays for a noisy number of rows, which decides everything else together with
//            epsilon, delta, the schema and the task: see auto_plan.h. A tree is grown on residuals
//            that each row computes from itself and from released values; levels, trees and passes
//            add up, in epsilon or in rho. Numbers to predict are first centred and scaled by two
//            private quantiles; few numbers by a noisy mean, which is the whole model if they are
//            very few.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/auto_plan.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_task.h"
#include "server/trainers/boosting/boost_tree.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/line_fit.h"
#include "server/trainers/boosting/mean_directions.h"
#include "server/trainers/boosting/narrow_bounds.h"
#include "server/trainers/boosting/number_scale.h"
#include "server/trainers/boosting/public/public_boost.h"
#include "server/trainers/boosting/public/public_start.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"

namespace coppice::trainers {
namespace {

constexpr double kMinInformation = 35;  // below it a single split is mostly noise
constexpr double kNumberTilt = 1;       // for few numbers

bool AreFewNumbers(double rows, const AutoBudgets& budgets) {
  return rows * EpsilonInEffect(WholeOf(budgets)) < kFewNumbers;
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

// The trees of one model, grown one after the other. For few numbers it also finds a better number
// of rows, and updates `choice` accordingly.
class Boosting {
 public:
  Boosting(const Schema& schema, const Schema& tree_schema, const BinnedRows& rows,
           const AutoBudgets& budgets, const ClassStart& start, AutoChoice& choice,
           absl::Span<const Line> lines, uint32_t threads, PrivateReleaser& releaser,
           const TrainProgress& progress)
      : schema_(schema),
        tree_schema_(tree_schema),
        rows_(rows),
        columns_(rows),
        budgets_(budgets),
        start_(start),
        choice_(choice),
        lines_(lines),
        threads_(threads),
        releaser_(releaser),
        progress_(progress) {}

  StatusOr<std::vector<TrainedTree>> Run() {
    // A model of the class shares alone has no tree that would report progress.
    COPPICE_RETURN_IF_ERROR(progress_(0));
    if (rows_.regression()) return Numbers();
    return Classes();
  }

  // The noise that the lines share, if there are any. Call it after Run().
  SharedNoise TakeSharedNoise() { return std::move(shared_noise_); }

 private:
  StatusOr<std::vector<TrainedTree>> Classes() {
    const std::unique_ptr<BoostTask> task = ClassTask(rows_.labels(), rows_.num_classes());
    task->UseThreads(threads_);
    std::vector<TrainedTree> trees;
    COPPICE_RETURN_IF_ERROR(Start(*task, trees));
    if (start_.is_all) return trees;
    BudgetShare forest = choice_.after_visits();
    if (choice_.lines) {
      COPPICE_RETURN_IF_ERROR(Lines(*task, trees));
      forest = choice_.lines->trees;
    }
    if (choice_.directions) {
      COPPICE_RETURN_IF_ERROR(Directions(*task, trees));
      forest = choice_.found_directions ? choice_.directions->trees
                                        : choice_.directions->trees_after_pilot;
    }
    if (choice_.passes) forest = choice_.passes->trees;
    task->WeightResiduals(choice_.rows);
    if (choice_.visits) COPPICE_RETURN_IF_ERROR(Visit(*task, trees));
    COPPICE_RETURN_IF_ERROR(Grow(*task, forest, trees));
    if (choice_.passes) {
      COPPICE_RETURN_IF_ERROR(AddColumnPasses(schema_, rows_, choice_.passes->passes, *task,
                                              releaser_, progress_, trees));
    }
    return trees;
  }

  // Releases what all rows begin with.
  Status Start(BoostTask& task, std::vector<TrainedTree>& trees) {
    if (start_.scores.empty()) return OkStatus();
    ColumnScores constant(1, start_.scores.size());
    constant.weights[0] = start_.scores;
    constant.noise[0] = start_.noise;
    trees.push_back(ConstantTree(constant, task));
    return task.AddToAll(start_.scores);
  }

  Status Grow(BoostTask& task, const BudgetShare& forest, std::vector<TrainedTree>& trees) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<LevelShares> levels,
                             SharesOfLevels(forest, choice_));
    for (uint32_t t = 0; t < choice_.trees(); ++t) {
      const double done = t / static_cast<double>(choice_.trees());
      COPPICE_RETURN_IF_ERROR(progress_(done));
      const CancelCheck check([&] { return progress_(done); });  // a level of many rows takes long
      COPPICE_ASSIGN_OR_RETURN(
          std::vector<BoostTree> grown,
          GrowBoostTree(tree_schema_, columns_, levels, choice_.detail, task, releaser_,
                        /*prior=*/nullptr, check));
      for (BoostTree& tree : grown) trees.push_back(ToTrained(std::move(tree), task));
    }
    return OkStatus();
  }

  Status Lines(BoostTask& task, std::vector<TrainedTree>& trees) {
    COPPICE_ASSIGN_OR_RETURN(
        const FittedLines fitted,
        FitLines(rows_, lines_, choice_.lines->shares, kResidualUnit, task, releaser_));
    shared_noise_ = {.trees = {static_cast<uint32_t>(trees.size())}, .factor = fitted.noise_factor};
    trees.push_back(ConstantTree(fitted.constant, task));
    for (size_t i = 0; i < lines_.size(); ++i) {
      const uint32_t column = lines_[i].column;
      shared_noise_.trees.push_back(static_cast<uint32_t>(trees.size()));
      COPPICE_RETURN_IF_ERROR(
          AddColumnTrees(schema_, column, rows_.bins()[column], fitted.lines[i], task, trees));
    }
    return OkStatus();
  }

  Status Directions(BoostTask& task, std::vector<TrainedTree>& trees) {
    const std::vector<Line> lines = PublicDirections(schema_, rows_.bins());
    COPPICE_ASSIGN_OR_RETURN(
        const std::optional<FoundDirections> found,
        FindDirections(rows_, lines, *choice_.directions, choice_.rows, task, releaser_));
    choice_.found_directions = found.has_value();
    if (!found) return OkStatus();
    trees.push_back(ConstantTree(found->constant, task));
    for (size_t i = 0; i < lines.size(); ++i) {
      const uint32_t column = lines[i].column;
      COPPICE_RETURN_IF_ERROR(
          AddColumnTrees(schema_, column, rows_.bins()[column], found->lines[i], task, trees));
    }
    return OkStatus();
  }

  Status Visit(BoostTask& task, std::vector<TrainedTree>& trees) {
    for (const uint32_t column : choice_.visits->columns) {
      COPPICE_RETURN_IF_ERROR(progress_(0));
      COPPICE_ASSIGN_OR_RETURN(const ColumnScores found,
                               VisitColumn(rows_, {.column = column, .fades = true}, kResidualUnit,
                                           choice_.visits->visit, task, releaser_));
      COPPICE_RETURN_IF_ERROR(
          AddColumnTrees(schema_, column, rows_.bins()[column], found, task, trees));
    }
    return OkStatus();
  }

  StatusOr<std::vector<TrainedTree>> Numbers() {
    if (AreFewNumbers(choice_.rows, budgets_)) return FewNumbers(WholeOf(budgets_));
    COPPICE_ASSIGN_OR_RETURN(const NumberShares shares, DivideForNumbers(choice_.forest));
    COPPICE_ASSIGN_OR_RETURN(
        const NumberScale scale,
        ReleaseNumberScale(rows_.targets(), choice_.rows, shares.middle, shares.reach, releaser_));
    return NumberTrees(scale, shares.first, shares.trees, shares.last);
  }

  // The mean of few numbers also improves their number, and so decides what else is worth its
  // noise.
  StatusOr<std::vector<TrainedTree>> FewNumbers(const BudgetShare& whole) {
    COPPICE_RETURN_IF_ERROR(progress_(0));
    COPPICE_ASSIGN_OR_RETURN(NumberCentre centre,
                             NumberCentre::Create(rows_.targets(), choice_.rows, budgets_.count));
    const auto information = [&] { return centre.rows() * EpsilonInEffect(whole); };
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(whole, kCentreShare));
    COPPICE_RETURN_IF_ERROR(centre.Release(parts.part, releaser_));
    if (information() < kMinForTrees) return Constant(parts.rest, centre);
    choice_ = ChooseForNumbers(centre.rows(), budgets_, parts.rest);
    choice_.detail.tilt = kNumberTilt;
    BudgetShare left = choice_.forest;
    if (const double again = SecondCentreShare(information()); again > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares second, Divide(left, again));
      COPPICE_RETURN_IF_ERROR(centre.Release(second.part, releaser_));
      left = second.rest;
    }
    if (information() < kMinForTrees) return Constant(left, centre);
    COPPICE_ASSIGN_OR_RETURN(const FewNumberShares shares,
                             DivideForFewNumbers(left, information()));
    NumberScale scale{.middle = centre.middle()};
    COPPICE_ASSIGN_OR_RETURN(scale.reach, ReleaseReach(rows_.targets(), centre.rows(), scale.middle,
                                                       shares.reach, releaser_));
    return NumberTrees(scale, shares.first, shares.trees, shares.last);
  }

  // Spends all that is left on another measurement of the mean, which is then the model.
  StatusOr<std::vector<TrainedTree>> Constant(const BudgetShare& left, NumberCentre& centre) {
    choice_.forest = left;
    choice_.constant = true;
    COPPICE_RETURN_IF_ERROR(centre.Release(left, releaser_));
    std::vector<TrainedTree> trees;
    trees.push_back(SameForAll(centre.middle(), centre.NoiseOfMiddle(releaser_), {}));
    return trees;
  }

  // The first and the last step are the same for all rows: they become a tree of one leaf.
  StatusOr<std::vector<TrainedTree>> NumberTrees(const NumberScale& scale,
                                                 const BudgetShare& first_share,
                                                 const BudgetShare& trees_share,
                                                 const std::optional<BudgetShare>& last_share) {
    const std::unique_ptr<BoostTask> task = NumberTask(rows_.targets(), scale.middle, scale.reach);
    task->UseThreads(threads_);
    COPPICE_ASSIGN_OR_RETURN(const BoostTree first,
                             ReleaseConstant(rows_, first_share, *task, releaser_));
    std::vector<TrainedTree> trees;
    if (choice_.lines) COPPICE_RETURN_IF_ERROR(Lines(*task, trees));
    COPPICE_RETURN_IF_ERROR(Grow(*task, choice_.lines ? choice_.lines->trees : trees_share, trees));
    LastStep last;
    if (last_share) {
      COPPICE_ASSIGN_OR_RETURN(
          last, ReleaseLastStep(rows_.targets(), task->scores(0), scale, *last_share, releaser_));
    }
    trees.push_back(SameForAll(scale.middle + scale.reach * first.scores[0][0] + last.value,
                               last.noise, task->OutputsNoise(first.noise[0])));
    return trees;
  }

  // `place` and its noise are in steps; `noise` is the outputs' other noise.
  static TrainedTree SameForAll(double place, const OutputNoise& of_place,
                                std::vector<OutputNoise> noise) {
    constexpr double kStep = 1.0 / kTargetSteps;
    noise.resize(2);
    AddNoise({Scaled(of_place, -kStep), Scaled(of_place, kStep)}, noise);
    return {.leaves = {ScoreLeaf({-place * kStep, place * kStep}, std::move(noise), 0)}};
  }

  const Schema& schema_;
  const Schema& tree_schema_;
  const BinnedRows& rows_;
  const JointColumns columns_;
  const AutoBudgets& budgets_;
  const ClassStart& start_;
  AutoChoice& choice_;
  absl::Span<const Line> lines_;
  const uint32_t threads_;
  PrivateReleaser& releaser_;
  const TrainProgress& progress_;
  SharedNoise shared_noise_;
};

StatusOr<RowEstimate> CountRows(const RowBlocks& rows, const BudgetShare& share,
                                PrivateReleaser& releaser) {
  COPPICE_ASSIGN_OR_RETURN(
      const Measurement counted,
      releaser.Measure({static_cast<int64_t>(rows.num_rows())}, {.l1 = 1, .l2_squared = 1}, share));
  RowEstimate estimate;
  estimate.Add(static_cast<double>(counted.sums[0]), 2 * counted.scale * counted.scale);
  return estimate;
}

std::string InWords(const NarrowedBounds& bounds, const ClassStart& start,
                    const AutoChoice& choice) {
  if (start.is_all) return "the classes' shares alone: rows are too few for a tree";
  return StrCat(bounds.columns > 0
                    ? StrCat("narrower bounds for ", bounds.columns,
                             bounds.columns == 1 ? " column, then " : " columns, then ")
                    : "",
                start.scores.empty() ? "" : "the classes' odds, then ", choice.InWords());
}

// What a certificate says of the forest's share.
constexpr char kForest[] =
    "the forest: a better number of rows and the classes' shares, where they decide something; "
    "narrower bounds of columns that are declared far wider than their rows; moments and gradients "
    "of lines, where two classes have enough rows for them, or the middle and the reach of "
    "numbers; the means of several classes in wide tables of numbers; sums by category of each "
    "column of very many; then splits, and sums at every node; and, with a delta, sums of every "
    "column in turn";
constexpr char kForestFromPublicRows[] =
    "the forest: a better number of rows, where it decides something; which part of the public "
    "rows' scores private rows bear out (a selection); gradients of lines, and the length of each "
    "step (selections); sums by category of each column of very many; then splits, and sums at "
    "every node; of numbers whose public scores are not borne out at all, narrower bounds, the "
    "middle and the reach";

class AutoTrainer final : public TrainerFrame<AutoBudgets> {
 public:
  explicit AutoTrainer(uint32_t even_cuts = 0) : even_cuts_(even_cuts) {}

  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<BoostColumns> Columns(const Schema& schema, double information,
                                 const Schema& narrowed) const {
    return even_cuts_ == 0 ? PublicBoostColumns(schema, information, narrowed)
                           : BoostColumnsWithCuts(schema, even_cuts_, narrowed);
  }
  // Returns the released number of rows times the remaining epsilon.
  static double Information(const ClassStart& start) {
    return start.rows * EpsilonInEffect(start.left);
  }

  // Few numbers are centred first, and keep the declared bounds.
  static StatusOr<NarrowedBounds> Narrow(const AutoBudgets& budgets, const ClassStart& start,
                                         const RowBlocks& rows, uint32_t threads,
                                         PrivateReleaser& releaser) {
    const bool few_numbers = rows.schema().target() && AreFewNumbers(start.rows, budgets);
    if (start.is_all || few_numbers) {
      return NarrowedBounds{.schema = rows.schema(), .left = start.left};
    }
    return NarrowBounds(rows, start.rows, start.left, releaser, threads);
  }

  StatusOr<AutoBudgets> Configure(const Schema& schema, const CheckedSettings&,
                                  const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const BoostColumns columns, Columns(schema, kAllInformation, schema));
    COPPICE_RETURN_IF_ERROR(ExtendSchema(schema, columns.derived).status());
    const uint32_t classes = schema.target() ? 1 : static_cast<uint32_t>(schema.num_classes());
    COPPICE_RETURN_IF_ERROR(CheckBins(MostBoostBins(schema, columns), classes == 2 ? 1 : classes));
    COPPICE_ASSIGN_OR_RETURN(AutoBudgets budgets, AutoBudgetsOf(schema, options));
    if (!options.public_rows) return budgets;
    budgets.has_public_rows = true;
    COPPICE_RETURN_IF_ERROR(CheckPublicRows(*options.public_rows, schema));
    COPPICE_RETURN_IF_ERROR(CheckPublicBudgets(budgets, schema));
    return budgets;
  }

  // Bins of all columns, oblique ones too, and of those that are put together; scores and residuals
  // of each output; and a row's node and part. Public rows add a second set of bins and scores.
  StatusOr<uint64_t> BytesOfRow(const AutoBudgets& budgets, const Schema& schema) const override {
    COPPICE_ASSIGN_OR_RETURN(const BoostColumns columns, Columns(schema, kAllInformation, schema));
    const uint64_t outputs = schema.num_classes() > 2 ? schema.num_classes() : 1;
    const uint64_t binned = BytesOfBinnedRow(MostBoostBins(schema, columns));
    const uint64_t of_output = sizeof(double) + sizeof(int32_t);
    const uint64_t bytes =
        binned + columns.bins.size() / 2 + outputs * of_output + 2 * sizeof(uint32_t);
    const uint64_t of_public = budgets.has_public_rows ? binned + outputs * 2 * sizeof(double) : 0;
    return std::max(bytes, kNarrowingBytesOfRow) + of_public;
  }

  StatusOr<Model> TrainAs(const AutoBudgets& budgets, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    if (!options.epsilon) return GradientBoosting().TrainWith(rows, options, releaser, progress);
    if (options.public_rows) return TrainFromPublic(budgets, rows, options, releaser, progress);
    COPPICE_ASSIGN_OR_RETURN(const RowEstimate counted, CountRows(rows, budgets.count, releaser));
    return TrainCounted(budgets, rows, options, {.counted = counted, .plan = PlanOf(budgets)},
                        releaser, progress);
  }

  StatusOr<Model> TrainFromPublic(const AutoBudgets& budgets, const RowBlocks& rows,
                                  const TrainOptions& options, PrivateReleaser& releaser,
                                  const TrainProgress& progress) const {
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<PublicBoost> boost,
                             PublicBoost::Prepare(rows, *options.public_rows, budgets, progress));
    COPPICE_ASSIGN_OR_RETURN(const RowEstimate counted, CountRows(rows, budgets.count, releaser));
    COPPICE_ASSIGN_OR_RETURN(PublicBoosted boosted, boost->Run(counted, releaser, progress));
    if (boosted.left) {
      return TrainCounted(*boosted.left, rows, options,
                          {.counted = boosted.rows,
                           .plan = PlanOf(budgets),
                           .in_words = std::move(boosted.in_words)},
                          releaser, progress);
    }
    return MakeModel(rows.schema(), std::move(boosted.trees), LeafKind::kScores,
                     std::move(boosted.derived), info_, options, PlanOf(budgets),
                     std::move(boosted.in_words));
  }

  // What was released before, and everything that a certificate lists.
  struct BegunTraining {
    RowEstimate counted{};
    std::vector<Release> plan{};
    std::string in_words{};
  };
  StatusOr<Model> TrainCounted(const AutoBudgets& budgets, const RowBlocks& rows,
                               const TrainOptions& options, BegunTraining begun,
                               PrivateReleaser& releaser, const TrainProgress& progress) const {
    const Schema& schema = rows.schema();
    const RowEstimate& counted = begun.counted;
    ClassStart start{.rows = counted.rows(), .left = WholeOf(budgets)};
    if (!schema.target()) {
      COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> labels, ReadLabels(rows));
      COPPICE_ASSIGN_OR_RETURN(
          start, ReleaseClassStart(labels, schema.num_classes(), counted, budgets, releaser));
    }
    COPPICE_ASSIGN_OR_RETURN(NarrowedBounds bounds,
                             Narrow(budgets, start, rows, options.threads, releaser));
    start.left = bounds.left;
    const Schema& narrowed = bounds.schema;
    COPPICE_ASSIGN_OR_RETURN(BoostColumns columns, Columns(schema, Information(start), narrowed));
    const std::vector<Line> lines = PublicLines(narrowed, columns.bins);
    AutoChoice choice = ChooseForNumbers(start.rows, budgets, start.left);
    if (schema.target()) {
      COPPICE_ASSIGN_OR_RETURN(choice.lines, ChooseLinesForNumbers(choice, columns, lines));
    } else {
      COPPICE_ASSIGN_OR_RETURN(choice, ChooseForClasses(start, budgets, narrowed, columns, lines));
    }
    COPPICE_ASSIGN_OR_RETURN(const Schema tree_schema,
                             ExtendNarrowed(schema, narrowed, columns.derived));
    COPPICE_ASSIGN_OR_RETURN(
        const BinnedRows binned,
        BinnedRows::Create(rows, std::move(columns.bins), columns.derived, options.threads));
    Boosting boosting(narrowed, tree_schema, binned, budgets, start, choice, lines, options.threads,
                      releaser, progress);
    COPPICE_ASSIGN_OR_RETURN(std::vector<TrainedTree> trees, boosting.Run());
    return MakeModel(schema, std::move(trees), LeafKind::kScores, std::move(columns.derived), info_,
                     options, std::move(begun.plan),
                     StrCat(begun.in_words, InWords(bounds, start, choice)),
                     boosting.TakeSharedNoise());
  }

  StatusOr<std::vector<std::string>> WarningsOf(const AutoBudgets& budgets) const override {
    constexpr double kFew = 1000;
    if (!budgets.forest.is_private()) return std::vector<std::string>();
    const double rows = kMinInformation / EpsilonInEffect(budgets.states_rho ? *budgets.concentrated
                                                                             : budgets.forest);
    if (rows < kFew) return std::vector<std::string>();
    return std::vector<std::string>{
        StrCat("below about ", std::llround(rows),
               " rows, noise hides even the best split: expect little better than always giving "
               "the most frequent answer. A larger epsilon helps")};
  }

  ModelShape ShapeOf(const AutoBudgets& budgets, const Schema& schema) const override {
    if (!budgets.forest.is_private()) return MostOfGradientBoosting(schema);
    const StatusOr<BoostColumns> columns = Columns(schema, kAllInformation, schema);
    if (!columns.ok()) return {};  // Configure() has refused it
    const uint64_t classes = schema.target() ? 1 : schema.num_classes();
    ModelShape most = MostOfChoices(MostBoostBins(schema, *columns), classes == 2 ? 1 : classes);
    if (!budgets.has_public_rows) return most;
    const ModelShape of_start = MostOfPublicStart(schema);
    most.trees += of_start.trees;
    most.leaves += of_start.leaves;
    return most;
  }

  std::vector<Release> PlanOf(const AutoBudgets& budgets) const override {
    Releases releases(EnsembleOptions{.trees = 1, .groups = false});
    releases.Add("the number of rows", kDiscreteLaplace, budgets.count);
    releases.Add(budgets.has_public_rows ? kForestFromPublicRows : kForest,
                 budgets.delta_atto == 0
                     ? "permute_and_flip, discrete_laplace"
                     : "permute_and_flip, discrete_laplace or exponential, discrete_gaussian",
                 budgets.forest, /*times=*/1, budgets.delta_atto,
                 budgets.states_rho ? budgets.concentrated->rho().picos() : 0);
    return std::move(releases).Take();
  }

  uint32_t even_cuts_;
  AlgorithmInfo info_ = {
      .name = "auto",
      .summary = "boosted trees with nothing to tune: nearly always the most accurate",
      .source = "docs/research/mechanisms.md, boosting",
      .delta = true,
      .public_rows = true,
      .regression = true,
      .parameters = {}};
};

}  // namespace

const Trainer& Auto() {
  static const AutoTrainer kTrainer;
  return kTrainer;
}

std::unique_ptr<const Trainer> AutoWithCuts(uint32_t even_cuts) {
  return std::make_unique<AutoTrainer>(even_cuts);
}

}  // namespace coppice::trainers
