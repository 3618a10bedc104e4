// What devices answer about numbers, by public rows that a predictor has not seen.

#include "server/curator/estimation/correction/number_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "common/base/public_random.h"
#include "tests/support/schemas.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;

// A number with a long tail above and the mean 0.
double DrawTail(PublicRandom& random) { return -std::log(1 - random.Unit()) - 1; }

// Public rows whose predicted numbers are spread over [0, 10], and how they were predicted.
struct PredictedRows {
  explicit PredictedRows(size_t count, uint64_t seed = 1)
      : rows(std::make_shared<const Schema>(
            *Schema::CreateRegression({Numeric("x", 0, 10)}, "y", Target{.min = -5, .max = 50}))) {
    PublicRandom random(seed);
    for (size_t i = 0; i < count; ++i) {
      predicted.push_back(10 * random.Unit());
      rows.AppendTarget(Row{predicted.back()}, predicted.back() + DrawTail(random));
    }
  }

  Table rows;
  std::vector<double> predicted;
};

TEST(NumberAnswersTest, ExpectsTheNumberWhereNobodyIsCut) {
  const PredictedRows known(200);
  const NumberResiduals residuals(known.rows, known.predicted);
  const NumberRange wide = {.low = -100, .high = 100};
  for (const double number : {-3.0, 0.0, 4.5, 12.0}) {
    EXPECT_NEAR(residuals.ExpectedIn(wide, number), number, 1e-12);
    EXPECT_EQ(residuals.ShareWithin(wide, number), 1);
  }
}

// With 20,000 devices the mean of their cut numbers is within .02 of its expectation; the few
// public rows that stand for their tail allow the rest.
TEST(NumberAnswersTest, ExpectsTheMeanOfCutNumbers) {
  const PredictedRows known(400);
  const NumberResiduals residuals(known.rows, known.predicted);
  PublicRandom random(2);
  for (const NumberRange& range : {NumberRange{.low = 4, .high = 6}, {.low = 0, .high = 5}}) {
    double answers = 0;
    constexpr int kDevices = 20'000;
    for (int i = 0; i < kDevices; ++i) {
      answers += std::clamp(5 + DrawTail(random), range.low, range.high) / kDevices;
    }
    EXPECT_NEAR(residuals.ExpectedIn(range, 5), answers, 0.12);
    EXPECT_LT(residuals.ExpectedIn(range, 5), 5) << "a tail above is cut";
    EXPECT_LT(residuals.ShareWithin(range, 5), 0.95);
  }
}

TEST(NumberAnswersTest, ExpectsAnEndFarBeyondTheRange) {
  const PredictedRows known(100);
  const NumberResiduals residuals(known.rows, known.predicted);
  EXPECT_EQ(residuals.ExpectedIn({.low = 0, .high = 10}, 1000), 10);
  EXPECT_EQ(residuals.ExpectedIn({.low = 0, .high = 10}, -1000), 0);
}

// Errors that grow with the predicted number are those of rows with a like one.
TEST(NumberAnswersTest, TakesTheErrorsOfLikeNumbers) {
  Table rows(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 10)}, "y", Target{.min = -20, .max = 40})));
  std::vector<double> predicted;
  for (int i = 0; i < 200; ++i) {
    const bool is_large = i >= 100;
    predicted.push_back(is_large ? 10 : 0);
    const double error = (is_large ? 5 : 0.1) * (i % 2 == 0 ? 1 : -1);
    rows.AppendTarget(Row{0.0}, predicted.back() + error);
  }
  const NumberResiduals residuals(rows, predicted);
  EXPECT_EQ(residuals.ShareWithin({.low = -1, .high = 1}, 0), 1);
  EXPECT_EQ(residuals.ShareWithin({.low = 9, .high = 11}, 10), 0);
}

TEST(NumberAnswersTest, KnowsTheErrorOfHeldOutRows) {
  Table rows(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 1)}, "y", Target{.min = 0, .max = 8})));
  for (const double number : {1.0, 3.0}) rows.AppendTarget(Row{0.0}, number);
  EXPECT_DOUBLE_EQ(NumberResiduals(rows, std::vector<double>{2, 2}).error(), 1);
  EXPECT_DOUBLE_EQ(NumberResiduals(rows, std::vector<double>{1, 3}).error(), 8e-9) << "never 0";
  const NumberResiduals nothing(rows, {});
  EXPECT_DOUBLE_EQ(nothing.error(), 2);
  EXPECT_DOUBLE_EQ(nothing.ExpectedIn({.low = 0, .high = 1}, 4), 4);
}

TEST(NumberAnswersTest, PlacesNumbersBetweenTheEnds) {
  const PredictedRows known(200);
  const NumberResiduals residuals(known.rows, known.predicted);
  const NumberPlaces places =
      PlaceNumbers({.low = -90, .high = 110}, residuals, std::vector<double>{10, 0});
  EXPECT_NEAR(places.of_row[0], 0.5, 1e-12);
  EXPECT_NEAR(places.of_row[1], 0.45, 1e-12);
  EXPECT_NEAR(places.per_number, 1.0 / 200, 1e-12);
}

}  // namespace
}  // namespace coppice::curator
