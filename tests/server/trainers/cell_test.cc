#include "server/trainers/core/cell.h"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

using Split = std::tuple<SplitKind, uint32_t, uint32_t>;

std::vector<Split> SplitsOf(const Cell& cell, uint32_t feature) {
  std::vector<Split> splits;
  for (const BinSplit& split : cell.Splits(feature)) {
    splits.emplace_back(split.kind, split.feature, split.bin);
  }
  return splits;
}

// The bins of a feature that are possible, one by one: what a cell stands for.
using Possible = std::set<uint32_t>;

std::vector<Split> SplitsOf(const FeatureBins& bins, uint32_t feature, const Possible& possible) {
  std::vector<Split> splits;
  const auto known = [&](auto is_in) {
    return std::count_if(possible.begin(), possible.end(),
                         [&](uint32_t bin) { return bin < bins.known && is_in(bin); });
  };
  if (bins.type == FeatureType::kNumeric) {
    for (uint32_t cut = 0; cut < bins.cuts.size(); ++cut) {
      const auto left = known([&](uint32_t bin) { return bin <= cut; });
      const auto right = known([&](uint32_t bin) { return bin > cut; });
      if (left > 0 && right > 0) splits.emplace_back(SplitKind::kNumeric, feature, cut);
    }
  } else if (known([](uint32_t) { return true; }) >= 2) {
    for (const uint32_t bin : possible) {
      if (bin != bins.missing()) splits.emplace_back(SplitKind::kCategory, feature, bin);
    }
  }
  if (!splits.empty() && possible.contains(bins.missing())) {
    splits.emplace_back(SplitKind::kMissing, feature, bins.missing());
  }
  return splits;
}

std::vector<FeatureBins> Bins(uint32_t cuts) { return *PublicBins(*MixedClasses(), cuts); }

TEST(CellTest, TheWholeDomainHasEverySplit) {
  const std::vector<FeatureBins> bins = Bins(3);
  const Cell whole(bins);
  EXPECT_THAT(
      SplitsOf(whole, 0),
      ::testing::ElementsAre(Split{SplitKind::kNumeric, 0, 0}, Split{SplitKind::kNumeric, 0, 1},
                             Split{SplitKind::kNumeric, 0, 2}, Split{SplitKind::kMissing, 0, 4}));
  EXPECT_THAT(
      SplitsOf(whole, 3),
      ::testing::ElementsAre(Split{SplitKind::kCategory, 3, 0}, Split{SplitKind::kCategory, 3, 1},
                             Split{SplitKind::kCategory, 3, 2}, Split{SplitKind::kMissing, 3, 3}));
  EXPECT_TRUE(whole.Splits(4).empty()) << "constant";
  EXPECT_TRUE(whole.Splits(5).empty()) << "one known value";
  EXPECT_THAT(whole.SplittableFeatures(), ::testing::ElementsAre(0, 1, 2, 3, 6));
}

// Along random paths each cell has the splits of what it stands for, and its children stand for
// what goes left and right.
TEST(CellTest, EveryCellHasTheSplitsOfItsPartOfTheDomain) {
  const std::vector<FeatureBins> bins = Bins(5);
  std::mt19937_64 engine(1);
  for (int path = 0; path < 500; ++path) {
    Cell cell(bins);
    std::vector<Possible> possible(bins.size());
    for (uint32_t f = 0; f < bins.size(); ++f) {
      for (uint32_t bin = 0; bin < bins[f].size(); ++bin) possible[f].insert(bin);
    }
    while (true) {
      std::vector<BinSplit> all;
      std::vector<uint32_t> splittable;
      for (uint32_t f = 0; f < bins.size(); ++f) {
        ASSERT_EQ(SplitsOf(cell, f), SplitsOf(bins[f], f, possible[f]));
        ASSERT_EQ(cell.CanSplit(f), !cell.Splits(f).empty());
        const std::vector<BinSplit> splits = cell.Splits(f);
        all.insert(all.end(), splits.begin(), splits.end());
        if (!splits.empty()) splittable.push_back(f);
      }
      ASSERT_EQ(cell.SplittableFeatures(), splittable);
      if (all.empty()) break;
      const BinSplit split = all[engine() % all.size()];
      const bool left = engine() % 2 == 0;
      cell = left ? cell.Left(split) : cell.Right(split);
      std::erase_if(possible[split.feature],
                    [&](uint32_t bin) { return split.GoesLeft(bin) != left; });
    }
    EXPECT_TRUE(cell.SplittableFeatures().empty());
  }
}

TEST(CellTest, ASplitOfBinsIsTheSameSplitOfValues) {
  const auto schema = MixedClasses();
  const Table table = RandomTable(schema, {.rows = 300, .missing = 0.2}, 2);
  const BinnedRows rows = Binned(table, 7);
  const Cell whole(rows.bins());
  for (const uint32_t f : whole.SplittableFeatures()) {
    for (const BinSplit& split : whole.Splits(f)) {
      const Node node = split.ToNode(rows.bins());
      for (size_t r = 0; r < table.num_rows(); ++r) {
        ASSERT_EQ(GoesLeft(node, table.value(r, f)), split.GoesLeft(rows.column(f)[r]));
      }
    }
  }
}

}  // namespace
}  // namespace coppice::trainers
