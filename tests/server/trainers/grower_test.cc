#include "server/trainers/core/grower.h"

#include <algorithm>
#include <numeric>

#include "common/base/status.h"
#include "server/trainers/forests/split_choosers.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

std::vector<uint32_t> All(const Table& table) {
  std::vector<uint32_t> rows(table.num_rows());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

GrownTree GrowAtRandom(const Table& table, const BinnedRows& binned, uint32_t depth,
                       uint64_t seed) {
  SeededRandom random(seed);
  PrivateReleaser releaser(SelectionRule::kPermuteAndFlip, random);
  RandomChooser chooser(releaser);
  return *GrowTree(table.schema(), binned, All(table), depth, chooser);
}

// Expects each of `rows` once, in the leaf that the tree finds for its raw values, and no others.
void ExpectRowsInTheirLeaves(const GrownTree& grown, const Table& table,
                             std::vector<uint32_t> rows) {
  std::vector<uint32_t> seen;
  for (uint32_t leaf = 0; leaf < grown.tree.num_leaves(); ++leaf) {
    for (const uint32_t row : grown.LeafRows(leaf)) {
      ASSERT_EQ(grown.tree.FindLeaf(table.row(row)), leaf) << "row " << row;
      seen.push_back(row);
    }
  }
  std::sort(seen.begin(), seen.end());
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(seen, rows);
}

TEST(GrowTreeTest, EveryRowIsInTheLeafThatItsValuesLeadTo) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .missing = 0.2}, seed);
    const BinnedRows binned = Binned(table, seed % 2 == 0 ? 5 : 63);
    for (const uint32_t depth : {0u, 1u, 3u, 7u}) {
      ExpectRowsInTheirLeaves(GrowAtRandom(table, binned, depth, seed), table, All(table));
    }
  }
}

TEST(GrowTreeTest, ATreeDoesNotDependOnWhichRowsAreThere) {
  const Table full = RandomTable(MixedClasses(), {.rows = 100}, 1);
  const Table empty(MixedClasses());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const GrownTree on_full = GrowAtRandom(full, Binned(full, 7), 6, seed);
    const GrownTree on_none = GrowAtRandom(empty, Binned(empty, 7), 6, seed);
    EXPECT_EQ(on_full.tree, on_none.tree);
    EXPECT_TRUE(on_none.rows.empty());
  }
}

// Records what it was asked, and splits the first feature at its first cut.
class Recorder final : public SplitChooser {
 public:
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override {
    asked.emplace_back(level, node.rows.size());
    if (asked.size() == fail_at) return UnavailableError("no randomness");
    const std::vector<uint32_t> features = node.cell.SplittableFeatures();
    if (features.empty()) return std::nullopt;
    return node.cell.Splits(features[0])[0];
  }

  std::vector<std::pair<uint32_t, size_t>> asked;
  size_t fail_at = 0;
};

TEST(GrowTreeTest, EmptyNodesAreAskedAboutLikeAllOthers) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(NumericFeatures(2), "label", {"no", "yes"}));
  const Table empty(schema);
  Recorder recorder;
  ASSERT_OK_AND_ASSIGN(const GrownTree grown,
                       GrowTree(*schema, Binned(empty, 255), {}, 3, recorder));
  // The first cut leaves one bin on its left, so the left child is split by the other feature.
  EXPECT_EQ(grown.tree.num_leaves(), 7u);
  ASSERT_EQ(recorder.asked.size(), 7u);
  EXPECT_THAT(recorder.asked,
              ::testing::Each(::testing::Field(&std::pair<uint32_t, size_t>::second, 0u)));
}

TEST(GrowTreeTest, LevelsAreAskedInOrder) {
  const Table table = RandomTable(MixedClasses(), {.rows = 50}, 3);
  Recorder recorder;
  ASSERT_OK(GrowTree(table.schema(), Binned(table, 63), All(table), 5, recorder));
  EXPECT_TRUE(std::is_sorted(recorder.asked.begin(), recorder.asked.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  EXPECT_EQ(recorder.asked[0], (std::pair<uint32_t, size_t>(0, 50)));
  EXPECT_EQ(recorder.asked[1].second + recorder.asked[2].second, 50u);
}

TEST(GrowTreeTest, AnErrorOfTheRuleIsPassedOn) {
  const Table table = RandomTable(MixedClasses(), {.rows = 50}, 3);
  Recorder recorder;
  recorder.fail_at = 4;
  EXPECT_THAT(GrowTree(table.schema(), Binned(table, 63), All(table), 5, recorder).status(),
              StatusIs(StatusCode::kUnavailable, "no randomness"));
}

TEST(FillTreeTest, OtherRowsGoToTheLeavesThatTheirValuesLeadTo) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .missing = 0.2}, seed);
    const BinnedRows binned = Binned(table, 31);
    const GrownTree grown = GrowAtRandom(table, binned, seed % 8, seed);
    std::vector<uint32_t> some = All(table);
    std::erase_if(some, [](uint32_t row) { return row % 3 == 0; });
    ASSERT_OK_AND_ASSIGN(const GrownTree filled,
                         FillTree(table.schema(), grown.tree, binned, some));
    EXPECT_EQ(filled.tree, grown.tree);
    ExpectRowsInTheirLeaves(filled, table, some);
    ASSERT_OK_AND_ASSIGN(const GrownTree again,
                         FillTree(table.schema(), grown.tree, binned, All(table)));
    EXPECT_EQ(again.begin, grown.begin);
  }
}

TEST(FillTreeTest, ASingleLeafTakesAllRows) {
  const Table table = RandomTable(MixedClasses(), {.rows = 20}, 5);
  ASSERT_OK_AND_ASSIGN(const GrownTree filled,
                       FillTree(table.schema(), Tree::SingleLeaf(), Binned(table, 3), All(table)));
  ExpectRowsInTheirLeaves(filled, table, All(table));
}

}  // namespace
}  // namespace coppice::trainers
