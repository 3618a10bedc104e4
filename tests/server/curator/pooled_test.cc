// The pooled estimator on forests of a few trees: what it believes, and what it says about it.

#include "server/curator/estimation/pooled/pooled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// Uniform on the unit square; the class is that of x's strip, with probability `certainty`.
Table Strips(size_t count, uint32_t classes, double certainty, uint64_t seed) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k)
    names.push_back(std::string(1, static_cast<char>('a' + k)));
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names)));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const bool drawn = random.Unit() >= certainty;
    table.Append(row, drawn ? static_cast<uint32_t>(random.Below(classes))
                            : static_cast<uint32_t>(row[0] * classes));
  }
  return table;
}

template <typename Change>
Table Relabelled(const Table& rows, Change change) {
  Table table(rows.shared_schema());
  for (size_t i = 0; i < rows.num_rows(); ++i) table.Append(rows.row(i), change(i, rows.label(i)));
  return table;
}

// Private rows answer in one tree each, the trees taking turns.
std::vector<PrivateCounts> Collect(const Forest& forest, const Table& rows, MechanismKind kind,
                                   const std::string& epsilon) {
  OpenSslRandom random;
  std::vector<PrivateCounts> counts;
  for (size_t t = 0; t < forest.size(); ++t) {
    const Domain domain = {forest[t].num_leaves(), rows.schema().num_classes()};
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse(epsilon), domain);
    TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size())};
    const std::vector<uint32_t> leaf_of = FindLeaves(forest[t], rows);
    for (size_t i = t; i < rows.num_rows(); i += forest.size(), ++sums.reports) {
      EXPECT_TRUE(
          mechanism->RandomizeInto({leaf_of[i], rows.label(i)}, random, absl::MakeSpan(sums.sums))
              .ok());
    }
    counts.push_back(*CountReports(*mechanism, sums, CountPublicRows(forest[t], rows)));
  }
  return counts;
}

class PooledTest : public ::testing::Test {
 protected:
  void Study(Table public_rows, size_t devices, const std::string& epsilon, double certainty = 0.9,
             MechanismKind kind = MechanismKind::kOptimizedUnary) {
    const uint32_t classes = public_rows.schema().num_classes();
    forest_ = *GrowPartition(
        public_rows, {.rule = SplitRule::kHybrid, .max_depth = 6, .min_leaf = 2, .trees = 16});
    basis_ = std::make_unique<PooledBasis>(*PooledBasis::Create(forest_, public_rows));
    counts_ = Collect(forest_, Strips(devices, classes, certainty, 77), kind, epsilon);
    public_rows_ = std::make_unique<Table>(std::move(public_rows));
  }

  PooledFit Fit(Evidence evidence = Evidence::kBoth) const {
    StatusOr<PooledFit> fit = EstimatePooled(*basis_, forest_, counts_, evidence);
    EXPECT_TRUE(fit.ok()) << fit.status();
    return *std::move(fit);
  }

  Model ModelOf(const PooledFit& fit) const {
    return *Model::Create(public_rows_->schema(), forest_, fit.leaves, {}, LeafKind::kAdditive);
  }

  double Accuracy(const PooledFit& fit) const {
    const Model model = ModelOf(fit);
    const Table test = Strips(2000, public_rows_->schema().num_classes(), 1, 123);
    double hits = 0;
    for (size_t i = 0; i < test.num_rows(); ++i) {
      hits += model.Predict(test.row(i)).label == test.label(i) ? 1 : 0;
    }
    return hits / 2000;
  }

  Forest forest_;
  std::unique_ptr<PooledBasis> basis_;
  std::vector<PrivateCounts> counts_;
  std::unique_ptr<Table> public_rows_;
};

TEST_F(PooledTest, BothIsAtLeastAsGoodAsEach) {
  Study(Strips(60, 2, 0.6, 1), 20'000, "2");
  const double both = Accuracy(Fit());
  EXPECT_GT(both, 0.93);
  EXPECT_GE(both, Accuracy(Fit(Evidence::kPublic)) - 0.02);
  EXPECT_GE(both, Accuracy(Fit(Evidence::kReports)) - 0.02);
}

TEST_F(PooledTest, InvertedPublicLabelsAreSeenAndSaid) {
  Study(Relabelled(Strips(100, 2, 0.9, 1), [](size_t, uint32_t label) { return 1 - label; }),
        30'000, "4");
  const PooledFit fit = Fit();
  EXPECT_LT(Accuracy(Fit(Evidence::kPublic)), 0.2);
  EXPECT_GT(Accuracy(fit), 0.9);
  EXPECT_THAT(fit.diagnosis.InWords(), HasSubstr("inverted"));
}

TEST_F(PooledTest, UnrelatedPublicLabelsAreSeenAndSaid) {
  PublicRandom random(4);
  Study(Relabelled(Strips(200, 2, 0.9, 1),
                   [&](size_t, uint32_t) { return static_cast<uint32_t>(random.Below(2)); }),
        60'000, "4");
  const PooledFit fit = Fit();
  EXPECT_GT(Accuracy(fit), 0.85);
  EXPECT_THAT(fit.diagnosis.InWords(), HasSubstr("unrelated"));
}

TEST_F(PooledTest, GoodPublicLabelsAreSaidToAgree) {
  Study(Strips(100, 2, 0.9, 1), 30'000, "4");
  EXPECT_THAT(Fit().diagnosis.InWords(), HasSubstr("agree"));
}

TEST_F(PooledTest, EachSideAloneIgnoresTheOther) {
  Study(Strips(60, 2, 0.9, 1), 3000, "1");
  const PooledFit by_reports = Fit(Evidence::kReports), by_labels = Fit(Evidence::kPublic);
  const Table flipped = Relabelled(*public_rows_, [](size_t, uint32_t label) { return 1 - label; });
  basis_ = std::make_unique<PooledBasis>(*PooledBasis::Create(forest_, flipped));
  EXPECT_EQ(Fit(Evidence::kReports).leaves, by_reports.leaves);
  basis_ = std::make_unique<PooledBasis>(*PooledBasis::Create(forest_, *public_rows_));
  for (PrivateCounts& of_tree : counts_) {
    for (double& count : of_tree.counts.label) count = -count;
  }
  EXPECT_EQ(Fit(Evidence::kPublic).leaves, by_labels.leaves);
}

TEST_F(PooledTest, NoReportsMeansPublicLabelsAlone) {
  Study(Strips(60, 2, 0.9, 1), 0, "1");
  EXPECT_EQ(Fit().leaves, Fit(Evidence::kPublic).leaves);
}

TEST_F(PooledTest, SeveralClassesAddUpToOne) {
  Study(Strips(120, 4, 0.9, 1), 40'000, "3");
  const PooledFit fit = Fit();
  EXPECT_GT(Accuracy(fit), 0.85);
  for (const auto& of_tree : fit.leaves) {
    for (const LeafPrediction& leaf : of_tree) {
      double sum = 0;
      for (const double p : leaf.probabilities) sum += p;
      EXPECT_NEAR(sum, 1, 1e-9);
    }
  }
}

TEST_F(PooledTest, OneTreeIsAForestToo) {
  const Table rows = Strips(80, 2, 0.9, 1);
  forest_ = *GrowPartition(rows, {.rule = SplitRule::kHybrid, .max_depth = 4, .min_leaf = 4});
  basis_ = std::make_unique<PooledBasis>(*PooledBasis::Create(forest_, rows));
  counts_ = Collect(forest_, Strips(20'000, 2, 0.9, 7), MechanismKind::kLaplaceSplit, "4");
  public_rows_ = std::make_unique<Table>(rows);
  EXPECT_GT(Accuracy(Fit()), 0.9);
}

// Masses correct margins, except the Laplace pair's, whose margins share the noise of its masses:
// dividing by these would push all leaves towards one class.
TEST_F(PooledTest, MassesThatShareTheMarginsNoiseCorrectNothing) {
  for (const auto& [kind, corrects] : {std::pair{MechanismKind::kLaplaceSplit, false},
                                       std::pair{MechanismKind::kOptimizedUnary, true}}) {
    Study(Strips(60, 2, 0.6, 1), 20'000, "4", 0.9, kind);
    const PooledFit before = Fit();
    for (PrivateCounts& of_tree : counts_) {  // more rows of both classes: the margins stay
      for (double& count : of_tree.counts.label) count += 100;
      for (double& count : of_tree.counts.leaf) count += 200;
    }
    EXPECT_EQ(Fit().leaves != before.leaves, corrects) << MechanismName(kind);
  }
}

TEST_F(PooledTest, ReportsMakeErrorsSmaller) {
  const auto mean_error = [&] {
    double total = 0, leaves = 0;
    for (const auto& of_tree : Fit().leaves) {
      for (const LeafPrediction& leaf : of_tree) {
        total += leaf.standard_error;
        ++leaves;
      }
    }
    return total / leaves;
  };
  Study(Strips(60, 2, 0.8, 1), 0, "2");
  const double without = mean_error();
  Study(Strips(60, 2, 0.8, 1), 5000, "2");
  const double with = mean_error();
  Study(Strips(60, 2, 0.8, 1), 50'000, "2");
  EXPECT_LT(with, without);
  EXPECT_LT(mean_error(), with);
}

TEST_F(PooledTest, EquivalentRowsAreReportsOverNoiseAndCells) {
  Study(Strips(60, 2, 0.8, 1), 5000, "1");
  const PooledDiagnosis diagnosis = Fit().diagnosis;
  const double e = std::exp(1);
  EXPECT_NEAR(diagnosis.noise_per_report, 8 * e / ((e - 1) * (e - 1)), 1e-3) << "two cells' noise";
  EXPECT_DOUBLE_EQ(
      diagnosis.equivalent_rows,
      5000 / (basis_->effective_cells() * (diagnosis.noise_per_report + basis_->mean_mass())));
}

TEST_F(PooledTest, ShapesAreChecked) {
  Study(Strips(30, 2, 0.8, 1), 100, "1");
  counts_.pop_back();
  EXPECT_THAT(EstimatePooled(*basis_, forest_, counts_, Evidence::kBoth),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace coppice::curator
