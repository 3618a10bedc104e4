#include "server/trainers/dpboost/gradients.h"

#include <cmath>
#include <random>

#include "common/base/status.h"
#include "server/trainers/core/split_scores.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t kUnit = kResidualSteps;

BinnedRows Classes(uint32_t classes, const std::vector<uint32_t>& labels) {
  Table table(MixedClasses(classes));
  const Row row(table.schema().num_features(), kMissingValue);
  for (const uint32_t label : labels) table.Append(row, label);
  return Binned(table, 3);
}

BinnedRows Numbers(const std::vector<double>& targets) {
  Table table(MixedRegression());  // from -2 to 6
  const Row row(table.schema().num_features(), kMissingValue);
  for (const double target : targets) table.AppendTarget(row, target);
  return Binned(table, 3);
}

TEST(GradientsTest, ANumberAsksForItsPlaceFromTheMiddleOfTheRange) {
  const BinnedRows rows = Numbers({-2, 0, 2, 6});
  Gradients gradients(rows, GradientLoss::kSquare, Filtering::kClamp);
  EXPECT_THAT(gradients.Of({0, 1, 2, 3}).values,
              ElementsAre(ElementsAre(-kUnit, -kUnit / 2, 0, kUnit)));
  ASSERT_OK(gradients.Add({0, 1}, {-0.25}));
  EXPECT_THAT(gradients.Of({1, 0}).values, ElementsAre(ElementsAre(-kUnit / 4, -kUnit * 3 / 4)));
  EXPECT_THAT(gradients.ToOutputs({0.5}), ElementsAre(-0.25, 0.25));
}

TEST(GradientsTest, TwoClassesAskForWhatTheirProbabilityLacks) {
  const BinnedRows rows = Classes(2, {0, 1, kUnlabelled, 1});
  Gradients gradients(rows, GradientLoss::kLogistic, Filtering::kClamp);
  const RowResiduals start = gradients.Of({0, 1, 2, 3});
  EXPECT_THAT(start.rows, ElementsAre(0, 1, 3));  // a row without a label asks for nothing
  EXPECT_THAT(start.values, ElementsAre(ElementsAre(-kUnit, kUnit, kUnit)));
  ASSERT_OK(gradients.Add({0, 1}, {0.3}));  // in log-odds, twice that
  const double p = 1 / (1 + std::exp(-0.6));
  const RowResiduals then = gradients.Of({0, 1, 3});
  EXPECT_EQ(then.values[0][0], -kUnit) << "wrong by more than at the start, and cut to that";
  EXPECT_NEAR(then.values[0][1], kUnit * (1 - p) / 0.5, 1);
  EXPECT_EQ(then.values[0][2], kUnit);
  EXPECT_THAT(gradients.ToOutputs({0.3}), ElementsAre(-0.3, 0.3));
}

TEST(GradientsTest, WithoutFilteringNothingIsCutAndScoresAreTheSame) {
  const BinnedRows rows = Classes(2, {0, 1});
  Gradients logistic(rows, GradientLoss::kLogistic, Filtering::kNone);
  ASSERT_OK(logistic.Add({0, 1}, {0.15}));  // in log-odds, four times that
  const double p = 1 / (1 + std::exp(-0.6));
  EXPECT_NEAR(logistic.Of({0}).values[0][0], -kUnit * p, 1);
  EXPECT_NEAR(logistic.Of({1}).values[0][0], kUnit * (1 - p), 1);
  EXPECT_THAT(logistic.ToOutputs({0.15}), ElementsAre(-0.3, 0.3));
  const BinnedRows numbers = Numbers({-2});
  Gradients square(numbers, GradientLoss::kSquare, Filtering::kNone);
  ASSERT_OK(square.Add({0}, {0.125}));  // the end of the range
  EXPECT_THAT(square.Of({0}).values, ElementsAre(ElementsAre(-kUnit / 4)));
  EXPECT_THAT(square.ToOutputs({0.125}), ElementsAre(-0.5, 0.5));
}

TEST(GradientsTest, TwoClassesBySquaresAreTheEndsOfARange) {
  const BinnedRows rows = Classes(2, {0, 1});
  Gradients gradients(rows, GradientLoss::kSquare, Filtering::kClamp);
  ASSERT_OK(gradients.Add({0, 1}, {0.25}));
  EXPECT_THAT(gradients.Of({0, 1}).values, ElementsAre(ElementsAre(-kUnit, kUnit * 3 / 4)));
}

TEST(GradientsTest, ARowThatAsksForMoreThanAtTheStartIsLeftOutIfAsked) {
  for (const GradientLoss loss : {GradientLoss::kSquare, GradientLoss::kLogistic}) {
    const BinnedRows rows = Classes(2, {0, 1});
    Gradients gradients(rows, loss, Filtering::kDrop);
    EXPECT_THAT(gradients.Of({0, 1}).rows, ElementsAre(0, 1));
    ASSERT_OK(gradients.Add({0, 1}, {0.25}));
    EXPECT_THAT(gradients.Of({0, 1}).rows, ElementsAre(1));
    ASSERT_OK(gradients.Add({0}, {-0.5}));
    EXPECT_THAT(gradients.Of({0, 1}).rows, ElementsAre(0, 1));
  }
  const BinnedRows rows = Classes(3, {0, 1, 2});
  Gradients gradients(rows, GradientLoss::kLogistic, Filtering::kDrop);
  EXPECT_THAT(gradients.Of({0, 1, 2}).rows, ElementsAre(0, 1, 2));
  ASSERT_OK(gradients.Add({0, 1, 2}, {0.5, -0.5, 0}));
  EXPECT_THAT(gradients.Of({0, 1}).rows, ElementsAre(0));
}

TEST(GradientsTest, ScoresThatWouldHaveNoBoundsAreRefused) {
  const BinnedRows rows = Classes(2, {0, 1});
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Gradients gradients(rows, GradientLoss::kLogistic, Filtering::kClamp);
    EXPECT_THAT(gradients.Add({0, 1}, {bad}),
                testing::StatusIs(StatusCode::kInternal, ::testing::HasSubstr("finite")));
  }
}

// The sensitivities rest on these bounds, which hold in whole numbers at scores of every size.
TEST(GradientsTest, ResidualsKeepTheirBoundsWhateverTheScores) {
  std::mt19937_64 engine(1);
  for (const uint32_t classes : {2u, 3u, 7u}) {
    for (const Filtering filtering : {Filtering::kDrop, Filtering::kClamp}) {
      std::vector<uint32_t> labels;
      for (uint32_t row = 0; row < 300; ++row) labels.push_back(row % classes);
      const BinnedRows rows = Classes(classes, labels);
      Gradients gradients(rows, GradientLoss::kLogistic, filtering);
      for (uint32_t row = 0; row < 300; ++row) {
        const double size = std::pow(10.0, std::uniform_real_distribution<>(-4, 4)(engine));
        std::vector<double> value;
        for (uint32_t k = 0; k < gradients.outputs(); ++k) {
          value.push_back(std::normal_distribution<>(0, size)(engine));
        }
        ASSERT_OK(gradients.Add({row}, value));
        const RowResiduals seen = gradients.Of({row});
        if (seen.rows.empty()) continue;
        int64_t others = 0, squares = 0;
        for (uint32_t k = 0; k < gradients.outputs(); ++k) {
          const int64_t residual = seen.values[k][0];
          EXPECT_LE(std::abs(residual), kResidualSteps);
          squares += residual * residual;
          if (gradients.outputs() > 1 && k != labels[row]) {
            EXPECT_LE(residual, 0);
            others -= residual;
          }
        }
        EXPECT_LE(squares, gradients.squared_norm() * kResidualSteps * kResidualSteps);
        if (gradients.outputs() > 1) {
          EXPECT_EQ(seen.values[labels[row]][0], others);
        }
      }
    }
  }
}

TEST(GradientsTest, SeveralClassesStartEvenly) {
  const BinnedRows rows = Classes(3, {1});
  const Gradients gradients(rows, GradientLoss::kLogistic, Filtering::kClamp);
  const RowResiduals seen = gradients.Of({0});
  EXPECT_NEAR(seen.values[0][0], -kUnit / 2, 1);
  EXPECT_NEAR(seen.values[1][0], kUnit, 2);
  EXPECT_NEAR(seen.values[2][0], -kUnit / 2, 1);
}

// Two of several classes move apart as far as two alone do.
TEST(GradientsTest, AStepOfSeveralClassesIsAsLongAsOneOfTwo) {
  const BinnedRows two = Classes(2, {0});
  const BinnedRows seven = Classes(7, {0});
  const auto log_odds = [](const Gradients& gradients, double mean) {
    std::vector<double> value(gradients.outputs(), 0.0);
    value.back() = mean;
    const std::vector<double> outputs = gradients.ToOutputs(value);
    return outputs.back() - outputs.front();
  };
  // A step is four times the mean residual, and with K classes (K - 1) / K of that.
  EXPECT_DOUBLE_EQ(log_odds({two, GradientLoss::kLogistic, Filtering::kClamp}, 1), 4 * 0.5);
  EXPECT_DOUBLE_EQ(log_odds({seven, GradientLoss::kLogistic, Filtering::kClamp}, 1),
                   4 * (6.0 / 7) * (6.0 / 7));
}

}  // namespace
}  // namespace coppice::trainers
