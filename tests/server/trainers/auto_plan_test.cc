// What auto decides, given the released and public numbers of a test, and what that costs.

#include "server/trainers/boosting/auto_plan.h"

#include <cmath>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/table.h"
#include "server/trainers/core/shares.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kSmallDelta = 1'000'000'000'000;  // 1e-6

// Answers with the test's sums, and records what was asked for.
class AnswersReleaser final : public PrivateReleaser {
 public:
  AnswersReleaser(std::vector<std::vector<int64_t>> answers, PrivateRandom& random)
      : PrivateReleaser(random), answers_(std::move(answers)) {}

  StatusOr<Measurement> Measure(absl::Span<const int64_t> sums, const Sensitivity& sensitivity,
                                const BudgetShare& share) override {
    EXPECT_EQ(sensitivity.l1, 1u);
    EXPECT_EQ(sensitivity.l2_squared, 1u);
    asked.emplace_back(sums.begin(), sums.end());
    shares.push_back(share);
    if (asked.size() > answers_.size()) return InternalError("asked too often");
    EXPECT_EQ(answers_[asked.size() - 1].size(), sums.size());
    return Measurement{.sums = answers_[asked.size() - 1],
                       .scale = *NoiseScale(sensitivity, share),
                       .is_gaussian = share.is_concentrated()};
  }
  uint64_t spent() const {
    uint64_t sum = 0;
    for (const BudgetShare& share : shares) sum += share.amount();
    return sum;
  }

  std::vector<std::vector<int64_t>> asked;
  std::vector<BudgetShare> shares;

 private:
  std::vector<std::vector<int64_t>> answers_;
};

std::shared_ptr<const Schema> OneColour(uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < classes; ++c) names.push_back(StrCat("class", c));
  return std::make_shared<const Schema>(
      *Schema::Create({Categorical("colour", {"red", "green"})}, "label", names));
}

AutoBudgets BudgetsOf(const Schema& schema, const char* epsilon, uint64_t delta_atto = 0,
                      bool concentrated = false) {
  return *AutoBudgetsOf(
      schema,
      {.epsilon = *Budget::Parse(epsilon), .delta_atto = delta_atto, .concentrated = concentrated});
}

// A count with the noise that its share pays for.
RowEstimate Counted(double rows, const AutoBudgets& budgets) {
  const double scale = *NoiseScale({.l1 = 1, .l2_squared = 1}, budgets.count);
  RowEstimate estimate;
  estimate.Add(rows, 2 * scale * scale);
  return estimate;
}

// The start of `labels` when the released counts are `answers`.
struct Started {
  AutoBudgets budgets;
  ClassStart start;
  std::vector<std::vector<int64_t>> asked{};
  std::vector<BudgetShare> shares{};
  uint64_t spent = 0;
};
Started StartFor(uint32_t classes, double counted, const AutoBudgets& budgets,
                 std::vector<std::vector<int64_t>> answers,
                 const std::vector<uint32_t>& labels = {}) {
  SeededRandom random(1);
  AnswersReleaser releaser(std::move(answers), random);
  StatusOr<ClassStart> start =
      ReleaseClassStart(labels, classes, Counted(counted, budgets), budgets, releaser);
  EXPECT_OK(start);
  return {.budgets = budgets,
          .start = *start,
          .asked = releaser.asked,
          .shares = releaser.shares,
          .spent = releaser.spent()};
}

AutoChoice ChoiceFor(const ClassStart& start, const AutoBudgets& budgets, const Schema& schema) {
  const BoostColumns columns = *PublicBoostColumns(schema, kAllInformation);
  const std::vector<Line> lines = PublicLines(schema, columns.bins);
  return *ChooseForClasses(start, budgets, schema, columns, lines);
}

// The joint cost of all trees' levels, and of what comes before and after them.
uint64_t CostOf(const AutoChoice& choice, const Schema& schema) {
  const BudgetShare& trees = choice.passes  ? choice.passes->trees
                             : choice.lines ? choice.lines->trees
                                            : choice.after_visits();
  uint64_t sum = 0;
  const std::vector<LevelShares> levels = *SharesOfLevels(trees, choice);
  for (const LevelShares& level : levels) {
    sum += choice.trees() * (level.select.amount() + level.measure.amount());
  }
  if (choice.passes) {
    sum += kColumnPasses * schema.num_features() * choice.passes->passes.visit.amount();
  }
  if (choice.visits) sum += choice.visits->columns.size() * choice.visits->visit.amount();
  return sum;
}

TEST(RowEstimateTest, TheSurerNumberWeighsMore) {
  RowEstimate estimate;
  EXPECT_EQ(estimate.rows(), 0);
  estimate.Add(100, 4);
  EXPECT_DOUBLE_EQ(estimate.rows(), 100);
  estimate.Add(200, 1);
  EXPECT_DOUBLE_EQ(estimate.rows(), 180);
}

TEST(AutoBudgetsTest, PartsAreTheWholeAndDeltaIsSpentOnce) {
  const auto schema = OneColour(2);
  const AutoBudgets pure = BudgetsOf(*schema, "1");
  EXPECT_EQ(pure.count.amount() + pure.forest.amount(), 1'000'000'000u);
  EXPECT_FALSE(pure.concentrated.has_value());
  const AutoBudgets with_delta = BudgetsOf(*schema, "1", kSmallDelta);
  EXPECT_EQ(with_delta.concentrated->rho().picos(),
            Rho::Implying(with_delta.forest.budget(), kSmallDelta)->picos());
  EXPECT_FALSE(with_delta.states_rho);
  EXPECT_TRUE(BudgetsOf(*schema, "1", kSmallDelta, true).states_rho);
}

TEST(ClassStartTest, WithFewRowsSpendsOnTheirNumberAndNotOnOdds) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "0.1");
  const Started few = StartFor(2, 300, budgets, {{400}}, std::vector<uint32_t>(7));
  ASSERT_THAT(few.asked, SizeIs(1));
  EXPECT_THAT(few.asked[0], ElementsAre(7)) << "all rows are counted";
  EXPECT_GT(few.spent, 0u);
  EXPECT_LT(few.spent, budgets.forest.amount() / 4) << "most of it is for the trees";
  EXPECT_EQ(few.start.left.amount() + few.spent, budgets.forest.amount());
  EXPECT_GT(few.start.rows, 390) << "the second number is surer";
  EXPECT_LT(few.start.rows, 400);
  EXPECT_THAT(few.start.odds, IsEmpty());
  EXPECT_THAT(few.start.scores, IsEmpty());
}

TEST(ClassStartTest, WithManyRowsSpendsOnTheirOddsAlone) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  std::vector<uint32_t> labels = {0, 1, 1, kUnlabelled};
  const Started even = StartFor(2, 10'000, budgets, {{4000, 6000}}, labels);
  ASSERT_THAT(even.asked, SizeIs(1));
  EXPECT_THAT(even.asked[0], ElementsAre(1, 2)) << "rows without a label are of no class";
  const double share = static_cast<double>(even.spent) / budgets.forest.amount();
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 0.25) << "most of it is for the trees";
  EXPECT_EQ(even.start.left.amount() + even.spent, budgets.forest.amount());
  EXPECT_NEAR(even.start.odds[1], 0.6, 0.02);
  EXPECT_THAT(even.start.scores, IsEmpty()) << "neither class is rare";
  EXPECT_NEAR(even.start.rows, 10'000, 100);
  // Fewer rows pay a larger part of the budget.
  const Started fewer = StartFor(2, 600, budgets, {{300, 300}});
  EXPECT_GT(static_cast<double>(fewer.spent) / budgets.forest.amount(), share);
}

TEST(ClassStartTest, RareClassesBeginAtTheirOdds) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  const Started rare = StartFor(2, 11'000, budgets, {{10'670, 330}});
  ASSERT_THAT(rare.start.scores, SizeIs(1));
  // Noise draws the odds towards even ones, and not far.
  EXPECT_GT(rare.start.scores[0], std::log(330.0 / 10'670));
  EXPECT_LT(rare.start.scores[0], std::log(2 * 330.0 / 10'670));
  EXPECT_GT(rare.start.noise[0].variance, 0);
  const Started other = StartFor(2, 11'000, budgets, {{330, 10'670}});
  EXPECT_NEAR(other.start.scores[0], -rare.start.scores[0], 1e-9);
  // There are as many rounds as if both classes were as rare.
  EXPECT_LT(
      ChoiceFor(rare.start, budgets, *schema).rounds,
      0.5 *
          ChoiceFor(StartFor(2, 11'000, budgets, {{5'500, 5'500}}).start, budgets, *schema).rounds);
}

TEST(ClassStartTest, SpendsNothingOnCountsWithManyRows) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  const Started many = StartFor(2, 20'000, budgets, {});
  EXPECT_THAT(many.asked, IsEmpty());
  EXPECT_EQ(many.start.left.amount(), budgets.forest.amount());
}

TEST(ClassStartTest, OddsThatTurnOutToBeNoiseAreForgotten) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  // The first number of rows was far too high.
  const Started noise = StartFor(2, 600, budgets, {{2, 30}});
  ASSERT_THAT(noise.asked, SizeIs(1));
  EXPECT_THAT(noise.start.odds, IsEmpty());
  EXPECT_THAT(noise.start.scores, IsEmpty());
  EXPECT_EQ(noise.start.left.amount() + noise.spent, budgets.forest.amount());
}

TEST(ClassStartTest, SeveralClassesOfHardlyAnyRowsSpendAllOnTheirCounts) {
  const auto schema = OneColour(3);
  for (const bool in_rho : {false, true}) {
    const AutoBudgets budgets = BudgetsOf(*schema, "0.1", in_rho ? kSmallDelta : 0, in_rho);
    const Started few = StartFor(3, 20, budgets, {{20}, {12, 0, 4}});
    EXPECT_TRUE(few.start.is_all);
    ASSERT_THAT(few.start.scores, SizeIs(3));
    EXPECT_GT(few.start.scores[0], few.start.scores[2]);
    EXPECT_GT(few.start.scores[2], few.start.scores[1]);
    double sum = 0;
    for (const double score : few.start.scores) sum += std::exp(score);
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_EQ(few.spent, (in_rho ? *budgets.concentrated : budgets.forest).amount());
    for (const BudgetShare& share : few.shares) EXPECT_EQ(share.is_concentrated(), in_rho);
  }
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  const Started many = StartFor(3, 10'000, budgets, {});
  EXPECT_FALSE(many.start.is_all);
  EXPECT_EQ(many.start.left.amount(), budgets.forest.amount());
}

TEST(ClassStartTest, InRhoAllOfItIsOfTheRhoThatIsStated) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1", kSmallDelta, true);
  const Started both = StartFor(2, 400, budgets, {{4000}, {2000, 2000}});
  EXPECT_EQ(both.start.left.amount() + both.spent, budgets.concentrated->amount());
  for (const BudgetShare& share : both.shares) EXPECT_TRUE(share.is_concentrated());
}

// Whatever noise gives, plans have a bounded size and scores are finite.
TEST(ClassStartTest, NoReleasedCountMakesAPlanWithoutBounds) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  for (const int64_t count : {-kHuge, int64_t{-5}, int64_t{0}, int64_t{400}, kHuge}) {
    for (const uint32_t classes : {2u, 3u}) {
      const auto schema = OneColour(classes);
      for (const bool in_rho : {false, true}) {
        const AutoBudgets budgets = BudgetsOf(*schema, "1", kSmallDelta, in_rho);
        for (const int64_t first : {-kHuge, int64_t{0}, kHuge}) {
          SeededRandom random(1);
          std::vector<int64_t> counts(classes, count);
          counts[0] = -count;
          const RowEstimate counted = Counted(static_cast<double>(first), budgets);
          std::vector<std::vector<int64_t>> answers = {counts};
          if (first <= 0) answers.insert(answers.begin(), {count});  // a second number of rows
          AnswersReleaser releaser(answers, random);
          ASSERT_OK_AND_ASSIGN(const ClassStart start,
                               ReleaseClassStart({}, classes, counted, budgets, releaser));
          for (const double score : start.scores) EXPECT_LT(std::abs(score), 100);
          for (const double share : start.odds) EXPECT_GT(share, 0);
          EXPECT_TRUE(std::isfinite(start.rows));
          const AutoChoice choice = ChoiceFor(start, budgets, *schema);
          EXPECT_LE(choice.trees() * choice.depth(), 1000u);
          EXPECT_GE(choice.trees(), 1u);
        }
      }
    }
  }
}

// A start with this many released rows, half of them of the first class.
ClassStart EvenStart(double rows, const BudgetShare& left) {
  return {.rows = rows, .left = left, .odds = {0.5, 0.5}};
}

TEST(ChooseForClassesTest, PartsAreMeasuredApartWhereRowsAffordThem) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1");
  const AutoChoice few = ChoiceFor(EvenStart(60, budgets.forest), budgets, *schema);
  EXPECT_EQ(few.detail.runs, 1u);
  EXPECT_GT(few.detail.tilt, 0);
  const AutoChoice many = ChoiceFor(EvenStart(3000, budgets.forest), budgets, *schema);
  EXPECT_GT(many.detail.runs, 1u);
  EXPECT_TRUE(many.detail.categories);
  const AutoChoice plenty = ChoiceFor(EvenStart(20'000, budgets.forest), budgets, *schema);
  EXPECT_EQ(plenty.detail.runs, 1u) << "many splits tell rows apart";
  EXPECT_FALSE(plenty.detail.categories);
  const auto three = OneColour(3);
  const AutoChoice whole =
      ChoiceFor({.rows = 3000, .left = budgets.forest}, BudgetsOf(*three, "1"), *three);
  EXPECT_EQ(whole.detail.runs, 1u);
  EXPECT_FALSE(whole.detail.categories);
  EXPECT_EQ(whole.detail.tilt, 0);
}

TEST(ChooseForClassesTest, PassesComeWithADeltaAndCategoriesAndRowsEnough) {
  const auto schema = OneColour(2);
  const AutoBudgets pure = BudgetsOf(*schema, "1"), delta = BudgetsOf(*schema, "1", kSmallDelta);
  EXPECT_FALSE(ChoiceFor(EvenStart(20'000, pure.forest), pure, *schema).passes.has_value());
  EXPECT_FALSE(ChoiceFor(EvenStart(0, delta.forest), delta, *schema).passes.has_value());
  const AutoChoice choice = ChoiceFor(EvenStart(5'000, delta.forest), delta, *schema);
  ASSERT_TRUE(choice.passes.has_value());
  EXPECT_TRUE(choice.forest.is_concentrated());
  EXPECT_THAT(choice.passes->passes.slopes, ElementsAre(0.25));
  EXPECT_THAT(choice.InWords(), HasSubstr(" passes over all columns, with Gaussian noise"));
  EXPECT_FALSE(ChoiceFor(EvenStart(20'000, delta.forest), delta, *schema).passes.has_value())
      << "so many trees see all of it";
  // Mostly numeric tables have oblique columns in place of passes.
  const Schema numeric = *Schema::Create(NumericFeatures(3), "label", {"no", "yes"});
  const AutoBudgets budgets = BudgetsOf(numeric, "1", kSmallDelta);
  const AutoChoice lines = ChoiceFor(EvenStart(20'000, budgets.forest), budgets, numeric);
  EXPECT_FALSE(lines.passes.has_value());
  EXPECT_TRUE(lines.lines.has_value());
  EXPECT_THAT(lines.InWords(), HasSubstr("lines, then"));
  EXPECT_THAT(lines.InWords(), Not(HasSubstr("passes")));
}

// `wide` features of 65 categories, which are too many to be split into all of them, then `narrow`
// ones of 64.
Schema WideAndNarrow(uint32_t wide, uint32_t narrow) {
  std::vector<Feature> features;
  for (uint32_t f = 0; f < wide + narrow; ++f) {
    std::vector<std::string> values;
    for (int v = 0; v < (f < wide ? 65 : 64); ++v) values.push_back(StrCat("v", v));
    features.push_back(Categorical(StrCat("f", f), values));
  }
  return *Schema::Create(features, "label", {"no", "yes"});
}

TEST(ChooseForClassesTest, ColumnsOfManyCategoriesAreVisitedOnceEach) {
  const auto share_of_visits = [](uint32_t wide, uint32_t narrow, uint64_t delta) {
    const Schema schema = WideAndNarrow(wide, narrow);
    const AutoBudgets budgets = BudgetsOf(schema, "1", delta);
    const AutoChoice choice = ChoiceFor(EvenStart(5'000, budgets.forest), budgets, schema);
    if (!choice.visits) return 0.0;
    EXPECT_EQ(choice.visits->columns.size(), wide);
    EXPECT_EQ(choice.visits->columns.back(), wide - 1);
    EXPECT_THAT(choice.InWords(), HasSubstr(StrCat("each of ", wide, " columns of many")));
    EXPECT_LE(CostOf(choice, schema), choice.forest.amount());
    EXPECT_GT(static_cast<double>(CostOf(choice, schema)), 0.999 * choice.forest.amount());
    return static_cast<double>(choice.visits->columns.size() * choice.visits->visit.amount()) /
           static_cast<double>(choice.forest.amount());
  };
  for (const uint64_t delta : {uint64_t{0}, kSmallDelta}) {
    EXPECT_EQ(share_of_visits(0, 4, delta), 0);
    EXPECT_NEAR(share_of_visits(1, 3, delta), 0.15, 1e-4);
    EXPECT_NEAR(share_of_visits(4, 10, delta), 0.4, 1e-4);
    EXPECT_NEAR(share_of_visits(6, 0, delta), 0.8, 1e-4);
  }
  // A share that cannot be divided is no error: the count that led here has been drawn.
  const Schema schema = WideAndNarrow(6, 0);
  const AutoBudgets budgets = BudgetsOf(schema, "1");
  const BudgetShare little = *budgets.forest.WithAmount(9);
  EXPECT_FALSE(ChoiceFor(EvenStart(5, little), budgets, schema).visits.has_value());
}

TEST(ChooseForClassesTest, SlopesAreThoseOfTheOdds) {
  const auto schema = OneColour(2);
  const AutoBudgets budgets = BudgetsOf(*schema, "1", kSmallDelta);
  ClassStart start = EvenStart(12'000, budgets.forest);
  start.odds = {0.9, 0.1};
  EXPECT_NEAR(ChoiceFor(start, budgets, *schema).passes->passes.slopes[0], 0.09, 1e-12);
  start.odds = {0.99, 0.01};
  EXPECT_GT(ChoiceFor(start, budgets, *schema).passes->passes.slopes[0], 0.01) << "no less";
  const auto four = OneColour(4);
  const AutoBudgets of_four = BudgetsOf(*four, "1", kSmallDelta);
  const AutoChoice choice = ChoiceFor({.rows = 5'000, .left = of_four.forest}, of_four, *four);
  ASSERT_TRUE(choice.passes.has_value());
  EXPECT_THAT(choice.passes->passes.slopes, SizeIs(4));
  EXPECT_NEAR(choice.passes->passes.slopes[2], 3.0 / 16, 1e-12);
}

TEST(ChooseForClassesTest, WhatIsDividedIsAllThatWasLeftAndNoMore) {
  for (const uint32_t classes : {2u, 3u}) {
    const auto schema = OneColour(classes);
    for (const uint64_t delta : {uint64_t{0}, kSmallDelta}) {
      for (const bool in_rho : {false, true}) {
        if (in_rho && delta == 0) continue;
        const AutoBudgets budgets = BudgetsOf(*schema, "1", delta, in_rho);
        const BudgetShare whole = in_rho ? *budgets.concentrated : budgets.forest;
        const BudgetShare left = Divide(whole, 0.1)->rest;
        for (const double rows : {0.0, 300.0, 50'000.0}) {
          const AutoChoice choice = ChoiceFor({.rows = rows, .left = left}, budgets, *schema);
          const uint64_t most =
              choice.forest.is_concentrated() && !in_rho
                  ? Rho::Implying(left.budget(), delta)->picos()  // of what was left alone
                  : left.amount();
          EXPECT_EQ(choice.forest.amount(), most);
          EXPECT_LE(CostOf(choice, *schema), most);
          EXPECT_GT(static_cast<double>(CostOf(choice, *schema)), 0.9999 * most) << "wasted";
        }
      }
    }
  }
}

TEST(ChooseForClassesTest, ADeltaIsUsedOnlyWhereItHelps) {
  const Schema schema = *Schema::Create(NumericFeatures(3), "label", {"no", "yes"});
  const AutoBudgets budgets = BudgetsOf(schema, "1", kSmallDelta);
  EXPECT_FALSE(ChoiceFor(EvenStart(100, budgets.forest), budgets, schema).forest.is_concentrated());
  EXPECT_TRUE(
      ChoiceFor(EvenStart(60'000, budgets.forest), budgets, schema).forest.is_concentrated());
}

}  // namespace
}  // namespace coppice::trainers
