#include "server/curator/estimation/pooled/consistent_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

constexpr double kVariance = 20;   // of a leaf's margin, per report
constexpr double kReports = 2000;  // in each tree

Table RowsByX(size_t count) {
  Table table(std::make_shared<const Schema>(*Schema::Create(
      {testing::Numeric("x", 0, 1), testing::Numeric("y", 0, 1)}, "label", {"no", "yes"})));
  PublicRandom random(3);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table.Append(row, row[0] < 0.5 ? 0 : 1);
  }
  return table;
}

// A forest, its basis, and sums of equally many reports in each tree, whose margins say "x < 0.7".
struct StripEvidence {
  explicit StripEvidence(size_t public_rows)
      : rows(RowsByX(public_rows)),
        forest(*GrowPartition(
            rows, {.rule = SplitRule::kHybrid, .max_depth = 6, .min_leaf = 3, .trees = 8})),
        basis(*PooledBasis::Create(forest, rows)) {
    const auto n = static_cast<double>(rows.num_rows());
    for (size_t t = 0; t < forest.size(); ++t) {
      PrivateCounts& of_tree = counts.emplace_back();
      of_tree.reports = static_cast<uint64_t>(kReports);
      of_tree.has_masses = false;
      of_tree.noise.assign(2, {.leaf = 0, .label = kVariance / 4, .covariance = 0});
      ConsistentEvidence& all = consistent.emplace_back();
      of_tree.counts = {.classes = 2, .leaf = {}, .label = {}};
      const std::vector<double> rows_above = RowsAbove(forest[t]);
      for (uint32_t leaf = 0; leaf < forest[t].num_leaves(); ++leaf) {
        const double expected = kReports * basis.rows_in_leaf()[t][leaf] / n;
        const double margin = expected * (2 * rows_above[leaf] / basis.rows_in_leaf()[t][leaf] - 1);
        of_tree.counts.leaf.push_back(expected);
        of_tree.counts.label.push_back((expected - margin) / 2);
        of_tree.counts.label.push_back((expected + margin) / 2);
        all.reports.push_back(kReports);
        all.rows.push_back(expected);
        all.variance.push_back(kVariance * kReports);
      }
    }
  }

  std::vector<double> RowsAbove(const Tree& tree) const {
    std::vector<double> above(tree.num_leaves());
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      if (rows.row(i)[0] >= 0.7) above[tree.FindLeaf(rows.row(i))] += 1;
    }
    return above;
  }

  std::vector<PrivateCounts> WithConsistentLeaves() const {
    std::vector<PrivateCounts> all = counts;
    for (size_t t = 0; t < all.size(); ++t) all[t].consistent = consistent[t];
    return all;
  }

  Table rows;
  Forest forest;
  PooledBasis basis;
  std::vector<PrivateCounts> counts;
  std::vector<ConsistentEvidence> consistent;
};

// If every leaf is consistent with every row, both models see the same evidence, except that the
// diagonal one adds the variance from drawing a row's leaf to the noise.
TEST(ConsistentModelTest, AgreesWithTheDiagonalModelWhereNoFeatureIsPublic) {
  const StripEvidence evidence(60);
  const PooledFit diagonal =
      *EstimatePooled(evidence.basis, evidence.forest, evidence.counts, Evidence::kBoth);
  const PooledFit exact = *EstimatePooled(evidence.basis, evidence.forest,
                                          evidence.WithConsistentLeaves(), Evidence::kBoth);
  for (size_t t = 0; t < evidence.forest.size(); ++t) {
    for (size_t leaf = 0; leaf < diagonal.leaves[t].size(); ++leaf) {
      EXPECT_NEAR(exact.leaves[t][leaf].probabilities[1], diagonal.leaves[t][leaf].probabilities[1],
                  0.02);
    }
  }
  EXPECT_NEAR(exact.diagnosis.equivalent_rows, diagonal.diagnosis.equivalent_rows,
              0.05 * diagonal.diagnosis.equivalent_rows);
}

// Studies are fitted concurrently; a BLAS without locks then gives wrong numbers.
TEST(ConsistentModelTest, FitsBesideEachOtherAreAsByThemselves) {
  const StripEvidence evidence(120);
  const auto counts = evidence.WithConsistentLeaves();
  const auto fit = [&] {
    const PooledFit of_all =
        *EstimatePooled(evidence.basis, evidence.forest, counts, Evidence::kBoth);
    std::vector<double> values;
    for (const auto& tree : of_all.leaves) {
      for (const LeafPrediction& leaf : tree) values.push_back(leaf.probabilities[1]);
    }
    return values;
  };
  const std::vector<double> alone = fit();
  const auto fit_many = [&](size_t& others) {
    for (int i = 0; i < 20; ++i) others += fit() == alone ? 0 : 1;
  };
  size_t here = 0, there = 0;
  std::thread thread(fit_many, std::ref(there));
  fit_many(here);
  thread.join();
  EXPECT_EQ(here + there, 0u);
}

}  // namespace
}  // namespace coppice::curator
