// What trainers share: which rows each tree sees, what it may spend, and what is recorded.

#include "server/trainers/core/ensemble.h"

#include "server/trainers/core/shares.h"
#include "server/trainers/forests/semi_supervised.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/scripted_random.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using Groups = std::vector<std::vector<uint32_t>>;

constexpr EnsembleOptions kThreeGroups{.trees = 3, .groups = true};
constexpr EnsembleOptions kThreeTimesAll{.trees = 3, .groups = false};

TEST(DrawGroupsTest, EachRowGoesWhereItsOwnDrawSays) {
  ScriptedRandom random({2, 0, 2, 1});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  EXPECT_EQ(*DrawGroups({4, 5, 6, 7}, kThreeGroups, releaser), (Groups{{5}, {7}, {4, 6}}));
}

TEST(DrawGroupsTest, AllRowsInEachTreeNeedNoDraw) {
  ScriptedRandom random({});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  EXPECT_EQ(*DrawGroups({4, 5}, kThreeTimesAll, releaser), (Groups{{4, 5}, {4, 5}, {4, 5}}));
}

TEST(DrawSidesTest, ARowWithoutALabelIsUnlabelledAndOneWithALabelHasItsOwnCoin) {
  const auto schema = MixedClasses();
  Table table(schema);
  for (const uint32_t label : {0u, kUnlabelled, 1u, 2u}) {
    table.Append(Row(schema->num_features(), kMissingValue), label);
  }
  const BinnedRows rows = Binned(table, 3);
  ScriptedRandom random({1, 1, 0, 1});
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const Sides sides, DrawSides(rows, 0.2, releaser));
  EXPECT_EQ(sides.labelled, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(sides.unlabelled, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(random.drawn(), 4u) << "one coin a row, whatever it holds";
}

TEST(DrawSidesTest, TheWholeShareUsesEveryLabelAndNoneUsesNone) {
  const Table table = RandomTable(MixedClasses(), {.rows = 100, .unlabelled = 0.3}, 1);
  const BinnedRows rows = Binned(table, 3);
  SeededRandom random(1);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  ASSERT_OK_AND_ASSIGN(const Sides all, DrawSides(rows, 1, releaser));
  for (const uint32_t row : all.unlabelled) EXPECT_EQ(table.label(row), kUnlabelled);
  EXPECT_EQ(all.labelled.size() + all.unlabelled.size(), table.num_rows());
  ASSERT_OK_AND_ASSIGN(const Sides none, DrawSides(rows, 0, releaser));
  EXPECT_TRUE(none.labelled.empty());
}

TEST(ReleasesTest, GroupsCostWhatOneTreeCosts) {
  Releases releases(kThreeGroups);
  releases.Add("a split", "permute_and_flip", BudgetShare(*Budget::FromNanos(5)), 2);
  releases.Add("leaves", "discrete_laplace", BudgetShare(*Budget::FromNanos(7)));
  const std::vector<Release> all = std::move(releases).Take();
  EXPECT_EQ(*TotalCost(all), 17u);
  EXPECT_EQ(all[0].part, "each of 3 groups of the rows");
}

TEST(ReleasesTest, TreesOfAllRowsAddUp) {
  Releases releases(kThreeTimesAll);
  releases.Add("a split", "permute_and_flip", BudgetShare(*Budget::FromNanos(5)), 2);
  const std::vector<Release> all = std::move(releases).Take();
  EXPECT_EQ(*TotalCost(all), 30u);
  EXPECT_EQ(all[0].part, "");
  EXPECT_EQ(ShareOfTree(kThreeTimesAll, BudgetShare(*Budget::FromNanos(31)))->amount(), 10u);
  EXPECT_EQ(ShareOfTree(kThreeGroups, BudgetShare(*Budget::FromNanos(31)))->amount(), 31u);
}

TEST(ReleasesTest, WithoutPrivacyNothingIsListed) {
  Releases releases(kThreeTimesAll);
  releases.Add("a split", "permute_and_flip", BudgetShare::WithoutPrivacy(), 2);
  EXPECT_TRUE(std::move(releases).Take().empty());
}

}  // namespace
}  // namespace coppice::trainers
