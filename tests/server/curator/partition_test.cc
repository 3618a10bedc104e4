// What holds for every partition, on random tables and real ones.

#include "server/curator/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/base/public_random.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "tests/support/data_dir.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;

constexpr SplitRule kRules[] = {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart};

// Three classes, numeric and categorical features, ties and missing values.
Table RandomTable(size_t rows, uint64_t seed) {
  PublicRandom random(seed, 0);
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("step", 0, 9), Categorical("c", {"u", "v", "w"}),
                       Numeric("constant", 4, 4)},
                      "y", {"a", "b", "c"})));
  for (size_t i = 0; i < rows; ++i) {
    const double x = static_cast<double>(random.Below(1 << 20)) / (1 << 20);
    const double step = static_cast<double>(random.Below(10));
    const double category = static_cast<double>(random.Below(4));
    const uint32_t label = random.Below(4) == 0 ? 2 : (x < 0.3) != (category == 1) ? 0 : 1;
    table.Append({x, random.Below(5) == 0 ? kMissingValue : step,
                  random.Below(6) == 0 ? kMissingValue : category, 4},
                 label);
  }
  return table;
}

std::vector<uint64_t> RowsPerLeaf(const Tree& tree, const Table& table) {
  std::vector<uint64_t> rows(tree.num_leaves(), 0);
  Row row;
  for (size_t i = 0; i < table.num_rows(); ++i) {
    table.CopyRow(i, row);
    ++rows[tree.FindLeaf(row)];
  }
  return rows;
}

Table Shuffled(const Table& table) {
  std::vector<size_t> order(table.num_rows());
  std::iota(order.begin(), order.end(), size_t{0});
  PublicRandom random(99, 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return table.Select(order);
}

TEST(PartitionTest, EveryLeafHoldsItsMinimumOfPublicRows) {
  const Table table = RandomTable(500, 1);
  for (const SplitRule rule : kRules) {
    for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
      for (const uint32_t min_leaf : {1u, 7u, 40u}) {
        ASSERT_OK_AND_ASSIGN(const Forest forest, GrowPartition(table, {.rule = rule,
                                                                        .criterion = criterion,
                                                                        .max_depth = 8,
                                                                        .min_leaf = min_leaf}));
        const std::vector<uint64_t> rows = RowsPerLeaf(forest[0], table);
        EXPECT_GT(rows.size(), 4u);
        EXPECT_LE(forest[0].depth(), 8u);
        EXPECT_GE(*std::min_element(rows.begin(), rows.end()), min_leaf);
        EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), uint64_t{0}), table.num_rows());
      }
    }
  }
}

TEST(PartitionTest, EveryRowOfAnotherTableHasOneLeafWhoseCellHoldsIt) {
  const Table other = RandomTable(500, 2);
  for (const SplitRule rule : kRules) {
    ASSERT_OK_AND_ASSIGN(const Forest forest, GrowPartition(RandomTable(300, 3), {.rule = rule}));
    const Tree& tree = forest[0];
    for (size_t i = 0; i < other.num_rows(); ++i) {
      const uint32_t leaf = tree.FindLeaf(other.row(i));
      ASSERT_LT(leaf, tree.num_leaves());
      EXPECT_EQ(tree.Path(other.row(i)).back(), tree.leaf_node(leaf));
    }
  }
}

TEST(PartitionTest, TheSameSeedGivesTheSameForest) {
  const Table table = RandomTable(400, 4);
  for (const SplitRule rule : kRules) {
    const PartitionOptions options = {.rule = rule, .trees = 5, .seed = 17};
    PartitionOptions other = options;
    other.seed = 18;
    EXPECT_EQ(*GrowPartition(table, options), *GrowPartition(table, options));
    EXPECT_FALSE(*GrowPartition(table, options) == *GrowPartition(table, other));
  }
}

TEST(PartitionTest, BootstrapsDifferFromTreeToTree) {
  ASSERT_OK_AND_ASSIGN(const Forest forest,
                       GrowPartition(RandomTable(400, 5), {.rule = SplitRule::kCart, .trees = 4}));
  ASSERT_EQ(forest.size(), 4u);
  for (size_t t = 1; t < forest.size(); ++t) EXPECT_FALSE(forest[t] == forest[0]);
}

TEST(PartitionTest, TheSeedMattersOnlyWhereSomethingIsRandom) {
  const Table table = RandomTable(400, 6);
  for (const SplitRule rule : kRules) {
    const bool same = *GrowPartition(table, {.rule = rule, .seed = 1}) ==
                      *GrowPartition(table, {.rule = rule, .seed = 2});
    EXPECT_EQ(same, rule != SplitRule::kRandomMaxEdge);
  }
}

TEST(PartitionTest, TheOrderOfPublicRowsDoesNotMatterToOneTree) {
  const Table table = RandomTable(600, 7);
  const Table shuffled = Shuffled(table);
  for (const SplitRule rule : kRules) {
    const PartitionOptions options = {.rule = rule, .max_depth = 10, .min_leaf = 3};
    EXPECT_EQ(*GrowPartition(table, options), *GrowPartition(shuffled, options));
  }
}

// Fraction of rows whose label is the majority of their leaf.
double Purity(const Tree& tree, const Table& table) {
  std::vector<uint64_t> counts(tree.num_leaves() * table.schema().num_classes(), 0);
  for (size_t i = 0; i < table.num_rows(); ++i) {
    ++counts[tree.FindLeaf(table.row(i)) * table.schema().num_classes() + table.label(i)];
  }
  uint64_t right = 0;
  for (size_t i = 0; i < counts.size(); i += table.schema().num_classes()) {
    right += *std::max_element(
        counts.begin() + static_cast<std::ptrdiff_t>(i),
        counts.begin() + static_cast<std::ptrdiff_t>(i + table.schema().num_classes()));
  }
  return static_cast<double>(right) / static_cast<double>(table.num_rows());
}

TEST(PartitionTest, CartSeparatesMushroomsByCategoriesAlone) {
  COPPICE_NEEDS_DATA_SET(folder, "mushroom");
  ASSERT_OK_AND_ASSIGN(const SchemaFile schema, ReadSchema(folder + "/schema.json"));
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadTable(folder + "/mushroom.csv", schema.schema));
  ASSERT_OK_AND_ASSIGN(const Forest cart,
                       GrowPartition(file.table, {.rule = SplitRule::kCart, .max_depth = 8}));
  EXPECT_GT(Purity(cart[0], file.table), 0.999);
  for (const SplitRule rule : {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge}) {
    ASSERT_OK_AND_ASSIGN(const Forest forest,
                         GrowPartition(file.table, {.rule = rule, .max_depth = 8}));
    EXPECT_GT(forest[0].num_leaves(), 20u);
  }
}

TEST(PartitionTest, CartLearnsTheCensus) {
  COPPICE_NEEDS_DATA_SET(folder, "census");
  ASSERT_OK_AND_ASSIGN(const SchemaFile schema, ReadSchema(folder + "/schema.json"));
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadTable(folder + "/census_pub.csv", schema.schema));
  ASSERT_OK_AND_ASSIGN(
      const Forest forest,
      GrowPartition(file.table, {.rule = SplitRule::kCart, .max_depth = 8, .min_leaf = 20}));
  EXPECT_GT(Purity(forest[0], file.table), 0.85);  // the majority class alone has 0.75
}

}  // namespace
}  // namespace coppice::curator
