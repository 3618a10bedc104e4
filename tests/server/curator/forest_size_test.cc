#include "server/curator/partition/forest_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;

// `x` decides a label with probability `certainty`; other labels are random.
Table Rows(size_t count, double certainty, uint64_t seed) {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("noise", 0, 1)}, "label", {"no", "yes"})));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const bool drawn = random.Unit() >= certainty;
    table.Append(row, drawn ? static_cast<uint32_t>(random.Below(2)) : row[0] > 0.5 ? 1 : 0);
  }
  return table;
}

PartitionOptions Chosen(const Table& rows, PartitionOptions base = {}, double information = 1000) {
  base.trees = 16;
  StatusOr<PartitionOptions> options = ChooseForestSize(rows, base, information);
  EXPECT_TRUE(options.ok()) << options.status();
  return *options;
}

TEST(ForestSizeTest, WeakLabelsMakeLargerLeavesThanStrongOnes) {
  // Sums over a few draws, since one is noisy.
  double weak = 0, strong = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto leaf_rows = [](const PartitionOptions& options) {
      return options.max_depth < kMaxDepth ? 8.0 : static_cast<double>(options.min_leaf);
    };
    weak += leaf_rows(Chosen(Rows(400, 0.2, seed)));
    strong += leaf_rows(Chosen(Rows(400, 1, seed)));
  }
  EXPECT_GT(weak, strong);
}

TEST(ForestSizeTest, FewRowsKeepLeavesThatFitThem) {
  EXPECT_EQ(Chosen(Rows(3, 1, 1)).min_leaf, 1u);
  EXPECT_LE(Chosen(Rows(40, 0.3, 1)).min_leaf, 10u);
}

TEST(ForestSizeTest, OneTreeHasNoRowOutOfItsBag) {
  PartitionOptions base;
  base.trees = 1;
  ASSERT_OK_AND_ASSIGN(const PartitionOptions options,
                       ChooseForestSize(Rows(400, 0.5, 1), base, 1000));
  EXPECT_EQ(options.max_depth, 8u);
  EXPECT_EQ(options.min_leaf, 5u);
}

TEST(ForestSizeTest, ManyRowsMakeFewShortTrees) {
  PartitionOptions base;
  base.trees = 64;
  ASSERT_OK_AND_ASSIGN(const PartitionOptions options,
                       ChooseForestSize(Rows(kManyPublicRows + 1, 0.5, 1), base, 1000));
  EXPECT_EQ(options.trees, 16u);
  EXPECT_EQ(options.max_leaves, 128u);
  EXPECT_EQ(options.min_leaf, 8u);
}

TEST(ForestSizeTest, WithoutLabelsTheyDecideNothing) {
  const Table rows = Rows(200, 1, 1);
  Table flipped(rows.shared_schema());
  for (size_t i = 0; i < rows.num_rows(); ++i) flipped.Append(rows.row(i), 1 - rows.label(i));
  PartitionOptions base;
  base.use_labels = false;
  EXPECT_EQ(Chosen(rows, base), Chosen(flipped, base));
  ASSERT_OK_AND_ASSIGN(const Forest forest, GrowPartition(rows, Chosen(rows, base)));
  ASSERT_OK_AND_ASSIGN(const Forest of_flipped, GrowPartition(flipped, Chosen(flipped, base)));
  EXPECT_EQ(forest, of_flipped);
}

TEST(ForestSizeTest, WithoutLabelsReportsMustFillTheLeaves) {
  PartitionOptions base;
  base.use_labels = false;
  const Table rows = Rows(1000, 1, 1);
  uint32_t before = 1000;
  for (const double information : {10.0, 1e3, 1e5, 1e7}) {
    const PartitionOptions options = Chosen(rows, base, information);
    EXPECT_LT(options.min_leaf, before) << information;
    before = options.min_leaf;
  }
}

TEST(ForestSizeTest, InformationIsReportsOverTheNoiseOfTheirMargin) {
  EXPECT_NEAR(ExpectedInformation(4733, *Budget::Parse("1")), 1000, 1) << "4.683 + 0.05 a report";
  EXPECT_GT(ExpectedInformation(1000, *Budget::Parse("4")),
            10 * ExpectedInformation(1000, *Budget::Parse("1")));
}

TEST(ForestSizeTest, KeepsSeedAndRefusesNoRows) {
  PartitionOptions base;
  base.seed = 99;
  EXPECT_EQ(Chosen(Rows(30, 1, 1), base).seed, 99u);
  EXPECT_THAT(ChooseForestSize(Rows(0, 1, 1), base, 1000),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace coppice::curator
