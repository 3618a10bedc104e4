// Label-only studies: unbiased margins, what is learned from them, and what is not believed.

#include "server/curator/estimation/labels/label_only.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;

constexpr double kEpsilon = 1;

// Rows uniform on the unit square; `truth` gives the classes' probabilities.
template <typename Truth>
Table Draw(size_t count, uint32_t classes, uint64_t seed, Truth truth) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k)
    names.push_back(std::string(1, static_cast<char>('a' + k)));
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names)));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    table.Append(row, truth(row, random));
  }
  return table;
}

uint32_t Checkerboard(const Row& row, PublicRandom& random) {
  const bool odd = (row[0] < 0.5) != (row[1] < 0.5);
  return odd != (random.Below(10) == 0) ? 1 : 0;
}

// Randomized response with repeatable noise, which no study may have.
LabelReports Respond(const Table& rows, uint64_t seed) {
  const uint32_t classes = rows.schema().num_classes();
  const double keep = std::exp(kEpsilon) / (std::exp(kEpsilon) + classes - 1);
  const double lie = (1 - keep) / (classes - 1);
  PublicRandom random(seed);
  LabelReports reports{.rows = &rows, .margins = RowColumns(MarginColumns(classes))};
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    uint32_t said = rows.label(i);
    if (random.Unit() >= keep) {
      said = (said + 1 + static_cast<uint32_t>(random.Below(classes - 1))) % classes;
    }
    for (size_t k = 0; k < reports.margins.size(); ++k) {
      const size_t of_class = classes == 2 ? 1 : k;
      const double estimate = ((said == of_class ? 1 : 0) - lie) / (keep - lie);
      reports.margins[k].push_back(MarginScale(rows.schema()) * (estimate - 1.0 / classes));
    }
  }
  return reports;
}

Model ModelOf(const AdditiveForest& forest, const Schema& schema) {
  return *Model::Create(schema, forest.forest, forest.leaves, {}, LeafKind::kAdditive);
}

double AccuracyOf(const AdditiveForest& forest, const Table& test) {
  const Model model = ModelOf(forest, test.schema());
  double hits = 0;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    hits += model.Predict(test.row(i)).label == test.label(i) ? 1 : 0;
  }
  return hits / static_cast<double>(test.num_rows());
}

// The classes' probabilities that `rows` were drawn with, where x < 1/2 and elsewhere.
AdditiveForest SplitAtHalf(const Schema& schema, double below, double above) {
  AdditiveForest result;
  result.forest.push_back(*Tree::Create(
      {{.kind = SplitKind::kNumeric, .threshold = 0.5, .left = 1, .right = 2}, {}, {}}, schema));
  result.leaves = {
      {{.probabilities = {1 - below, below}, .standard_error = 0.1, .source_node = 1},
       {.probabilities = {1 - above, above}, .standard_error = 0.1, .label = 1, .source_node = 2}}};
  return result;
}

class LabelMarginsTest : public ::testing::TestWithParam<MechanismKind> {};

TEST_P(LabelMarginsTest, AreUnbiased) {
  const uint32_t classes = GetParam() == MechanismKind::kSignedHadamard ? 2 : 4;
  const auto mechanism =
      *MakeLocalMechanism(GetParam(), *Budget::FromEpsilon(kEpsilon), {1, classes});
  const Schema schema = Draw(1, classes, 1, Checkerboard).schema();
  OpenSslRandom random;
  std::set<std::string> payloads;
  for (int i = 0; i < 4000; ++i) {
    payloads.insert(*mechanism->Randomize({0, static_cast<uint32_t>(i) % classes}, 0, random));
  }
  for (uint32_t label = 0; label < classes; ++label) {
    std::vector<double> mean(MarginColumns(classes));
    double total = 0;
    for (const std::string& payload : payloads) {
      const double p = *mechanism->OutputProbability({0, label}, 0, payload);
      total += p;
      const std::vector<double> margins = LabelMargins(schema, *mechanism, {.payload = payload});
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += p * margins[k];
    }
    ASSERT_NEAR(total, 1, 1e-9);
    for (size_t k = 0; k < mean.size(); ++k) {
      const double hit = (classes == 2 ? 1 : k) == label ? 1 : 0;
      EXPECT_NEAR(mean[k], MarginScale(schema) * (hit - 1.0 / classes), 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, LabelMarginsTest,
                         ::testing::Values(MechanismKind::kSignedHadamard, MechanismKind::kDirect,
                                           MechanismKind::kSubsetSelection,
                                           MechanismKind::kOptimizedUnary),
                         [](const auto& mechanism) {
                           return std::string(MechanismName(mechanism.param));
                         });

TEST(LabelOnlyTest, LearnsWhatThePublicRowsDoNotSay) {
  const Table rows = Draw(8000, 2, 1, Checkerboard);
  ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit, EstimateLabelOnly(NoOffset(2), Respond(rows, 2)));
  EXPECT_GT(fit.alpha, 0.5);
  const double b = (std::exp(kEpsilon) + 1) / (std::exp(kEpsilon) - 1);
  EXPECT_NEAR(fit.noise_per_report, b * b, 1e-9);
  EXPECT_GT(AccuracyOf(fit.model, Draw(2000, 2, 3, Checkerboard)), 0.85);  // 0.9 is all there is
}

TEST(LabelOnlyTest, SeveralClassesShareTreesAndStayProbabilities) {
  const auto strips = [](const Row& row, PublicRandom& random) {
    return random.Below(10) == 0 ? static_cast<uint32_t>(random.Below(4))
                                 : static_cast<uint32_t>(row[0] * 4);
  };
  const Table rows = Draw(20'000, 4, 1, strips);
  ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit, EstimateLabelOnly(NoOffset(4), Respond(rows, 2)));
  for (const auto& tree : fit.model.leaves) {
    for (const LeafPrediction& leaf : tree) {
      EXPECT_NEAR(std::accumulate(leaf.probabilities.begin(), leaf.probabilities.end(), 0.0), 1,
                  1e-9);
    }
  }
  EXPECT_GT(AccuracyOf(fit.model, Draw(2000, 4, 3, strips)), 0.85);
}

// The offset is the truth, so all that trees find beyond it is noise.
TEST(LabelOnlyTest, NoiseIsNotBelieved) {
  const auto truth = [](const Row& row, PublicRandom& random) {
    return random.Unit() < (row[0] < 0.5 ? 0.3 : 0.7) ? 1u : 0u;
  };
  int untouched = 0;
  double alphas = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Table rows = Draw(2000, 2, seed, truth);
    const AdditiveForest offset = SplitAtHalf(rows.schema(), 0.3, 0.7);
    ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit,
                         EstimateLabelOnly(offset, Respond(rows, seed + 100)));
    alphas += fit.alpha;
    if (fit.alpha > 0) continue;
    ++untouched;
    EXPECT_EQ(fit.model.leaves, offset.leaves);
    EXPECT_EQ(fit.model.forest, offset.forest);
  }
  EXPECT_GE(untouched, 12);  // 84 % are expected, as gains must exceed one standard error
  EXPECT_LT(alphas / 20, 0.1);
}

TEST(LabelOnlyTest, AWrongOffsetIsOverruled) {
  const auto truth = [](const Row& row, PublicRandom& random) {
    return random.Unit() < (row[0] < 0.5 ? 0.1 : 0.9) ? 1u : 0u;
  };
  const Table rows = Draw(8000, 2, 1, truth);
  const AdditiveForest inverted = SplitAtHalf(rows.schema(), 0.9, 0.1);
  const Table test = Draw(2000, 2, 3, truth);
  EXPECT_LT(AccuracyOf(inverted, test), 0.2);
  ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit, EstimateLabelOnly(inverted, Respond(rows, 2)));
  EXPECT_GT(AccuracyOf(fit.model, test), 0.8);
}

// With the same rows and new noise, predictions scatter by about their standard errors.
TEST(LabelOnlyTest, StandardErrorsAreThoseOfTheNoise) {
  constexpr int kRuns = 40;
  const Table rows = Draw(3000, 2, 1, Checkerboard);
  const Table places = Draw(50, 2, 2, Checkerboard);
  std::vector<double> sum(50), squares(50);
  double said = 0;
  for (int run = 0; run < kRuns; ++run) {
    ASSERT_OK_AND_ASSIGN(
        const LabelOnlyFit fit,
        EstimateLabelOnly(NoOffset(2), Respond(rows, 1000 + static_cast<uint64_t>(run))));
    const Model model = ModelOf(fit.model, rows.schema());
    for (size_t i = 0; i < 50; ++i) {
      const Prediction prediction = model.Predict(places.row(i));
      sum[i] += prediction.probabilities[1];
      squares[i] += prediction.probabilities[1] * prediction.probabilities[1];
      said += prediction.standard_error * prediction.standard_error / (50 * kRuns);
    }
  }
  double scatter = 0;
  for (size_t i = 0; i < 50; ++i) {
    scatter += (squares[i] - sum[i] * sum[i] / kRuns) / (kRuns - 1) / 50;
  }
  EXPECT_GT(std::sqrt(said / scatter), 0.6);
  EXPECT_LT(std::sqrt(said / scatter), 1.6);
}

// The target is 1/2 plus .3 on one colour of the board, and 1/2 minus .3 on the other.
TEST(LabelOnlyTest, NumbersAreLearnedFromTheirRoundedEnds) {
  Table rows(std::make_shared<const Schema>(*Schema::CreateRegression(
      {Numeric("x", 0, 1), Numeric("y", 0, 1)}, "price", {.min = 0, .max = 1})));
  PublicRandom random(1);
  const auto draw = [&random](Table& table) {
    const Row row = {random.Unit(), random.Unit()};
    table.AppendTarget(row, (row[0] < 0.5) != (row[1] < 0.5) ? 0.8 : 0.2);
  };
  for (int i = 0; i < 8000; ++i) draw(rows);
  const double b = (std::exp(kEpsilon) + 1) / (std::exp(kEpsilon) - 1);
  LabelReports reports{.rows = &rows, .margins = RowColumns(1)};
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const double p = 0.5 + (rows.target(i) - 0.5) / b;  // of the upper end, rounded and randomized
    reports.margins[0].push_back(MarginScale(rows.schema()) / 2 * (random.Unit() < p ? b : -b));
  }
  ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit, EstimateLabelOnly(NoOffset(2), reports));
  EXPECT_GT(fit.alpha, 0.5);
  Table test(rows.shared_schema());
  for (int i = 0; i < 1000; ++i) draw(test);
  const Model model = ModelOf(fit.model, rows.schema());
  double squares = 0;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    squares += std::pow(model.Predict(test.row(i)).value - test.target(i), 2) / 1000;
  }
  EXPECT_LT(std::sqrt(squares), 0.15);  // the mean alone errs by 0.3
}

TEST(LabelOnlyTest, WithoutReportsTheOffsetStands) {
  const Table rows = Draw(0, 2, 1, Checkerboard);
  const AdditiveForest offset = SplitAtHalf(rows.schema(), 0.3, 0.7);
  ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit, EstimateLabelOnly(offset, Respond(rows, 2)));
  EXPECT_EQ(fit.alpha, 0);
  EXPECT_EQ(fit.model.leaves, offset.leaves);
}

TEST(LabelOnlyTest, AnyNumberOfReportsGivesAModel) {
  for (size_t count = 1; count < 40; ++count) {
    const Table rows = Draw(count, 2, count, Checkerboard);
    ASSERT_OK_AND_ASSIGN(const LabelOnlyFit fit,
                         EstimateLabelOnly(NoOffset(2), Respond(rows, count)));
    EXPECT_OK(
        Model::Create(rows.schema(), fit.model.forest, fit.model.leaves, {}, LeafKind::kAdditive));
  }
}

TEST(LabelOnlyTest, ShapesMustMatch) {
  const Table rows = Draw(100, 2, 1, Checkerboard);
  LabelReports reports = Respond(rows, 2);
  EXPECT_THAT(EstimateLabelOnly(NoOffset(3), reports),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("shape")));
  EXPECT_THAT(EstimateLabelOnly({}, reports),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("shape")));
  reports.margins[0].pop_back();
  EXPECT_THAT(EstimateLabelOnly(NoOffset(2), reports),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("shape")));
}

// A number of 35 is at the middle of 30 to 40, and three quarters of the way from 20 to 40.
TEST(LabelMarginsTest, MoveToAnotherRange) {
  EXPECT_NEAR(MoveMargin(0, {.low = 30, .high = 40}, {.low = 20, .high = 40}), 4 * 0.25, 1e-12);
  EXPECT_NEAR(MoveMargin(1, {.low = 20, .high = 40}, {.low = 30, .high = 40}), 0, 1e-12);
  EXPECT_NEAR(MoveMargin(2, {.low = -5, .high = 5}, {.low = -5, .high = 5}), 2, 1e-12);
}

}  // namespace
}  // namespace coppice::curator
