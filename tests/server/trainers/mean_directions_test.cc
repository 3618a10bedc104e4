// Directions of classes: what a row adds to them, when they are looked for, and what they find.

#include "server/trainers/boosting/mean_directions.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_columns.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr uint32_t kColumns = 20, kClasses = 4;

std::shared_ptr<const Schema> WideSchema() {
  return std::make_shared<const Schema>(
      *Schema::Create(NumericFeatures(kColumns), "label", {"a", "b", "c", "d"}));
}

// Each class is `apart` above the middle in a quarter of the columns, and below it in the others.
Table WideTable(size_t rows, double apart) {
  Table table(WideSchema());
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<> noise(-0.1, 0.1);
  for (size_t i = 0; i < rows; ++i) {
    const auto label = static_cast<uint32_t>(i % kClasses);
    Row row;
    for (uint32_t f = 0; f < kColumns; ++f) {
      row.push_back(0.5 + (f % kClasses == label ? apart : -apart) + noise(engine));
    }
    table.Append(row, label);
  }
  return table;
}

struct Wide {
  BinnedRows rows;
  std::vector<Line> lines;
};

Wide Binned(const Table& table) {
  BoostColumns columns = *PublicBoostColumns(table.schema(), 100);
  std::vector<Line> lines = PublicDirections(table.schema(), columns.bins);
  return {.rows = *BinnedRows::Create(table, std::move(columns.bins), columns.derived),
          .lines = std::move(lines)};
}

struct Moved {
  double l1 = 0, l2_squared = 0;
};

// How far a table's only row moves the sums, as parts of what noise is for.
Moved MovedBy(const Row& row, uint32_t label, bool in_rho) {
  Table table(WideSchema());
  table.Append(row, label);
  const Wide wide = Binned(table);
  const std::unique_ptr<BoostTask> task = ClassTask(wide.rows.labels(), kClasses);
  Residuals residuals(kClasses, std::vector<int32_t>(1));
  task->Fill(residuals);
  const Sensitivity bound =
      DirectionSensitivity(task->kind().sensitivity, wide.lines.size() + 1, in_rho);
  Moved moved;
  for (const int64_t sum : SumDirections(wide.rows, wide.lines, residuals, in_rho)) {
    const auto size = static_cast<double>(std::abs(sum));
    moved.l1 += size / static_cast<double>(bound.l1);
    moved.l2_squared += size * size / static_cast<double>(bound.l2_squared);
  }
  return moved;
}

TEST(SumDirectionsTest, ARowMovesThemByTheirSensitivityAtMostAndNearlyReachesIt) {
  std::mt19937_64 engine(4);
  double most_l1 = 0, most_l2 = 0;
  for (int i = 0; i < 300; ++i) {
    Row row;
    for (uint32_t f = 0; f < kColumns; ++f) {
      row.push_back(i == 0   ? 0.0
                    : i == 1 ? 1.0
                             : RandomValue(WideSchema()->features()[f], 0.1, engine));
    }
    for (const bool in_rho : {false, true}) {
      const Moved moved = MovedBy(row, static_cast<uint32_t>(i) % kClasses, in_rho);
      EXPECT_LE(moved.l1, 1);
      EXPECT_LE(moved.l2_squared, 1);
      (in_rho ? most_l2 : most_l1) =
          std::max(in_rho ? most_l2 : most_l1, in_rho ? moved.l2_squared : moved.l1);
    }
  }
  // So a bound of half of it, or of half the norm, would be found out here.
  EXPECT_GT(most_l1, 0.9);
  EXPECT_GT(most_l2, 0.6) << "the residuals of even scores are not the longest that a row may have";
}

TEST(PlanDirectionsTest, SharesAddUpAndNoiseDecides) {
  const BudgetShare rho(*Rho::FromPicos(Rho::kPicosPerRho / 40));
  const BudgetShare epsilon(*Budget::Parse("1"));
  EXPECT_FALSE(PlanDirections(epsilon, 2000, kClasses, 200)->has_value()) << "too much noise";
  EXPECT_FALSE(PlanDirections(rho, -5, kClasses, 0x10000)->has_value());
  for (const BudgetShare& whole : {rho, epsilon}) {
    const std::optional<DirectionPlan> plan = *PlanDirections(whole, 100'000, kClasses, 21);
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->pilot.amount() + plan->trees_after_pilot.amount(), whole.amount());
    EXPECT_EQ(plan->pilot.amount() + plan->more.amount() + plan->steepness.amount() +
                  plan->trees.amount(),
              whole.amount());
    EXPECT_NEAR(static_cast<double>(plan->trees.amount()),
                0.65 * static_cast<double>(whole.amount()),
                1e-3 * static_cast<double>(whole.amount()));
  }
}

// The share of rows whose largest score is their class's; none if no directions are found.
std::optional<double> FoundShare(const Table& table, const BudgetShare& whole) {
  const Wide wide = Binned(table);
  const auto counted = static_cast<double>(table.num_rows());
  const std::optional<DirectionPlan> plan =
      *PlanDirections(whole, counted, kClasses, wide.lines.size() + 1);
  EXPECT_TRUE(plan.has_value());
  const std::unique_ptr<BoostTask> task = ClassTask(wide.rows.labels(), kClasses);
  SeededRandom random(8);
  PrivateReleaser releaser(random);
  const StatusOr<std::optional<FoundDirections>> found =
      FindDirections(wide.rows, wide.lines, *plan, counted, *task, releaser);
  EXPECT_OK(found);
  if (!found->has_value()) return std::nullopt;
  EXPECT_EQ((*found)->lines.size(), kColumns);
  EXPECT_GT((*found)->lines[0].noise[0][0].variance, 0);
  size_t right = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    uint32_t best = 0;
    for (uint32_t c = 1; c < kClasses; ++c) {
      if (task->scores(c)[row] > task->scores(best)[row]) best = c;
    }
    right += best == table.label(row) ? 1 : 0;
  }
  return static_cast<double>(right) / counted;
}

TEST(FindDirectionsTest, ClassesThatLieApartAreToldApartAndOthersAreLeftToTrees) {
  for (const BudgetShare& whole :
       {BudgetShare(*Rho::FromPicos(Rho::kPicosPerRho / 10)), BudgetShare(*Budget::Parse("4"))}) {
    const std::optional<double> share = FoundShare(WideTable(8000, 0.38), whole);
    ASSERT_TRUE(share.has_value());
    EXPECT_GT(*share, 0.95);
    EXPECT_FALSE(FoundShare(WideTable(8000, 0.02), whole).has_value());
  }
}

}  // namespace
}  // namespace coppice::trainers
