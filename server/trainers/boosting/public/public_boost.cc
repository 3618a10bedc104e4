#include "server/trainers/boosting/public/public_boost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/memory/memory.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/boosting/boost_tree.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/column_trees.h"
#include "server/trainers/boosting/step_prior.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

// All of these were found on the development tables of docs/research/auto.md, whose optima are
// flat.
constexpr double kFewForOneCount = 300;  // rows times epsilon, as for `auto` alone
constexpr double kSecondCountPart = 0.05;

constexpr double kLeastForGuard = 12;  // rows times epsilon: with less nothing could be seen
constexpr double kGuardRelease = 25;   // rows times epsilon for the guard, between the bounds below
constexpr double kMinGuardShare = 0.02, kMaxGuardShare = 0.25;
constexpr double kMinLengthShare = 0.01, kMaxLengthShare = 0.1;  // of each step, likewise

constexpr double kPublicLineShare = 0.2;
// Gaussian noise helps lines more than trees.
constexpr double kMinRoundsInRho = 0.6;  // relative to those without delta
constexpr double kMinResiduals = 0.3;    // of those of even scores
// What is taken of the public scores at the start.
constexpr double kLeastStart = 0.5, kStartLostByRound = 0.05;

constexpr uint64_t kMostTreesOfModel = 1024;  // as the wire takes (terms.h: kMaxTrees)

double ShareOf(double released, double least, double most) {
  return std::clamp(kGuardRelease / std::max(released, 1e-9), least, most);
}

// What is left when every choice costs the most.
StatusOr<BudgetShare> LeastLeft(const BudgetShare& whole, bool with_lengths) {
  BudgetShare left = whole;
  for (const double spent : {kSecondCountPart, kMaxGuardShare,
                             with_lengths ? kPublicLineSteps * kMaxLengthShare : 0.0}) {
    if (spent == 0) continue;
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(left, spent));
    left = parts.rest;
  }
  return left;
}

// The gradients' share and the rest. InvalidArgument if that is too small.
struct LinesAndRest {
  BudgetShare gradient, rest;
};
StatusOr<LinesAndRest> DivideForPublicLines(const BudgetShare& whole, const PublicTerms& terms,
                                            const Sensitivity& residuals) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(whole, kPublicLineShare));
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare gradient, EqualShare(parts.part, kPublicLineSteps));
  COPPICE_ASSIGN_OR_RETURN(const double scale,
                           NoiseScale(terms.GradientSensitivity(residuals), gradient));
  if (!(scale < kMaxScale)) return InvalidArgumentError("epsilon is too small for lines");
  return LinesAndRest{.gradient = gradient, .rest = parts.rest};
}

}  // namespace

Status CheckPublicBudgets(const AutoBudgets& budgets, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare least,
                           LeastLeft(WholeOf(budgets), /*with_lengths=*/true));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(least, kPublicLineShare));
  COPPICE_RETURN_IF_ERROR(CheckTreeShares(parts.rest));
  // Numbers may need what `auto` does without public rows.
  return CheckForest(schema, least);
}

PublicBoost::PublicBoost(const RowBlocks& rows, const AutoBudgets& budgets, PublicStart start)
    : rows_(rows), budgets_(budgets), start_(std::move(start)) {}

StatusOr<std::unique_ptr<PublicBoost>> PublicBoost::Prepare(const RowBlocks& rows,
                                                            const Table& public_rows,
                                                            const AutoBudgets& budgets,
                                                            const TrainProgress& progress) {
  COPPICE_RETURN_IF_ERROR(CheckPublicBudgets(budgets, rows.schema()));
  COPPICE_ASSIGN_OR_RETURN(
      PublicStart start,
      PublicStart::Create(public_rows, CancelCheck([&] { return progress(0); })));
  auto boost = absl::WrapUnique(new PublicBoost(rows, budgets, std::move(start)));
  COPPICE_ASSIGN_OR_RETURN(boost->terms_, PublicTerms::Create(boost->start_));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<FeatureBins> bins, PublicBins(rows.schema(), 1));
  if (boost->terms_) {
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare least,
                             LeastLeft(WholeOf(budgets), /*with_lengths=*/true));
    const Sensitivity residuals = boost->MakeTask()->kind().sensitivity;
    const uint64_t trees = boost->start_.num_trees() + 2 * MostColumnTrees(bins) +
                           static_cast<uint64_t>(kMostTreesOfAuto) + 1;
    if (trees > kMostTreesOfModel || !DivideForPublicLines(least, *boost->terms_, residuals).ok()) {
      boost->terms_.reset();
    }
  }
  COPPICE_ASSIGN_OR_RETURN(boost->term_rows_,
                           BinnedRows::Create(rows, boost->terms_ ? boost->terms_->bins() : bins));
  COPPICE_ASSIGN_OR_RETURN(boost->public_scores_, boost->start_.ScoresOf(rows));
  return boost;
}

std::unique_ptr<BoostTask> PublicBoost::MakeTask() const {
  if (start_.predicts_number()) return WholeNumberTask(term_rows_.targets(), start_.unit());
  return ClassTask(term_rows_.labels(), static_cast<uint32_t>(rows_.schema().num_classes()));
}

Status PublicBoost::CountAgain(PrivateReleaser& releaser) {
  if (Information() >= kFewForOneCount) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(left_, kSecondCountPart));
  COPPICE_ASSIGN_OR_RETURN(const Measurement counted,
                           releaser.Measure({static_cast<int64_t>(rows_.num_rows())},
                                            {.l1 = 1, .l2_squared = 1}, parts.part));
  estimate_.Add(static_cast<double>(counted.sums[0]), 2 * counted.scale * counted.scale);
  left_ = parts.rest;
  return OkStatus();
}

Status PublicBoost::Guard(PrivateReleaser& releaser) {
  trusted_ = kTrustedParts[0];
  if (Information() < kLeastForGuard) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts,
                           Divide(left_, ShareOf(Information(), kMinGuardShare, kMaxGuardShare)));
  COPPICE_ASSIGN_OR_RETURN(trusted_,
                           ReleaseTrust(AnswerQuality(term_rows_, start_.unit()), public_scores_,
                                        start_.mean(), parts.part, releaser));
  left_ = parts.rest;
  return OkStatus();
}

// Around the public rows' mean, which is 0 for classes.
OutputScores PublicBoost::PartOf(const OutputScores& scores, double part) const {
  OutputScores parts = scores;
  for (std::vector<double>& of_output : parts) {
    for (double& score : of_output) score = start_.mean() + part * (score - start_.mean());
  }
  return parts;
}

// Returns the absolute residuals of a public row by held-out scores, on average, in relation to
// those of even scores: the same weighted residuals as of private rows.
double PublicBoost::HeldOutResiduals() const {
  if (start_.predicts_number()) return 1;
  const OutputScores scores = PartOf(start_.held_out(), trusted_);
  const absl::Span<const uint32_t> labels = start_.rows().labels();
  double sum = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    if (scores.size() == 1) {
      const double p = 1 / (1 + std::exp(-scores[0][row]));
      sum += std::abs((labels[row] == 1 ? 1 : 0) - p) / std::max(p, 1 - p);
      continue;
    }
    std::vector<double> p;
    for (const std::vector<double>& of_class : scores) p.push_back(of_class[row]);
    Softmax(absl::MakeSpan(p));
    const double others = 1 - p[labels[row]];
    sum += 2 * others * (others > 0 ? std::min(1.0, 0.5 / others) : 1);
  }
  return sum / static_cast<double>(labels.size());
}

double PublicBoost::EffectiveRows() const {
  return count() * std::clamp(HeldOutResiduals(), kMinResiduals, 1.0);
}

// Divides `rest` among lines, if `length` is paid for, visits and trees.
StatusOr<PublicBoost::Plan> PublicBoost::PlanWith(const BudgetShare& rest,
                                                  std::optional<BudgetShare> length,
                                                  const BoostColumns& columns) const {
  Plan plan;
  AutoChoice& choice = plan.choice;
  choice.rows = count();
  choice.forest = rest;
  const double rounds = rest.is_concentrated()
                            ? RoundsInRho(EffectiveRows(), rest)
                            : RoundsInEpsilon(EffectiveRows(), rest.budget().epsilon());
  choice.rounds = std::clamp(rounds, 1.0, static_cast<double>(kMostLevels));
  if (length) {
    COPPICE_ASSIGN_OR_RETURN(const LinesAndRest shares,
                             DivideForPublicLines(rest, *terms_, MakeTask()->kind().sensitivity));
    plan.lines = PublicLineShares{.gradient = shares.gradient, .length = *length};
    choice.forest = shares.rest;
  }
  if (!start_.predicts_number()) choice.visits = ChooseVisits(choice, rows_.schema(), columns);
  COPPICE_RETURN_IF_ERROR(SharesOfLevels(choice.after_visits(), choice).status());
  return plan;
}

StatusOr<PublicBoost::Plan> PublicBoost::MakePlan(const BoostColumns& columns) {
  std::optional<BudgetShare> length;
  if (terms_) {
    const double share = ShareOf(Information(), kMinLengthShare, kMaxLengthShare);
    COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(left_, kPublicLineSteps * share));
    COPPICE_ASSIGN_OR_RETURN(length, EqualShare(parts.part, kPublicLineSteps));
    left_ = parts.rest;
  }
  COPPICE_ASSIGN_OR_RETURN(Plan plan, PlanWith(left_, length, columns));
  if (budgets_.states_rho || !budgets_.concentrated) return plan;
  // From here on nothing is paid in epsilon, so that rho stands for all of the rest.
  const StatusOr<Rho> rho = Rho::Implying(left_.budget(), budgets_.delta_atto);
  if (!rho.ok()) return plan;
  StatusOr<Plan> with_rho = PlanWith(BudgetShare(*rho), length, columns);
  const double rounds = RoundsInRho(EffectiveRows(), BudgetShare(*rho));
  if (!with_rho.ok() || !(rounds > kMinRoundsInRho * plan.choice.rounds)) return plan;
  return *std::move(with_rho);
}

AutoBudgets PublicBoost::LeftBudgets() const {
  AutoBudgets left = budgets_;
  if (left_.is_concentrated()) {
    left.concentrated = left_;
    return left;
  }
  left.forest = left_;
  if (!budgets_.concentrated) return left;
  left.concentrated = ConcentratedForest(rows_.schema(), left_, budgets_.delta_atto);
  return left;
}

StatusOr<PublicBoosted> PublicBoost::Run(const RowEstimate& counted, PrivateReleaser& releaser,
                                         const TrainProgress& progress) {
  estimate_ = counted;
  left_ = WholeOf(budgets_);
  COPPICE_RETURN_IF_ERROR(CountAgain(releaser));
  COPPICE_RETURN_IF_ERROR(Guard(releaser));
  if (start_.predicts_number() && trusted_ == 0) {
    return PublicBoosted{.in_words = "public rows do not fit and are left out, then ",
                         .left = LeftBudgets(),
                         .rows = estimate_};
  }
  return Train(releaser, progress);
}

// Adds the lines' trees and, with the factor that lines ask for, those of the public predictor.
// `part` of its scores is in the task's already.
Status PublicBoost::AddLines(const PublicLineShares& shares, double part, BoostTask& task,
                             PrivateReleaser& releaser, std::vector<TrainedTree>& trees) {
  OutputScores public_now = PartOf(start_.held_out(), part);
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<double> slopes,
      FitPublicLines(start_, *terms_,
                     {.count = count(), .rows = term_rows_, .public_scores = public_scores_},
                     shares, AnswerQuality(term_rows_, start_.unit()), kResidualUnit, task,
                     public_now, releaser));
  PublicTerms::AsTrees lines = terms_->ToTrees(slopes);
  for (size_t output = 0; output < start_.outputs(); ++output) {
    lines.constant[output] += (1 - part) * start_.mean();
    lines.factor[output * start_.outputs() + output] += part;
  }
  trees = start_.Trees(lines.factor, lines.constant, task);
  for (size_t i = 0; i < lines.columns.size(); ++i) {
    const uint32_t column = lines.columns[i];
    COPPICE_RETURN_IF_ERROR(AddColumnTrees(rows_.schema(), column, terms_->bins()[column],
                                           lines.of_columns[i], task, trees));
  }
  return OkStatus();
}

Status PublicBoost::AddVisits(const VisitPlan& visits, const BinnedRows& binned, BoostTask& task,
                              PrivateReleaser& releaser, std::vector<TrainedTree>& trees) const {
  for (const uint32_t column : visits.columns) {
    COPPICE_ASSIGN_OR_RETURN(const ColumnScores found,
                             VisitColumn(binned, {.column = column, .fades = true}, kResidualUnit,
                                         visits.visit, task, releaser));
    COPPICE_RETURN_IF_ERROR(
        AddColumnTrees(rows_.schema(), column, binned.bins()[column], found, task, trees));
  }
  return OkStatus();
}

namespace {

// Leaves say nothing of noise: that of the lines and of shrunk values is not known.
TrainedTree WithoutNoise(BoostTree tree, const BoostTask& task) {
  TrainedTree trained;
  for (uint32_t leaf = 0; leaf < tree.scores.size(); ++leaf) {
    trained.leaves.push_back(
        ScoreLeaf(task.Outputs(tree.scores[leaf]), {}, tree.tree.leaf_node(leaf)));
  }
  trained.tree = std::move(tree.tree);
  return trained;
}

void ForgetNoise(std::vector<TrainedTree>& trees) {
  for (TrainedTree& tree : trees) {
    for (LeafPrediction& leaf : tree.leaves) {
      leaf = ScoreLeaf(std::move(leaf.probabilities), {}, leaf.source_node);
    }
  }
}

}  // namespace

StatusOr<PublicBoosted> PublicBoost::Train(PrivateReleaser& releaser,
                                           const TrainProgress& progress) {
  COPPICE_ASSIGN_OR_RETURN(BoostColumns columns, PublicBoostColumns(rows_.schema(), Information()));
  COPPICE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(columns));
  const AutoChoice& choice = plan.choice;
  COPPICE_ASSIGN_OR_RETURN(const Schema tree_schema, ExtendSchema(rows_.schema(), columns.derived));
  COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned,
                           BinnedRows::Create(rows_, std::move(columns.bins), columns.derived));
  const double part = start_.predicts_number()
                          ? trusted_
                          : trusted_ * std::max(kLeastStart, 1 - kStartLostByRound * choice.rounds);
  const std::unique_ptr<BoostTask> task = MakeTask();
  task->WeightResiduals(choice.rows);
  COPPICE_RETURN_IF_ERROR(task->StartAt(PartOf(public_scores_, part)));
  COPPICE_RETURN_IF_ERROR(progress(0));
  PublicBoosted boosted{.derived = std::move(columns.derived)};
  if (plan.lines) {
    COPPICE_RETURN_IF_ERROR(AddLines(*plan.lines, part, *task, releaser, boosted.trees));
  } else {
    std::vector<double> factor(start_.outputs() * start_.outputs());
    for (size_t o = 0; o < start_.outputs(); ++o) factor[o * start_.outputs() + o] = part;
    const std::vector<double> constant(start_.outputs(), (1 - part) * start_.mean());
    boosted.trees = start_.Trees(factor, constant, *task);
  }
  if (choice.visits) {
    COPPICE_RETURN_IF_ERROR(AddVisits(*choice.visits, binned, *task, releaser, boosted.trees));
  }
  ForgetNoise(boosted.trees);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<LevelShares> levels,
                           SharesOfLevels(choice.after_visits(), choice));
  StepPrior prior(task->kind(), kResidualUnit);
  const JointColumns joint(binned);
  for (uint32_t t = 0; t < choice.trees(); ++t) {
    COPPICE_RETURN_IF_ERROR(progress(t / static_cast<double>(choice.trees())));
    COPPICE_ASSIGN_OR_RETURN(
        std::vector<BoostTree> grown,
        GrowBoostTree(tree_schema, joint, levels, /*detail=*/{}, *task, releaser, &prior));
    for (BoostTree& tree : grown) boosted.trees.push_back(WithoutNoise(std::move(tree), *task));
  }
  boosted.in_words =
      StrCat(trusted_ == 1   ? "the public rows' scores, "
             : trusted_ == 0 ? "nothing of the public rows' scores, which do not fit, "
                             : "half of the public rows' scores, which fit in part, ",
             plan.lines ? "lines, " : "", "then ", choice.InWords());
  return boosted;
}

}  // namespace coppice::trainers
