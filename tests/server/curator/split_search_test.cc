#include "server/curator/partition/split_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/schemas.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::testing::DoubleNear;

TEST(ImpurityTest, MatchesTheDefinitionsForAnyNumberOfClasses) {
  EXPECT_EQ(Impurity(Criterion::kGini, {5, 5}), 0.5);
  EXPECT_THAT(Impurity(Criterion::kGini, {1, 2, 3}), DoubleNear(1 - 14.0 / 36, 1e-15));
  EXPECT_THAT(Impurity(Criterion::kEntropy, {2, 2, 4}), DoubleNear(1.5, 1e-15));
  for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
    EXPECT_EQ(Impurity(criterion, {0, 7, 0}), 0);
    EXPECT_EQ(Impurity(criterion, {0, 0}), 0);
  }
}

TEST(ImpurityTest, DecreaseIsTheParentLessTheWeightedSides) {
  // 0.48 - 0.5 * 0.32 - 0.5 * 0.48 = 0.08 with sides (4, 1) and (2, 3).
  EXPECT_THAT(ImpurityDecrease(Criterion::kGini, {6, 4}, {4, 1}), DoubleNear(0.08, 1e-15));
  EXPECT_EQ(ImpurityDecrease(Criterion::kEntropy, {4, 4}, {4, 0}), 1);
  EXPECT_THAT(ImpurityDecrease(Criterion::kGini, {6, 4}, {3, 2}), DoubleNear(0, 1e-15));
}

// Feature 0 is numeric, feature 1 categorical (u, v, other); classes a and b.
Table MakeTable(std::vector<Row> rows, const std::vector<uint32_t>& labels) {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 10), Categorical("c", {"u", "v"})}, "y", {"a", "b"})));
  for (size_t i = 0; i < rows.size(); ++i) table.Append(rows[i], labels[i]);
  return table;
}

class SplitSearchTest : public ::testing::Test {
 protected:
  SplitSearch Search(const Table& table, uint32_t min_leaf = 1) {
    all_.resize(table.num_rows());
    std::iota(all_.begin(), all_.end(), 0u);
    SplitSearch search(table, Criterion::kGini, min_leaf);
    search.SetCell(all_);
    return search;
  }

  std::vector<uint32_t> all_;
};

TEST_F(SplitSearchTest, BestThresholdLiesHalfWayBetweenNeighbours) {
  const Table table = MakeTable({{1, 0}, {2, 0}, {6, 0}, {8, 0}}, {0, 0, 1, 1});
  const auto split = Search(table).BestThreshold(0, all_);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->node.threshold, 4);
  EXPECT_EQ(split->decrease, 0.5);
}

TEST_F(SplitSearchTest, TheLowerThresholdWinsATie) {
  const Table table = MakeTable({{1, 0}, {2, 0}, {3, 0}, {4, 0}}, {0, 1, 1, 0});
  EXPECT_EQ(Search(table).BestThreshold(0, all_)->node.threshold, 1.5);
}

TEST_F(SplitSearchTest, MinLeafRulesCutsOut) {
  const Table table = MakeTable({{1, 0}, {2, 0}, {3, 0}, {4, 1}}, {0, 1, 1, 1});
  EXPECT_EQ(Search(table, 2).BestThreshold(0, all_)->node.threshold, 2.5);
  EXPECT_FALSE(Search(table, 3).BestThreshold(0, all_).has_value());
  EXPECT_FALSE(Search(table, 2).BestCategory(1).has_value());
  EXPECT_FALSE(Search(table, 2).Threshold(0, 3.5).has_value());
}

TEST_F(SplitSearchTest, MissingValuesGoWhereTheyHelpMost) {
  const Table with_b =
      MakeTable({{1, 0}, {2, 0}, {6, 0}, {8, 0}, {kMissingValue, 0}}, {0, 0, 1, 1, 1});
  EXPECT_FALSE(Search(with_b).BestThreshold(0, all_)->node.missing_left);
  const Table with_a =
      MakeTable({{1, 0}, {2, 0}, {6, 0}, {8, 0}, {kMissingValue, 0}}, {0, 0, 1, 1, 0});
  EXPECT_TRUE(Search(with_a).BestThreshold(0, all_)->node.missing_left);
}

TEST_F(SplitSearchTest, UnseenMissingValuesGoWithTheMostRows) {
  const Table table = MakeTable({{1, 0}, {2, 0}, {8, 0}}, {0, 0, 1});
  EXPECT_TRUE(Search(table).Threshold(0, 5)->node.missing_left);
  EXPECT_FALSE(Search(table).Threshold(0, 1.5)->node.missing_left);
}

TEST_F(SplitSearchTest, MissingIsAValueOfItsOwn) {
  const Table table = MakeTable({{kMissingValue, 0}, {kMissingValue, 0}, {1, 0}}, {0, 0, 1});
  const auto split = Search(table).Missing(0);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->node.kind, SplitKind::kMissing);
  EXPECT_FALSE(Search(table, 2).Missing(0).has_value());
  EXPECT_FALSE(Search(table).Missing(1).has_value());
  EXPECT_FALSE(Search(table).Threshold(0, 5).has_value()) << "missing values are not a side";
}

TEST_F(SplitSearchTest, CategoriesByDecreaseOrByFrequency) {
  const Table table = MakeTable({{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 2}}, {0, 1, 0, 0, 1});
  EXPECT_EQ(Search(table).BestCategory(1)->node.threshold, 2);
  EXPECT_EQ(Search(table).MostFrequentCategory(1)->node.threshold, 0);
}

}  // namespace
}  // namespace coppice::curator
