// Boosting on public values: the best split, what leaves hold, and that trees and bins agree.

#include "server/curator/estimation/labels/boosted_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;

std::vector<uint32_t> AllOf(const Table& rows) {
  std::vector<uint32_t> all(rows.num_rows());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A number, a category of three known colours or an unknown one; both have missing values.
Table MixedRows(size_t count, uint64_t seed) {
  const Feature colour = {
      .name = "colour", .type = FeatureType::kCategorical, .values = {"red", "green", "blue"}};
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), colour, Numeric("whole", 0, 9)}, "label", {"a", "b"})));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const double x = random.Below(5) == 0 ? kMissingValue : random.Unit();
    const uint64_t code = random.Below(5);
    table.Append(Row{x, code == 4 ? kMissingValue : static_cast<double>(code),
                     static_cast<double>(random.Below(10))},
                 0);
  }
  return table;
}

RowColumns RandomColumns(const Table& rows, size_t columns, uint64_t seed) {
  PublicRandom random(seed);
  RowColumns result(columns);
  for (std::vector<double>& column : result) {
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      const double x = rows.value(i, 0), colour = rows.value(i, 1);
      column.push_back(2 * random.Unit() - 1 + (IsMissing(x) ? 1.5 : x) + (colour == 1 ? 1 : 0));
    }
  }
  return result;
}

double ValueAt(const BoostedTree& grown, const Table& rows, size_t row, size_t column) {
  return grown.values[grown.tree.FindLeaf(rows.row(row))][column];
}

TEST(BoostedTreesTest, WhatTreesSayIsWhatWasTakenOff) {
  const Table rows = MixedRows(600, 1);
  const RowColumns target = RandomColumns(rows, 2, 2);
  RowColumns left = target;
  ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees,
                       Boost(RowBins(rows), AllOf(rows), {.rounds = 5, .ridge = 3}, left));
  ASSERT_EQ(trees.size(), 5u);
  for (size_t k = 0; k < 2; ++k) {
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      double said = 0;
      for (const BoostedTree& grown : trees) said += ValueAt(grown, rows, i, k);
      ASSERT_NEAR(said, target[k][i] - left[k][i], 1e-9);
    }
  }
}

// The decrease in squared error by a leaf's value sum / (rows + ridge), by its definition.
double Explained(const Table& rows, const std::vector<double>& target, double ridge,
                 const std::vector<bool>& in) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    if (!in[i]) continue;
    sum += target[i];
    count += 1;
  }
  return count == 0 ? 0 : sum * sum / (count + ridge);
}

TEST(BoostedTreesTest, TheFirstSplitIsTheBestThereIs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Table rows = MixedRows(40, seed);  // fewer rows than bins: every cut is tried
    RowColumns target = RandomColumns(rows, 1, seed + 100);
    const double mean = std::accumulate(target[0].begin(), target[0].end(), 0.0) / 40;
    for (double& value : target[0]) value -= mean;
    RowColumns left = target;
    const BoostOptions options = {.rounds = 1, .rate = 1, .leaves = 2, .ridge = 2, .min_leaf = 3};
    ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees,
                         Boost(RowBins(rows), AllOf(rows), options, left));
    const auto gain = [&](auto goes_left) {
      std::vector<bool> in(40), out(40);
      for (size_t i = 0; i < 40; ++i) (goes_left(i) ? in : out)[i] = true;
      const auto size = std::count(in.begin(), in.end(), true);
      if (size < 3 || size > 37) return 0.0;
      return Explained(rows, target[0], 2, in) + Explained(rows, target[0], 2, out);
    };
    double best = 0;
    for (size_t f = 0; f < 3; ++f) {
      for (const double at : rows.column(f)) {
        for (const bool with : {false, true}) {
          best = std::max(best, gain([&](size_t i) {
                            const double value = rows.value(i, f);
                            if (IsMissing(value)) return IsMissing(at) || with;
                            return f == 1 ? value == at && !with : value < at;
                          }));
        }
      }
    }
    ASSERT_EQ(trees.size(), 1u);
    const double found = gain([&](size_t i) { return trees[0].tree.FindLeaf(rows.row(i)) == 0; });
    EXPECT_NEAR(found, best, 1e-9) << seed;
  }
}

TEST(BoostedTreesTest, LeavesHoldShrunkenMeansOfEnoughRows) {
  const Table rows = MixedRows(300, 3);
  const RowColumns target = RandomColumns(rows, 1, 4);
  RowColumns left = target;
  ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees,
                       Boost(RowBins(rows), AllOf(rows),
                             {.rounds = 1, .rate = 0.5, .ridge = 7, .min_leaf = 25}, left));
  const double mean = std::accumulate(target[0].begin(), target[0].end(), 0.0) / 300;
  ASSERT_EQ(trees.size(), 1u);
  ASSERT_GT(trees[0].values.size(), 3u);
  for (uint32_t leaf = 0; leaf < trees[0].values.size(); ++leaf) {
    double sum = 0, count = 0;
    for (size_t i = 0; i < 300; ++i) {
      if (trees[0].tree.FindLeaf(rows.row(i)) != leaf) continue;
      sum += target[0][i] - mean;
      count += 1;
    }
    EXPECT_GE(count, 25);
    EXPECT_NEAR(trees[0].values[leaf][0], mean + 0.5 * sum / (count + 7), 1e-9);
  }
}

TEST(BoostedTreesTest, ColumnsThatAddUpToZeroStillDo) {
  const Table rows = MixedRows(300, 5);
  RowColumns left = RandomColumns(rows, 2, 6);
  left.emplace_back();
  for (size_t i = 0; i < 300; ++i) left[2].push_back(-left[0][i] - left[1][i]);
  ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees,
                       Boost(RowBins(rows), AllOf(rows), {.rounds = 10}, left));
  for (const BoostedTree& grown : trees) {
    for (const std::vector<double>& leaf : grown.values) {
      EXPECT_NEAR(leaf[0] + leaf[1] + leaf[2], 0, 1e-9);
    }
  }
}

TEST(BoostedTreesTest, OnlyTheSubsetIsFitted) {
  const Table rows = MixedRows(200, 7);
  RowColumns left = {std::vector<double>(200, 1000.0)};
  std::vector<uint32_t> subset(100);
  std::iota(subset.begin(), subset.end(), 0);
  for (const uint32_t row : subset) left[0][row] = -2;
  ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees,
                       Boost(RowBins(rows), subset, {}, left));
  ASSERT_EQ(trees.size(), 1u);  // nothing is left to split, so only the mean
  EXPECT_EQ(trees[0].values, (std::vector<std::vector<double>>{{-2}}));
  EXPECT_EQ(left[0][0], 0);
  EXPECT_EQ(left[0][199], 1002);
}

TEST(BoostedTreesTest, NothingIsLearnedFromNothing) {
  const Table rows = MixedRows(10, 8);
  RowColumns left = RandomColumns(rows, 1, 9);
  const RowColumns before = left;
  ASSERT_OK_AND_ASSIGN(const std::vector<BoostedTree> trees, Boost(RowBins(rows), {}, {}, left));
  EXPECT_TRUE(trees.empty());
  EXPECT_EQ(left, before);
}

TEST(BoostedTreesTest, StopsWhenAsked) {
  const Table rows = MixedRows(100, 10);
  RowColumns left = RandomColumns(rows, 1, 11);
  const CancelCheck cancel([] { return CancelledError("enough"); });
  EXPECT_THAT(Boost(RowBins(rows), AllOf(rows), {}, left, cancel),
              testing::StatusIs(StatusCode::kCancelled, "enough"));
}

TEST(RowBinsTest, AreFewAndOfAsManyRows) {
  Table rows(
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "label", {"a", "b"})));
  PublicRandom random(12);
  for (size_t i = 0; i < 4800; ++i) rows.Append(Row{random.Unit()}, 0);
  const RowBins bins(rows);
  ASSERT_EQ(bins.bins(0), RowBins::kMaxBins + 1);
  std::vector<int> count(bins.bins(0));
  for (size_t i = 0; i < 4800; ++i) ++count[bins.bin(0, i)];
  EXPECT_EQ(count.back(), 0);  // none is missing
  for (size_t bin = 0; bin < RowBins::kMaxBins; ++bin) EXPECT_EQ(count[bin], 100) << bin;
}

}  // namespace
}  // namespace coppice::curator
