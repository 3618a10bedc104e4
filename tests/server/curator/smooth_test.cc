// The smooth estimator from public rows to a model.

#include "server/curator/estimation/correction/smooth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/forest_size.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The class is that of x's half with probability .9; `flipped` rows have the other one.
Table Halves(size_t count, uint64_t seed, bool flipped = false) {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", {"low", "high"})));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const bool high = (row[0] >= 0.5) != (random.Unit() < 0.1);
    table.Append(row, high != flipped ? 1 : 0);
  }
  return table;
}

struct HalvesStudy {
  explicit HalvesStudy(Table public_rows, bool use_labels = true) : rows(std::move(public_rows)) {
    partition = {.rule = use_labels ? SplitRule::kRandomCut : SplitRule::kHybrid,
                 .max_depth = use_labels ? kMaxDepth : 3,
                 .min_leaf = use_labels ? 1u : 5u,
                 .trees = 16,
                 .max_leaves = use_labels ? 8u : 0u,
                 .use_labels = use_labels};
    forest = *GrowPartition(rows, partition);
  }

  void Ask(const Table& devices, const char* epsilon) {
    OpenSslRandom random;
    for (size_t t = 0; t < forest.size(); ++t) {
      const auto mechanism = *MakeLocalMechanism(
          MechanismKind::kSubsetSelection, *Budget::Parse(epsilon), {forest[t].num_leaves(), 2});
      TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size())};
      const std::vector<uint32_t> leaf_of = FindLeaves(forest[t], devices);
      for (size_t i = t; i < devices.num_rows(); i += forest.size(), ++sums.reports) {
        ASSERT_TRUE(
            mechanism
                ->RandomizeInto({leaf_of[i], devices.label(i)}, random, absl::MakeSpan(sums.sums))
                .ok());
      }
      counts.push_back(*CountReports(*mechanism, sums, CountPublicRows(forest[t], rows)));
    }
  }

  SmoothEstimator Estimator() const { return *SmoothEstimator::Create(forest, partition, rows); }
  Model ModelOf(SmoothFit fit) const {
    return *Model::Create(rows.schema(), std::move(fit.forest), std::move(fit.leaves), {},
                          LeafKind::kScores);
  }

  Table rows;
  PartitionOptions partition;
  Forest forest;
  std::vector<PrivateCounts> counts;
};

double Accuracy(const Model& model) {
  const Table test = Halves(1000, 99);
  double hits = 0;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    hits += model.Predict(test.row(i)).label == (test.row(i)[0] < 0.5 ? 0u : 1u) ? 1 : 0;
  }
  return hits / 1000;
}

TEST(SmoothTest, PublicEvidenceIsThePredictorAlone) {
  const HalvesStudy study(Halves(100, 1));
  const SmoothFit fit = *study.Estimator().Estimate({}, Evidence::kPublic);
  EXPECT_THAT(fit.diagnosis, IsEmpty());
  EXPECT_GT(Accuracy(study.ModelOf(fit)), 0.9);
}

// Intervals of a nominal 95 % held 92 % of the answers in 12 studies of 50, 200 or 1000 public
// rows.
TEST(SmoothTest, PublicAnswersHaveTheErrorThatPublicLabelsLeave) {
  const HalvesStudy study(Halves(200, 1));
  const Model model = study.ModelOf(*study.Estimator().Estimate({}, Evidence::kPublic));
  double held = 0, width = 0;
  constexpr size_t kAnswers = 500;
  const Table test = Halves(kAnswers, 51);
  for (size_t i = 0; i < kAnswers; ++i) {
    const Prediction answer = model.Predict(test.row(i));
    const double truth = (test.row(i)[0] >= 0.5) == (answer.label == 1) ? 0.9 : 0.1;
    held += truth >= answer.low && truth <= answer.high ? 1 : 0;
    width += answer.high - answer.low;
  }
  EXPECT_GT(held / kAnswers, 0.8);
  EXPECT_LT(width / kAnswers, 0.3);
}

TEST(SmoothTest, AnswersHaveTheErrorThatReportsLeave) {
  HalvesStudy study(Halves(100, 1));
  study.Ask(Halves(20'000, 2), "2");
  const SmoothFit fit = *study.Estimator().Estimate(study.counts, Evidence::kBoth);
  const Prediction answer = study.ModelOf(fit).Predict(Row{0.8, 0.5});
  EXPECT_EQ(answer.label, 1u);
  EXPECT_GT(answer.standard_error, 0);
  EXPECT_LT(answer.standard_error, 0.3);
  EXPECT_LT(answer.low, answer.probabilities[1]);
  EXPECT_GT(answer.high, answer.probabilities[1]);
  EXPECT_THAT(fit.diagnosis, HasSubstr("weight"));
}

// Reports are few and noisy, or none: they must not make a good predictor worse.
TEST(SmoothTest, FewReportsDoNoHarm) {
  HalvesStudy study(Halves(200, 1));
  study.Ask(Halves(300, 2), "0.5");
  const SmoothEstimator estimator = study.Estimator();
  const double alone = Accuracy(study.ModelOf(*estimator.Estimate({}, Evidence::kPublic)));
  EXPECT_GE(Accuracy(study.ModelOf(*estimator.Estimate(study.counts, Evidence::kBoth))),
            alone - 0.03);
}

TEST(SmoothTest, ReportsUndoInvertedLabels) {
  HalvesStudy study(Halves(100, 1, /*flipped=*/true));
  study.Ask(Halves(50'000, 2), "4");
  const SmoothEstimator estimator = study.Estimator();
  EXPECT_LT(Accuracy(study.ModelOf(*estimator.Estimate({}, Evidence::kPublic))), 0.2);
  const SmoothFit fit = *estimator.Estimate(study.counts, Evidence::kBoth);
  EXPECT_GT(Accuracy(study.ModelOf(fit)), 0.85);
  EXPECT_THAT(fit.diagnosis, HasSubstr("inverted"));
}

// With reports as the only evidence, public labels must not matter.
TEST(SmoothTest, ReportsAloneIgnoreLabels) {
  HalvesStudy study(Halves(100, 1));
  study.Ask(Halves(50'000, 2), "4");
  HalvesStudy relabelled = study;
  relabelled.rows = Table(study.rows.shared_schema());
  for (size_t i = 0; i < study.rows.num_rows(); ++i) {
    relabelled.rows.Append(study.rows.row(i), 1 - study.rows.label(i));
  }
  const SmoothFit fit = *study.Estimator().Estimate(study.counts, Evidence::kReports);
  EXPECT_GT(Accuracy(study.ModelOf(fit)), 0.9);
  EXPECT_EQ(fit.leaves, relabelled.Estimator().Estimate(study.counts, Evidence::kReports)->leaves);
}

TEST(SmoothTest, WithoutPublicLabelsReportsDecide) {
  HalvesStudy study(Halves(100, 1), /*use_labels=*/false);
  study.Ask(Halves(50'000, 2), "4");
  const SmoothFit fit = *study.Estimator().Estimate(study.counts, Evidence::kReports);
  EXPECT_GT(Accuracy(study.ModelOf(fit)), 0.9);
}

TEST(SmoothTest, SameReportsGiveTheSameModel) {
  HalvesStudy study(Halves(100, 1));
  study.Ask(Halves(5000, 2), "1");
  EXPECT_EQ(study.Estimator().Estimate(study.counts, Evidence::kBoth)->leaves,
            study.Estimator().Estimate(study.counts, Evidence::kBoth)->leaves);
}

// Numbers on the unit square, around 10 x with a long tail above; those of public rows beyond x =
// .5 are `off` too large.
Table Slope(size_t count, uint64_t seed, double off = 0) {
  Table table(std::make_shared<const Schema>(*Schema::CreateRegression(
      {Numeric("x", 0, 1), Numeric("y", 0, 1)}, "number", Target{.min = -10, .max = 40})));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const double tail = -std::log(1 - random.Unit()) - 1;
    table.AppendTarget(row, 10 * row[0] + (row[0] >= 0.5 ? off : 0) + tail);
  }
  return table;
}

// A study of numbers. Devices answer in turns in the trees with an end of the range, and each cell
// has noise of `variance` per report; all draws are public, so no test is left to chance.
struct SlopeStudy {
  SlopeStudy(Table public_rows, const Table& devices, double variance, uint64_t seed = 1)
      : rows(std::move(public_rows)),
        partition({.rule = SplitRule::kRandomCut,
                   .max_depth = kMaxDepth,
                   .min_leaf = 2,
                   .trees = 32,
                   .seed = seed,
                   .max_leaves = 8}),
        forest(*GrowPartition(rows, partition)) {
    PublicRandom random(seed, 1);
    for (size_t t = 0; t < forest.size(); ++t) {
      const std::vector<uint32_t> leaf_of = FindLeaves(forest[t], devices);
      PrivateCounts& of_tree = counts.emplace_back();
      of_tree.counts = {.classes = 2,
                        .leaf = std::vector<double>(forest[t].num_leaves()),
                        .label = std::vector<double>(2 * size_t{forest[t].num_leaves()})};
      for (size_t i = t; i < devices.num_rows(); i += forest.size(), ++of_tree.reports) {
        const size_t end = random.Unit() < range.PlaceOf(devices.target(i)) ? 1 : 0;
        of_tree.counts.label[2 * leaf_of[i] + end] += 1;
      }
      for (size_t cell = 0; cell < of_tree.counts.label.size(); ++cell) {
        double normal = -6;  // twelve uniform draws: variance 1
        for (int i = 0; i < 12; ++i) normal += random.Unit();
        double& count = of_tree.counts.label[cell];
        count += std::sqrt(variance * static_cast<double>(of_tree.reports)) * normal;
        of_tree.counts.leaf[cell / 2] += count;
      }
      of_tree.noise.assign(2, {.leaf = 2 * variance, .label = variance, .covariance = variance});
    }
  }

  SmoothEstimator Estimator() const {
    return *SmoothEstimator::Create(forest, partition, rows, range);
  }
  // The root mean squared error of a model against the numbers' means.
  double ErrorOf(const SmoothFit& fit) const {
    const Model model =
        *Model::Create(rows.schema(), fit.forest, fit.leaves, {}, LeafKind::kScores);
    double squares = 0;
    constexpr int kSteps = 20;
    for (int i = 0; i < kSteps * kSteps; ++i) {
      const Row row = {(i % kSteps + 0.5) / kSteps, (i / kSteps + 0.5) / kSteps};
      squares += std::pow(model.Predict(row).value - 10 * row[0], 2) / (kSteps * kSteps);
    }
    return std::sqrt(squares);
  }

  Table rows;
  PartitionOptions partition;
  Forest forest;
  NumberRange range = {.low = -1, .high = 11};
  std::vector<PrivateCounts> counts;
};

TEST(SmoothNumbersTest, PublicEvidenceIsThePredictorAlone) {
  const SlopeStudy study(Slope(200, 1), Slope(0, 2), 0);
  const SmoothFit fit = *study.Estimator().Estimate({}, Evidence::kPublic);
  EXPECT_THAT(fit.diagnosis, IsEmpty());
  EXPECT_LT(study.ErrorOf(fit), 0.8) << "always answering the mean errs by 2.9";
  const PublicPredictor predictor = *study.Estimator().PredictorFor(Evidence::kBoth);
  const Model model =
      *Model::Create(study.rows.schema(), fit.forest, fit.leaves, {}, LeafKind::kScores);
  double number = 0;
  predictor.Score(Row{0.3, 0.7}, absl::MakeSpan(&number, 1));
  EXPECT_NEAR(model.Predict(Row{0.3, 0.7}).value, number, 1e-9);
}

TEST(SmoothNumbersTest, ReportsCorrectWhatIsPredictedWrong) {
  const SlopeStudy study(Slope(200, 1, /*off=*/2), Slope(60'000, 2), 0.2);
  const SmoothEstimator estimator = study.Estimator();
  const SmoothFit fit = *estimator.Estimate(study.counts, Evidence::kBoth);
  const double before = study.ErrorOf(*estimator.Estimate({}, Evidence::kPublic));
  EXPECT_GT(before, 1.2);
  EXPECT_LT(study.ErrorOf(fit), 0.75 * before);
  EXPECT_THAT(fit.diagnosis, HasSubstr("weight"));
  const Model model =
      *Model::Create(study.rows.schema(), fit.forest, fit.leaves, {}, LeafKind::kScores);
  const Prediction answer = model.Predict(Row{0.8, 0.5});
  EXPECT_GT(answer.standard_error, 0);
}

TEST(SmoothNumbersTest, ReportsRefuteNumbersThatAreAllTheSame) {
  Table same(Slope(0, 1).shared_schema());
  const Table rows = Slope(200, 1);
  for (size_t i = 0; i < rows.num_rows(); ++i) same.AppendTarget(rows.row(i), 3);
  const SlopeStudy study(std::move(same), Slope(60'000, 2), 0.2);
  const SmoothFit fit = *study.Estimator().Estimate(study.counts, Evidence::kBoth);
  // Nor do such numbers cut any tree, so reports can say no more than the mean.
  EXPECT_LT(study.ErrorOf(fit), 3) << "always answering 3 errs by 3.5";
  EXPECT_THAT(fit.diagnosis, HasSubstr("unrelated"));
}

// Public rows and devices are alike, and a tail of their numbers is cut: whatever the noise,
// reports must not make a good predictor worse.
TEST(SmoothNumbersTest, AreNeverFarBehindTheirPublicRows) {
  double ratios = 0;
  int studies = 0;
  for (const double variance : {0.1, 1.0, 20.0}) {
    for (uint64_t seed = 1; seed <= 5; ++seed, ++studies) {
      const SlopeStudy study(Slope(150, seed), Slope(8000, 100 + seed), variance, seed);
      const SmoothEstimator estimator = study.Estimator();
      const double ratio = study.ErrorOf(*estimator.Estimate(study.counts, Evidence::kBoth)) /
                           study.ErrorOf(*estimator.Estimate({}, Evidence::kPublic));
      EXPECT_LT(ratio, 1.1) << variance << " " << seed;
      ratios += ratio;
    }
  }
  EXPECT_LT(ratios / studies, 1.01);
}

// With reports as the only evidence, public numbers must not matter.
TEST(SmoothNumbersTest, ReportsAloneIgnorePublicNumbers) {
  SlopeStudy study(Slope(100, 1), Slope(50'000, 2), 0.2);
  const SmoothFit fit = *study.Estimator().Estimate(study.counts, Evidence::kReports);
  EXPECT_LT(study.ErrorOf(fit), 1.5);
  Table other(study.rows.shared_schema());
  for (size_t i = 0; i < study.rows.num_rows(); ++i) other.AppendTarget(study.rows.row(i), 3);
  study.rows = std::move(other);
  EXPECT_EQ(fit.leaves, study.Estimator().Estimate(study.counts, Evidence::kReports)->leaves);
}

TEST(SmoothTest, ARangeIsForNumbersAndTheseNeedOne) {
  const SlopeStudy numbers(Slope(20, 1), Slope(0, 2), 0);
  const HalvesStudy classes(Halves(20, 1));
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("range"));
  EXPECT_THAT(SmoothEstimator::Create(numbers.forest, numbers.partition, numbers.rows).status(),
              refused);
  EXPECT_THAT(SmoothEstimator::Create(classes.forest, classes.partition, classes.rows,
                                      NumberRange{.low = 0, .high = 1})
                  .status(),
              refused);
}

}  // namespace
}  // namespace coppice::curator
