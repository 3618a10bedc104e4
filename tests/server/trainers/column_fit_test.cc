#include "server/trainers/boosting/column_fit.h"

#include <cmath>

#include "common/base/text.h"
#include "server/trainers/boosting/column_trees.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

FeatureBins SomeNumbers(uint32_t bins) {
  FeatureBins made;
  for (uint32_t i = 1; i < bins; ++i) made.cuts.push_back(i);
  made.known = bins;
  return made;
}

TEST(ColumnFitTest, NeighbouringBinsAreOneGroupAndMissingOnesAnother) {
  const BinGroups groups = GroupBins(SomeNumbers(6), 3);
  EXPECT_THAT(groups.of_bin, ElementsAre(0, 0, 1, 1, 2, 2, 3));
  EXPECT_EQ(groups.ordered, 3u);
  EXPECT_EQ(groups.count, 4u);
  EXPECT_THAT(GroupBins(SomeNumbers(2), 9).of_bin, ElementsAre(0, 1, 2));
}

TEST(ColumnFitTest, CategoriesOthersAndMissingOnesAreGroupsOfTheirOwn) {
  const FeatureBins colours{.type = FeatureType::kCategorical, .known = 2};
  const BinGroups groups = GroupBins(colours, 1);
  EXPECT_THAT(groups.of_bin, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(groups.ordered, 0u);
}

TEST(ColumnFitTest, ARowCountsItsResidualsInOneGroup) {
  const BinGroups groups = GroupBins(SomeNumbers(2), 2);
  BinColumn column(groups.of_bin.size(), 1);
  column.Set(0, std::vector<uint16_t>{1});
  EXPECT_THAT(SumByGroup(column, groups, {{-5}, {7}}),
              ElementsAre(0, 0, 0, 0, 0, 7, 5, 0, 0, 0, 0, 0));
}

TEST(ColumnFitTest, WithoutNoiseAWeightIsNearlyTheLogRatio) {
  const BinGroups groups = GroupBins(SomeNumbers(2), 2);
  const auto weights =
      WeightsOf({.sums = {9000, 1000, 1000, 9000, 0, 0}, .scale = 0}, groups, 1, 1);
  EXPECT_NEAR(weights[0][0], std::log(9), 0.01);
  EXPECT_NEAR(weights[1][0], -std::log(9), 0.01);
  EXPECT_EQ(weights[2][0], 0);
}

TEST(ColumnFitTest, WhereNoiseHidesABinItsNeighboursSpeak) {
  const BinGroups groups = GroupBins(SomeNumbers(2), 2);
  const auto weights =
      WeightsOf({.sums = {90'000, 10'000, 0, 0, 0, 0}, .scale = 100}, groups, 1, 1);
  EXPECT_GT(weights[0][0], 2);
  EXPECT_GT(weights[1][0], 1);  // only the column tells of it
  EXPECT_EQ(weights[2][0], 0);
}

// Four groups of Laplace noise of scale 10: differences have a variance of 400 each, 1,600 in all.
TEST(ColumnFitTest, WeightsFadeWhereNoiseExplainsTheSums) {
  const FeatureBins colours{.type = FeatureType::kCategorical, .known = 2};
  const BinGroups groups = GroupBins(colours, 1);
  const auto fading = [&](std::vector<int64_t> sums, uint32_t outputs, double scale) {
    return FadingOf({.sums = std::move(sums), .scale = scale}, groups, outputs);
  };
  EXPECT_THAT(fading({90, 10, 0, 0, 0, 0, 0, 0}, 1, 10), ElementsAre(0.75));  // 1 - 1600 / 6400
  EXPECT_THAT(fading({30, 10, 0, 20, 5, 5, 0, 0}, 1, 10), ElementsAre(0));
  EXPECT_THAT(fading({-80, 0, 0, 0, 0, 0, 0, 0}, 1, 10), ElementsAre(0.75));
  EXPECT_THAT(fading(std::vector<int64_t>(8), 1, 0), ElementsAre(0));
  EXPECT_THAT(fading({1, 0, 0, 0, 0, 0, 0, 0}, 1, 0), ElementsAre(1)) << "without noise";
  // Outputs fade each by its own sums: of a group the positive parts come first.
  EXPECT_THAT(fading({80, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, 10),
              ElementsAre(0.75, 0));
}

TEST(ColumnFitTest, AVisitAnswersWhatEachCategoryAsksFor) {
  std::vector<std::string> codes;
  for (int v = 0; v < 100; ++v) codes.push_back(StrCat("v", v));
  for (const uint32_t classes : {2u, 3u}) {
    const std::vector<std::string> names = {"a", "b", "c"};
    const auto schema = std::make_shared<const Schema>(*Schema::Create(
        {Categorical("code", codes)}, "label", {names.begin(), names.begin() + classes}));
    Table table(schema);
    for (int i = 0; i < 20'000; ++i) {
      table.Append(Row{static_cast<double>(i % 100)}, static_cast<uint32_t>(i % 100) % classes);
    }
    const BinnedRows rows = *BinnedRows::Create(table, *PublicBins(*schema, 1));
    SeededRandom random(1);
    PrivateReleaser releaser(random);
    const auto task = ClassTask(rows.labels(), classes);
    ASSERT_OK_AND_ASSIGN(const ColumnScores found,
                         VisitColumn(rows, {.column = 0, .fades = true}, kResidualUnit,
                                     BudgetShare(*Budget::Parse("2")), *task, releaser));
    for (uint32_t category = 0; category < 100; ++category) {
      const uint32_t label = category % classes;
      if (classes == 2) {
        EXPECT_GT(found.weights[category][0] * (label == 1 ? 1 : -1), 1) << category;
      } else {
        EXPECT_GT(found.weights[category][label], 1) << category;
      }
      EXPECT_EQ(task->scores(0)[category], found.weights[category][0]) << "added to the scores";
    }
    EXPECT_GT(found.noise[0][0].variance, 0);
  }
}

// Every bin's value finds the bin's weight, whatever the trees look like.
TEST(ColumnTreesTest, EveryBinHasItsWeight) {
  std::vector<std::string> codes;
  for (int v = 0; v < 600; ++v) codes.push_back(StrCat("v", v));
  const Schema schema =
      *Schema::Create({Numeric("x", 0, 9), Categorical("code", codes)}, "label", {"no", "yes"});
  const auto bins = *PublicBins(schema, 12);
  for (uint32_t f = 0; f < 2; ++f) {
    std::vector<std::vector<double>> weights;
    for (uint32_t bin = 0; bin < bins[f].size(); ++bin) weights.push_back({bin + 1.0, -7.0 * bin});
    ASSERT_OK_AND_ASSIGN(const auto trees, ColumnTrees(schema, f, bins[f], weights));
    EXPECT_EQ(trees.size(), f == 0 ? 1u : 3u);
    for (uint32_t bin = 0; bin < bins[f].size(); ++bin) {
      Row row = {0, 0};
      row[f] = bin == bins[f].missing() ? kMissingValue
               : f == 1                 ? bin
               : bin == 0               ? 0
                                        : bins[f].cuts[bin - 1];
      double first = 0, second = 0;
      for (const ColumnTree& tree : trees) {
        const std::vector<double>& of_leaf = tree.weights[tree.tree.FindLeaf(row)];
        first += of_leaf[0];
        second += of_leaf[1];
      }
      EXPECT_NEAR(first, bin + 1.0, 1e-9) << f;
      EXPECT_NEAR(second, -7.0 * bin, 1e-9) << f;
    }
  }
}

}  // namespace
}  // namespace coppice::trainers
