// The basis against its definition: P, its eigenvectors, and both ways to compute them.

#include "server/curator/estimation/pooled/pooled_basis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/estimation/study_cache.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::DoubleNear;

Table Rows(size_t count, uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k)
    names.push_back(std::string(1, static_cast<char>('a' + k)));
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names)));
  PublicRandom random(11);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table.Append(row, static_cast<uint32_t>(row[0] * classes));
  }
  return table;
}

Forest ForestOf(const Table& rows, uint32_t max_leaves = 0) {
  return *GrowPartition(rows, {.rule = SplitRule::kHybrid,
                               .max_depth = 6,
                               .min_leaf = 3,
                               .trees = 8,
                               .max_leaves = max_leaves});
}

// values[leaf] summed over the leaves of row i.
double AtRow(const Forest& forest, const Table& rows, const LeafValues& values, size_t i) {
  double sum = 0;
  for (size_t t = 0; t < forest.size(); ++t) sum += values[t][forest[t].FindLeaf(rows.row(i))];
  return sum;
}

TEST(PooledBasisTest, LeafValuesOfTheLabelsCoordinatesAreTheLabels) {
  // Every row is alone in some leaf, so P has full rank and shows the labels in full.
  const Table rows = Rows(30, 2);
  const Forest forest =
      *GrowPartition(rows, {.rule = SplitRule::kHybrid, .max_depth = 20, .trees = 32});
  ASSERT_OK_AND_ASSIGN(const PooledBasis basis, PooledBasis::Create(forest, rows));
  ASSERT_EQ(basis.rank(), 30u);
  const LeafValues values = basis.ToLeaves(basis.labels()[0]);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    EXPECT_THAT(AtRow(forest, rows, values, i), DoubleNear(rows.label(i) == 1 ? 1 : -1, 1e-6));
  }
  EXPECT_DOUBLE_EQ(basis.label_squares()[0], 30);
}

TEST(PooledBasisTest, EigenvaluesAddUpToTheTraceAndSquaresToSharedLeaves) {
  const Table rows = Rows(50, 2);
  const Forest forest = ForestOf(rows);
  ASSERT_OK_AND_ASSIGN(const PooledBasis basis, PooledBasis::Create(forest, rows));
  double trace = 0, squares = 0;
  for (const double lambda : basis.lambda()) {
    trace += lambda;
    squares += lambda * lambda;
  }
  EXPECT_NEAR(trace, 50, 1e-4);
  double shared_squares = 0, mass = 0;
  std::vector<std::vector<uint32_t>> leaf_of;
  for (const Tree& tree : forest) leaf_of.push_back(FindLeaves(tree, rows));
  for (size_t a = 0; a < 50; ++a) {
    for (size_t b = 0; b < 50; ++b) {
      double shared = 0;
      for (const auto& of_tree : leaf_of) shared += of_tree[a] == of_tree[b] ? 1.0 / 8 : 0;
      shared_squares += shared * shared;
      mass += shared;
    }
  }
  EXPECT_NEAR(squares, shared_squares, 1e-6);
  EXPECT_NEAR(basis.mean_mass(), mass / 50 / 50, 1e-12);
  EXPECT_NEAR(basis.effective_cells(), 50 * 50 / shared_squares, 1e-6);
}

TEST(PooledBasisTest, ScaleGivesLevelClassesMeanSquareOne) {
  const Table rows = Rows(40, 4);
  ASSERT_OK_AND_ASSIGN(const PooledBasis basis, PooledBasis::Create(ForestOf(rows), rows));
  EXPECT_EQ(basis.columns(), 4u);
  EXPECT_DOUBLE_EQ(basis.scale(), 4 / std::sqrt(3.0));
  double squares = 0;
  for (const double s : basis.label_squares()) squares += s;
  EXPECT_NEAR(squares / 40 / 4, 1, 1e-9) << "over rows and classes";
}

// Above kManyPublicRows the same functions come from the leaves' own decomposition.
TEST(PooledBasisTest, LeavesGiveTheSameAsRows) {
  const Table many = Rows(kManyPublicRows + 1, 2);
  std::vector<size_t> first(kManyPublicRows);
  for (size_t i = 0; i < first.size(); ++i) first[i] = i;
  const Table few = many.Select(first);
  const Forest forest = ForestOf(many, /*max_leaves=*/10);
  ASSERT_OK_AND_ASSIGN(const PooledBasis by_leaves, PooledBasis::Create(forest, many));
  ASSERT_OK_AND_ASSIGN(const PooledBasis by_rows, PooledBasis::Create(forest, few));
  ASSERT_LE(by_leaves.rank(), 80u);
  // One row of 1200 changes eigenvalues and smoothing only a little.
  for (size_t j = 0; j < 5; ++j) {
    EXPECT_NEAR(by_leaves.lambda()[j] / by_rows.lambda()[j], 1, 0.01) << j;
  }
  const LeafValues shown_by_leaves = by_leaves.ToLeaves(by_leaves.labels()[0]);
  const LeafValues shown_by_rows = by_rows.ToLeaves(by_rows.labels()[0]);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(AtRow(forest, many, shown_by_leaves, i), AtRow(forest, many, shown_by_rows, i),
                0.1);
  }
  // FromLeaves() is the adjoint of evaluation at the rows; a constant gives Q' (T 1).
  LeafValues ones = by_leaves.rows_in_leaf();
  for (auto& of_tree : ones) of_tree.assign(of_tree.size(), 1);
  const LeafValues back = by_leaves.ToLeaves(by_leaves.FromLeaves(ones));
  for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(AtRow(forest, many, back, i), 8, 1e-6);
}

TEST(PooledBasisTest, VarianceOfWhiteCoordinatesIsTheShareThatIsShown) {
  for (const size_t count : {size_t{60}, kManyPublicRows + 10}) {
    const Table rows = Rows(count, 2);
    const Forest forest = ForestOf(rows, /*max_leaves=*/12);
    ASSERT_OK_AND_ASSIGN(const PooledBasis basis, PooledBasis::Create(forest, rows));
    const std::vector<double> white(basis.rank(), 1);
    const LeafValues variance = basis.VarianceInLeaves(white);
    // The variance summed over all rows is the rank; the leaves of one tree divide the rows. If
    // there are many rows only a sample is used.
    double total = 0;
    for (size_t leaf = 0; leaf < variance[0].size(); ++leaf) {
      total += variance[0][leaf] * basis.rows_in_leaf()[0][leaf];
    }
    const double tolerance = count == 60 ? 1e-6 : 0.1 * static_cast<double>(basis.rank());
    EXPECT_NEAR(total, static_cast<double>(basis.rank()), tolerance);
  }
}

TEST(PooledBasisTest, RefusesWhatItCannotSolve) {
  const Table none = Rows(0, 2);
  EXPECT_THAT(PooledBasis::Create({Tree::SingleLeaf()}, none),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
  const Table many = Rows(5000, 2);
  const Forest fine = *GrowPartition(
      many, {.rule = SplitRule::kHybrid, .max_depth = 20, .trees = 4, .max_leaves = 1000});
  EXPECT_THAT(PooledBasis::Create(fine, many),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("leaves")));
}

TEST(StudyCacheTest, DropsTheLeastRecentlyUsed) {
  const Table rows = Rows(20, 2);
  const Forest forest = ForestOf(rows);
  StudyCache<PooledBasis> cache;
  // Kept here too, so that no other basis can have its address.
  std::vector<std::shared_ptr<const PooledBasis>> made;
  const auto get = [&](size_t study) {
    return *cache.Get(StrCat(study), [&] { return PooledBasis::Create(forest, rows); });
  };
  for (size_t i = 0; i < StudyCache<PooledBasis>::kMaxValues; ++i) made.push_back(get(i));
  EXPECT_EQ(get(0), made[0]);
  get(StudyCache<PooledBasis>::kMaxValues);
  EXPECT_EQ(get(0), made[0]);
  EXPECT_EQ(get(2), made[2]);
  EXPECT_NE(get(1), made[1]) << "its last use was the longest ago";
}

}  // namespace
}  // namespace coppice::curator
