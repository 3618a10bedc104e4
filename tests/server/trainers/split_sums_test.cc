#include "server/trainers/core/split_sums.h"

#include <cstdlib>

#include "server/trainers/core/split_scores.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

// The rows of one side, as the terms of split_scores.h take them.
struct Side {
  int64_t rows = 0;
  std::vector<int64_t> classes;
  int64_t count = 0, sum = 0, squares = 0;

  int64_t Term(SplitScore score) const {
    if (score == SplitScore::kMiscount) return MiscountTerm(classes);
    if (score == SplitScore::kGini) return GiniTerm(classes);
    return SquaredErrorTerm(count, sum, squares);
  }
};

Side SideOf(const NodeRows& node, const BinSplit& split, bool left) {
  Side side;
  side.classes.resize(node.all.num_classes());
  for (const uint32_t row : node.rows) {
    if (split.GoesLeft(node.all.column(split.feature)[row]) != left) continue;
    ++side.rows;
    if (node.all.regression()) {
      const int64_t target = node.all.targets()[row];
      ++side.count;
      side.sum += target;
      side.squares += target * target;
    } else if (node.all.labels()[row] != kUnlabelled) {
      ++side.classes[node.all.labels()[row]];
    }
  }
  return side;
}

void ExpectAsOneByOne(const Table& table, uint32_t cuts, std::vector<SplitScore> scores) {
  const BinnedRows binned = Binned(table, cuts);
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.num_rows(); row += 2) rows.push_back(row);
  // The whole domain, and cells whose first cut is not the feature's first.
  const Cell whole(binned.bins());
  const Cell cells[] = {whole, whole.Right({SplitKind::kNumeric, 0, 2}),
                        whole.Right({SplitKind::kCategory, 1, 1})};
  for (const Cell& cell : cells) {
    const NodeRows node{.cell = cell, .all = binned, .rows = rows};
    for (const uint32_t feature : cell.SplittableFeatures()) {
      const std::vector<BinSplit> splits = cell.Splits(feature);
      const std::vector<int64_t> left = CountsLeft(node, splits);
      const std::vector<int64_t> medians = MedianScores(node, splits);
      ASSERT_EQ(left.size(), splits.size());
      for (size_t s = 0; s < splits.size(); ++s) {
        const Side to_left = SideOf(node, splits[s], true),
                   to_right = SideOf(node, splits[s], false);
        EXPECT_EQ(left[s], to_left.rows);
        EXPECT_EQ(medians[s], -std::abs(to_left.rows - to_right.rows));
        for (const SplitScore score : scores) {
          EXPECT_EQ(ScoreSplits(node, splits, score)[s],
                    to_left.Term(score) + to_right.Term(score));
        }
      }
      // A split scored alone must score the same.
      for (const SplitScore score : scores) {
        const size_t last = splits.size() - 1;
        EXPECT_EQ(ScoreSplits(node, {splits[last]}, score)[0],
                  ScoreSplits(node, splits, score)[last]);
      }
    }
  }
}

TEST(SplitSumsTest, ClassScoresAreThoseOfEachSplitByItself) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ExpectAsOneByOne(RandomTable(MixedClasses(), {.rows = 120, .unlabelled = 0.3}, seed), 9,
                     {SplitScore::kGini, SplitScore::kMiscount});
  }
}

TEST(SplitSumsTest, SquaredErrorsAreThoseOfEachSplitByItself) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ExpectAsOneByOne(RandomTable(MixedRegression(), {.rows = 120}, seed), 9,
                     {SplitScore::kSquaredError});
  }
}

TEST(SplitSumsTest, AnEmptyNodeHasAllItsCandidatesAtZero) {
  const Table table(MixedClasses());
  const BinnedRows binned = Binned(table, 5);
  const Cell whole(binned.bins());
  const NodeRows node{.cell = whole, .all = binned, .rows = {}};
  for (const uint32_t feature : whole.SplittableFeatures()) {
    const std::vector<BinSplit> splits = whole.Splits(feature);
    const std::vector<int64_t> zeros(splits.size());
    EXPECT_EQ(MedianScores(node, splits), zeros);
    EXPECT_EQ(ScoreSplits(node, splits, SplitScore::kGini), zeros);
  }
  EXPECT_TRUE(MedianScores(node, {}).empty());
  EXPECT_TRUE(ScoreSplits(node, {}, SplitScore::kGini).empty());
}

// The largest inputs of SquaredErrorTerm: as many rows as files may have, half of them at either
// end. Nothing may overflow on the way.
TEST(SplitSumsTest, AsManyRowsAsAreReadFitSquaredErrors) {
  constexpr int64_t kRows = int64_t{1} << 26, kSteps = kTargetSteps;
  const int64_t sum = kRows / 2 * kSteps, squares = kRows / 2 * kSteps * kSteps;
  EXPECT_EQ(SquaredErrorTerm(kRows, sum, squares), -(kRows / 4) * kSteps * kSteps);
  EXPECT_EQ(SquaredErrorTerm(kRows, kRows * kSteps, kRows * kSteps * kSteps), 0);
  EXPECT_EQ(RangeOf(SplitScore::kSquaredError), uint64_t{1} << 32);
}

}  // namespace
}  // namespace coppice::trainers
