// auto's boosted trees, walked through every branch on every tiny table: the joint cost of their
// levels, in epsilon and in rho. Residuals are on a grid of halves, so that sums can be walked.

#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/auto_plan.h"
#include "server/trainers/boosting/boost_tree.h"
#include "server/trainers/boosting/column_fit.h"
#include "server/trainers/boosting/narrow_bounds.h"
#include "server/trainers/boosting/number_scale.h"
#include "server/trainers/boosting/public/public_guard.h"
#include "server/trainers/core/shares.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/trainer_releases.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr int64_t kUnit = 2;
constexpr uint64_t kSelections = 2;  // of windows
constexpr int64_t kUnitOfThree = 8;  // with a probability of 1/3 classes ask for quarters

// Gives a share of the budget that the walk must claim.
using ShareOf = std::function<trainers::BudgetShare(const Budget&)>;
trainers::BudgetShare InEpsilon(const Budget& epsilon) { return trainers::BudgetShare(epsilon); }
// rho = epsilon / 8, which one selection by the exponential mechanism costs at epsilon 1.
trainers::BudgetShare InRho(const Budget& epsilon) {
  return trainers::BudgetShare(
      *Rho::FromPicos(epsilon.nanos() * (Rho::kPicosPerRho / Budget::kNanosPerEpsilon) / 8));
}

using MakeTask =
    std::function<std::unique_ptr<trainers::BoostTask>(const trainers::BinnedRows& rows)>;

std::unique_ptr<trainers::BoostTask> Classes(const trainers::BinnedRows& rows) {
  return trainers::ClassTask(rows.labels(), rows.num_classes(),
                             rows.num_classes() == 2 ? kUnit : kUnitOfThree);
}

// A task that claims other bounds than its own.
class Claiming final : public trainers::BoostTask {
 public:
  Claiming(std::unique_ptr<trainers::BoostTask> task, size_t rows,
           const trainers::ResidualKind& kind)
      : trainers::BoostTask(kind.outputs, rows, kUnit), task_(std::move(task)), kind_(kind) {}
  trainers::ResidualKind kind() const override { return kind_; }
  void Value(const trainers::ChildSums& measured, absl::Span<double> value) const override {
    task_->Value(measured, value);
  }
  void ValueNoise(const trainers::ChildSums& measured,
                  absl::Span<OutputNoise> noise) const override {
    task_->ValueNoise(measured, noise);
  }
  void Values(absl::Span<const trainers::ChildSums> parts,
              absl::Span<double> values) const override {
    task_->Values(parts, values);
  }
  void ValuesNoise(absl::Span<const trainers::ChildSums> parts,
                   absl::Span<OutputNoise> noise) const override {
    task_->ValuesNoise(parts, noise);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return task_->Outputs(scores);
  }

 protected:
  // Called once, for all rows, as there is one thread.
  void FillRows(size_t /*first*/, size_t /*end*/, trainers::Residuals& residuals) const override {
    task_->Fill(residuals);
  }

 private:
  std::unique_ptr<trainers::BoostTask> task_;
  trainers::ResidualKind kind_;
};

trainers::BinnedRows RowsOf(const TinySchema& schema, const TinyTable& tiny, uint32_t cuts = 1) {
  return *trainers::BinnedRows::Create(schema.ToTable(tiny),
                                       *trainers::PublicBins(*schema.schema, cuts));
}

std::string ScoresText(absl::Span<const double> scores) {
  std::string text;
  for (const double score : scores) StrAppend(&text, score, ",");
  return text;
}

StatusOr<trainers::BoostTree> GrowStump(const TinySchema& schema, const TinyTable& tiny,
                                        const MakeTask& make_task,
                                        const trainers::LevelShares& shares,
                                        const trainers::ChildDetail& detail, PrivateRandom& random,
                                        uint32_t cuts = 1) {
  const trainers::BinnedRows rows = RowsOf(schema, tiny, cuts);
  const std::unique_ptr<trainers::BoostTask> task = make_task(rows);
  trainers::PrivateReleaser releaser(trainers::SelectionRule::kPermuteAndFlip, random);
  COPPICE_ASSIGN_OR_RETURN(std::vector<trainers::BoostTree> trees,
                           trainers::GrowBoostTree(*schema.schema, trainers::JointColumns(rows),
                                                   {shares}, detail, *task, releaser));
  return std::move(trees.front());
}

// Releases a whole tree of one level.
TinyRelease WalkStump(const TinySchema& schema, const ShareOf& share_of,
                      const MakeTask& make_task = Classes, const trainers::ChildDetail& detail = {},
                      uint32_t cuts = 1, double select = 0.65) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const trainers::TwoShares parts = *trainers::Divide(share_of(claimed), select);
    const auto tree =
        GrowStump(schema, tiny, make_task, {.select = parts.part, .measure = parts.rest}, detail,
                  random, cuts);
    if (!tree.ok()) return tree.status();
    std::string text = TreeText(tree->tree);
    for (const auto& leaf : tree->scores) StrAppend(&text, ScoresText(leaf));
    return text;
  };
}

// Releases the tree's split alone, with the whole share.
TinyRelease WalkSplit(const TinySchema& schema, const ShareOf& share_of,
                      const MakeTask& make_task = Classes) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const auto tree =
        GrowStump(schema, tiny, make_task,
                  {.select = share_of(claimed), .measure = trainers::BudgetShare::WithoutPrivacy()},
                  /*detail=*/{}, random);
    if (!tree.ok()) return tree.status();
    return TreeText(tree->tree);
  };
}

// Releases one leaf, with the whole share.
TinyRelease WalkLeaf(const TinySchema& schema, const ShareOf& share_of,
                     const MakeTask& make_task = Classes) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const trainers::BinnedRows rows = RowsOf(schema, tiny);
    const std::unique_ptr<trainers::BoostTask> task = make_task(rows);
    trainers::PrivateReleaser releaser(trainers::SelectionRule::kPermuteAndFlip, random);
    const auto leaf = trainers::ReleaseConstant(rows, share_of(claimed), *task, releaser);
    if (!leaf.ok()) return leaf.status();
    std::string text = ScoresText(leaf->scores[0]);
    for (const OutputNoise& noise : leaf->noise[0]) {
      StrAppend(&text, noise.mean, ",", noise.variance, ",");
    }
    return text;
  };
}

// Ways to measure a split's children in finer parts, or to describe them.
const trainers::ChildDetail kRuns = {.runs = 4};
const trainers::ChildDetail kTilted = {.tilt = 0.2};
const trainers::ChildDetail kCategories = {.categories = true};

// With two cuts, the first one's right child has two runs, and so has the second one's left child.
TinySchema ThreeRuns() {
  return {
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "label", {"no", "yes"})),
      {{0}, {0.5}, {1}}};
}

// If red is split off, green is one part of the rest and missing values are another.
TinySchema OneColour() {
  return {std::make_shared<const Schema>(
              *Schema::Create({Categorical("c", {"red", "green"})}, "label", {"no", "yes"})),
          {{0}, {1}, {kMissingValue}}};
}

// Shows all that it measures.
class ShownReleaser final : public trainers::PrivateReleaser {
 public:
  using PrivateReleaser::PrivateReleaser;

  StatusOr<trainers::Measurement> Measure(absl::Span<const int64_t> sums,
                                          const trainers::Sensitivity& sensitivity,
                                          const trainers::BudgetShare& share) override {
    COPPICE_ASSIGN_OR_RETURN(trainers::Measurement measured,
                             PrivateReleaser::Measure(sums, sensitivity, share));
    for (const int64_t sum : measured.sums) StrAppend(&shown, sum, ",");
    return measured;
  }

  std::string shown;
};

// Releases all visits to a column of one cell and one for missing values; each visit gets one of
// `parts` of the claim. The stated number of rows is so small that a sum of 1 makes a large weight,
// so what later visits see depends on the first.
TinyRelease WalkPasses(const ShareOf& share_of, uint64_t parts, bool weighted = false) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const TinySchema schema = Nothing();
    const trainers::BinnedRows rows = RowsOf(schema, tiny);
    const std::unique_ptr<trainers::BoostTask> task = Classes(rows);
    if (weighted) task->WeightResiduals(/*rows=*/2);
    ShownReleaser releaser(random);
    const trainers::ColumnPasses passes = {.visit = *trainers::EqualShare(share_of(claimed), parts),
                                           .rows = 4.0 / trainers::kResidualUnit,
                                           .slopes = {0.25}};
    std::vector<trainers::TrainedTree> trees;
    COPPICE_RETURN_IF_ERROR(trainers::AddColumnPasses(
        *schema.schema, rows, passes, *task, releaser, [](double) { return OkStatus(); }, trees));
    return releaser.shown;
  };
}

// Releases a visit to one column, whose weights fade.
TinyRelease WalkVisit(const TinySchema& schema, const ShareOf& share_of,
                      const MakeTask& make_task = Classes) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const trainers::BinnedRows rows = RowsOf(schema, tiny);
    const std::unique_ptr<trainers::BoostTask> task = make_task(rows);
    trainers::PrivateReleaser releaser(random);
    COPPICE_ASSIGN_OR_RETURN(const trainers::ColumnScores found,
                             trainers::VisitColumn(rows, {.column = 0, .fades = true}, kUnit,
                                                   share_of(claimed), *task, releaser));
    std::string text;
    for (const std::vector<double>& of_bin : found.weights) StrAppend(&text, ScoresText(of_bin));
    return text;
  };
}

// Releases what is bought before the first tree, given a number of rows that is known about as well
// as a second count would be. The forest's budget is `forest` times the claim.
TinyRelease WalkStart(uint32_t classes, double counted, double forest) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    std::vector<uint32_t> labels;
    for (const TinyRow& row : tiny) labels.push_back(row.y);
    const auto nanos = static_cast<uint64_t>(forest * static_cast<double>(claimed.nanos()));
    trainers::AutoBudgets budgets;
    budgets.forest = trainers::BudgetShare(*Budget::FromNanos(nanos));
    trainers::RowEstimate estimate;
    estimate.Add(counted, 1);
    ShownReleaser releaser(random);
    COPPICE_RETURN_IF_ERROR(
        trainers::ReleaseClassStart(labels, classes, estimate, budgets, releaser).status());
    return releaser.shown;
  };
}

// Parts of a forest of 1: a second count of rows, and the most that odds get of the rest.
constexpr double kStartOfTwo = 0.05 + 0.95 * 0.1;

// Numbers 0 and 1, half a unit on either side of the middle.
std::unique_ptr<trainers::BoostTask> NumbersOfLabels(const trainers::BinnedRows& rows) {
  static std::vector<uint32_t> targets;
  targets.clear();
  for (const uint32_t label : rows.labels()) targets.push_back(label * trainers::kTargetSteps);
  return trainers::NumberTask(targets, trainers::kTargetSteps / 2.0, trainers::kTargetSteps / 2.0,
                              kUnit);
}

// Releases a mean of numbers 0 and 1, and what it says about rows.
TinyRelease WalkCentre(const ShareOf& share_of) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    std::vector<uint32_t> targets;
    for (const TinyRow& row : tiny) targets.push_back(row.y * trainers::kTargetSteps);
    trainers::PrivateReleaser releaser(trainers::SelectionRule::kPermuteAndFlip, random);
    auto centre = trainers::NumberCentre::Create(
        targets, /*rows=*/2, trainers::BudgetShare(*Budget::Parse("0.5")), /*unit=*/1);
    if (!centre.ok()) return centre.status();
    if (Status status = centre->Release(share_of(claimed), releaser); !status.ok()) return status;
    const OutputNoise noise = centre->NoiseOfMiddle(releaser);
    return StrCat(centre->rows(), ",", centre->middle(), ",", noise.mean, ",", noise.variance);
  };
}

// Releases which part of public scores is believed. Those of x = 0, 1 and 2 say "no", "yes" and
// hardly anything.
TinyRelease WalkTrust(const ShareOf& share_of, uint32_t classes = 2) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const trainers::BinnedRows rows = RowsOf(OneNumber(classes), tiny);
    trainers::OutputScores scores(classes == 2 ? 1 : classes);
    for (const TinyRow& row : tiny) {
      const double sure = row.x == 2 ? 0.3 : 30;
      for (size_t output = 0; output < scores.size(); ++output) {
        const bool is_meant = scores.size() == 1 ? row.x > 0 : output == row.x % classes;
        scores[output].push_back(is_meant ? sure : -sure);
      }
    }
    trainers::PrivateReleaser releaser(random);
    COPPICE_ASSIGN_OR_RETURN(
        const double part,
        trainers::ReleaseTrust(trainers::AnswerQuality(rows, /*unit_of_scores=*/1), scores,
                               /*mean=*/0, share_of(claimed), releaser));
    return StrCat(part);
  };
}

// Releases the same of numbers 0 and 1, which public rows say are their x, and twice that.
TinyRelease WalkTrustOfNumbers(const ShareOf& share_of) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const auto schema = std::make_shared<const Schema>(
        *Schema::CreateRegression({Numeric("x", 0, 2)}, "y", {.min = 0, .max = 1}));
    Table table(schema);
    trainers::OutputScores scores(1);
    for (const TinyRow& row : tiny) {
      table.AppendTarget({static_cast<double>(row.x)}, row.y);
      scores[0].push_back(6.0 * row.x);
    }
    const trainers::BinnedRows rows =
        *trainers::BinnedRows::Create(table, *trainers::PublicBins(*schema, 1));
    trainers::PrivateReleaser releaser(random);
    COPPICE_ASSIGN_OR_RETURN(
        const double part,
        trainers::ReleaseTrust(
            trainers::AnswerQuality(rows, /*unit_of_scores=*/trainers::kTargetSteps / 6.0), scores,
            /*mean=*/0, share_of(claimed), releaser));
    return StrCat(part);
  };
}

// Releases to which half of its bounds a column is narrowed, if any, and then whether it is
// narrowed again, to all of that half; each selection gets an equal part of the claim. "None"
// scores 1, as two values in a window do.
TinyRelease WalkWindows(const ShareOf& share_of, uint64_t selections) {
  return [=](const TinyTable& tiny, const Budget& claimed,
             PrivateRandom& random) -> StatusOr<std::string> {
    const TinySchema schema = {
        std::make_shared<const Schema>(*Schema::Create({Whole("x", 0, 8)}, "label", {"no", "yes"})),
        {{0}, {3}, {7}}};
    const Table rows = schema.ToTable(tiny);
    const BlocksOfTable blocks(rows);
    COPPICE_ASSIGN_OR_RETURN(trainers::WindowSearch search,
                             trainers::WindowSearch::Create(blocks, /*counted=*/4.0 / 3,
                                                            {.of_all = {2}, .of_narrowed = 1}));
    trainers::PrivateReleaser releaser(random);
    std::string text;
    for (uint64_t i = 0; i < kSelections; ++i) {
      COPPICE_ASSIGN_OR_RETURN(
          const size_t chosen,
          releaser.Select(search.Scores(), *trainers::EqualShare(share_of(claimed), selections),
                          /*range=*/1));
      StrAppend(&text, chosen, ",");
      if (chosen == 0) break;
      COPPICE_RETURN_IF_ERROR(search.Narrow(chosen));
    }
    return text;
  };
}

std::vector<WalkedRelease> WalkedTrees() {
  return {
      {"two classes", "8", kRow, 2, 1e-5, 0.6, WalkStump(OneNumber(), InEpsilon)},
      {"numbers", "8", kRow, 1, 1e-5, 0.25, WalkStump(OneNumber(), InEpsilon, NumbersOfLabels)},
      {"a split of two classes", "2", kRow, 2, 1e-6, 0.4, WalkSplit(TwoNumbers(), InEpsilon)},
      {"a split of three classes", "2", kRow, 2, 1e-6, 0.2, WalkSplit(OneNumber(3), InEpsilon)},
      {"a split of numbers", "2", kRow, 2, 1e-6, 0.3,
       WalkSplit(OneNumber(), InEpsilon, NumbersOfLabels)},
      {"a leaf of two classes", "2", kRow, 2, 1e-6, 0.8, WalkLeaf(OneNumber(), InEpsilon)},
      {"a leaf of three classes", "24", kRow, 1, 1e-6, 0.3, WalkLeaf(OneNumber(3), InEpsilon)},
      {"a leaf of numbers", "2", kRow, 2, 1e-6, 0.4,
       WalkLeaf(OneNumber(), InEpsilon, NumbersOfLabels)},
      {"a mean of numbers", "2", kRow, 2, 1e-6, 0.4, WalkCentre(InEpsilon)},
      {"two classes in runs", "12", kRow, 1, 1e-6, 0.3,
       WalkStump(ThreeRuns(), InEpsilon, Classes, kRuns, /*cuts=*/2)},
      {"two classes in tilted runs", "12", kRow, 1, 1e-6, 0.3,
       WalkStump(ThreeRuns(), InEpsilon, Classes, kTilted, /*cuts=*/2)},
      {"two classes in categories", "12", kRow, 1, 1e-6, 0.3,
       WalkStump(OneColour(), InEpsilon, Classes, kCategories)},
      {"passes of two classes", "24", kRow, 1, 1e-7, 0.45,
       WalkPasses(InEpsilon, trainers::kColumnPasses)},
      {"passes of two classes, weighted", "24", kRow, 1, 1e-7, 0.45,
       WalkPasses(InEpsilon, trainers::kColumnPasses, /*weighted=*/true)},
      {"trust in public scores", "2", kRow, 2, 1e-6, 0.4, WalkTrust(InEpsilon)},
      {"trust in public scores of three classes", "2", kRow, 2, 1e-6, 0.4, WalkTrust(InEpsilon, 3)},
      {"trust in public numbers", "2", kRow, 2, 1e-6, 0.4, WalkTrustOfNumbers(InEpsilon)},
      {"a visit", "8", kRow, 1, 1e-6, 0.3, WalkVisit(Nothing(), InEpsilon)},
      {"the odds of two classes", "2", kRow, 2, 1e-6, 0.6, WalkStart(2, 15, 1 / kStartOfTwo)},
      {"three classes of hardly any rows", "6", kRow, 1, 1e-7, 0.6, WalkStart(3, 1, 1)},
      {"narrower bounds", "2", kRow, 2, 1e-6, 0.3, WalkWindows(InEpsilon, kSelections)},
  };
}

class BoostEnumerationTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, BoostEnumerationTest, ::testing::ValuesIn(WalkedTrees()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BoostEnumerationTest, NoNeighboursAreToldApartByMoreThanClaimed) {
  ExpectAsPrivateAsClaimed(GetParam());
}

MakeTask WithKind(std::function<void(trainers::ResidualKind&)> change) {
  return [change](const trainers::BinnedRows& rows) -> std::unique_ptr<trainers::BoostTask> {
    std::unique_ptr<trainers::BoostTask> task = Classes(rows);
    trainers::ResidualKind kind = task->kind();
    change(kind);
    return std::make_unique<Claiming>(std::move(task), rows.num_rows(), kind);
  };
}

// On a grid of quarters, since a grid of halves cannot hold half of the largest residual.
const MakeTask kMovingByHalf = [](const trainers::BinnedRows& rows) {
  std::unique_ptr<trainers::BoostTask> task =
      trainers::ClassTask(rows.labels(), rows.num_classes(), 2 * kUnit);
  trainers::ResidualKind kind = task->kind();
  kind.sensitivity.l1 /= 2;
  return std::make_unique<Claiming>(std::move(task), rows.num_rows(), kind);
};

const auto kHalfTheRange = WithKind([](trainers::ResidualKind& kind) { kind.range /= 2; });

std::vector<WalkedRelease> BrokenTrees() {
  return {
      {"scores taken to move by half of what they do", "2", kRow, 3, 1e-6, 1,
       WalkSplit(TwoNumbers(), InEpsilon, kHalfTheRange)},
      {"three classes measured as if they moved by a quarter", "6", kRow, 1, 1e-6, 1,
       WalkLeaf(OneNumber(3), InEpsilon,
                WithKind([](trainers::ResidualKind& kind) { kind.sensitivity.l1 /= 4; }))},
      {"a mean measured with twice its share", "2", kRow, 2, 1e-6, 1,
       WalkCentre([](const Budget& claimed) { return InEpsilon(*claimed.Plus(claimed)); })},
      {"trust with twice its share", "2", kRow, 3, 1e-6, 1,
       WalkTrust([](const Budget& claimed) { return InEpsilon(*claimed.Plus(claimed)); })},
      {"runs measured as if rows moved by half", "12", kRow, 1, 1e-6, 1,
       WalkStump(ThreeRuns(), InEpsilon, kMovingByHalf, kRuns, /*cuts=*/2, /*select=*/0.2)},
      {"categories measured as if rows moved by half", "12", kRow, 1, 1e-6, 1,
       WalkStump(OneColour(), InEpsilon, kMovingByHalf, kCategories, /*cuts=*/1, /*select=*/0.2)},
      {"tilted runs measured as if rows moved by half", "12", kRow, 1, 1e-6, 1,
       WalkStump(ThreeRuns(), InEpsilon, kMovingByHalf, kTilted, /*cuts=*/2, /*select=*/0.2)},
      {"a visit measured as if rows moved by half", "8", kRow, 1, 1e-6, 1,
       WalkVisit(Nothing(), InEpsilon, kMovingByHalf)},
      {"odds without the second number of rows", "2", kRow, 2, 1e-6, 1,
       WalkStart(2, 11, 1 / (kStartOfTwo - 0.05))},
      {"narrower bounds that take a column's share twice", "2", kRow, 2, 1e-6, 1,
       WalkWindows(InEpsilon, 1)},
      {"counts of three classes twice", "6", kRow, 1, 1e-7, 1, WalkStart(3, 1, 2)},
  };
}

class BrokenBoostTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, BrokenBoostTest, ::testing::ValuesIn(BrokenTrees()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BrokenBoostTest, TheEnumerationFindsTheBug) { ExpectFoundOut(GetParam()); }

// The largest divergence of `order`, divided by order times the claimed rho.
double WorstShareOfRho(const WalkedRelease& release, double order) {
  const Budget claimed = *Budget::Parse(release.epsilon);
  const double rho = static_cast<double>(InRho(claimed).rho().picos()) / Rho::kPicosPerRho;
  const double worst = WorstDivergence(release, order) / (order * rho);
  std::printf("%s at order %g: %.3f of rho %g\n", release.name, order, worst, rho);
  return worst;
}

std::vector<WalkedRelease> WalkedInRho() {
  return {
      {"two classes", "16", kRow, 1, 1e-5, 0.08, WalkStump(OneNumber(), InRho)},
      {"a split of two classes", "2", kRow, 2, 1e-6, 0.3, WalkSplit(TwoNumbers(), InRho)},
      {"a split of three classes", "2", kRow, 2, 1e-6, 0.05, WalkSplit(OneNumber(3), InRho)},
      {"a leaf of two classes", "4", kRow, 2, 1e-6, 0.3, WalkLeaf(OneNumber(), InRho)},
      {"a mean of numbers", "4", kRow, 2, 1e-6, 0.3, WalkCentre(InRho)},
      {"trust in public scores", "4", kRow, 1, 1e-6, 0.05, WalkTrust(InRho)},
      {"narrower bounds", "2", kRow, 2, 1e-6, 0.05, WalkWindows(InRho, kSelections)},
  };
}

class BoostInRhoTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, BoostInRhoTest, ::testing::ValuesIn(WalkedInRho()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BoostInRhoTest, NoDivergenceIsMoreThanItsOrderTimesRho) {
  for (const double order : {1.5, 2.0, 4.0}) {
    const double share = WorstShareOfRho(GetParam(), order);
    EXPECT_LE(share, 1 + 1e-9);
    EXPECT_GE(share, GetParam().found);
  }
}

TEST(BrokenBoostInRhoTest, AScoreThatMovesFurtherIsFoundOut) {
  const WalkedRelease broken = {
      "half the range", "2", kRow, 3, 1e-6, 1, WalkSplit(TwoNumbers(), InRho, kHalfTheRange)};
  EXPECT_GT(WorstShareOfRho(broken, 2), 1.05);
}

}  // namespace
}  // namespace coppice
