// Each method on rows small enough to know the answer, and the size of its noise.

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/research/features.h"
#include "server/research/method.h"
#include "tests/server/research/small_rows.h"
#include "tests/support/status_matchers.h"

namespace coppice::research {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(MethodsTest, NamesAreDistinctAndFound) {
  std::set<std::string> names;
  for (const Method* method : AllMethods()) {
    EXPECT_TRUE(names.insert(method->info().name).second);
    ASSERT_OK_AND_ASSIGN(const Method* found, FindMethod(method->info().name));
    EXPECT_EQ(found, method);
  }
  EXPECT_THAT(FindMethod("nothing"), StatusIs(StatusCode::kNotFound, HasSubstr("ct_w, ")));
}

// A reader of a result must be told what it protects.
TEST(MethodsTest, EveryPrivateMethodNamesItsNeighboursAndItsSampler) {
  for (const Method* method : AllMethods()) {
    const MethodInfo& info = method->info();
    EXPECT_EQ(info.is_private(), !info.neighbours.empty()) << info.name;
    EXPECT_FALSE(info.guarantee.empty()) << info.name;
    EXPECT_FALSE(info.sampler.empty()) << info.name;
  }
}

// x = 0, .1, ..., .9; class 1 begins at .5 in the private rows, and at .3 in the public ones.
TEST(ClassificationTreesTest, SeeTheRowsTheyAreFor) {
  const lab::LabRows rows = {.public_rows = Line({0, 0, 0, 1, 1, 1, 1, 1, 1, 1}),
                             .private_rows = Line({0, 0, 0, 0, 0, 1, 1, 1, 1, 1}),
                             .test_rows = Line({0, 0, 0, 0, 0, 1, 1, 1, 1, 1})};
  // Public rows alone are cut below .3; with the private rows x = .3 has both classes.
  ASSERT_OK_AND_ASSIGN(const Answers by_public, FitOnce(CtQ(), rows, "", 3));
  EXPECT_THAT(LabelsOf(by_public), ElementsAre(0, 0, 0, 1, 1, 1, 1, 1, 1, 1));
  ASSERT_OK_AND_ASSIGN(const Answers by_all, FitOnce(CtW(), rows, "", 9));
  EXPECT_THAT(by_all.of(3), ElementsAre(DoubleEq(0.5), DoubleEq(0.5)));
  EXPECT_THAT(by_all.of(2), ElementsAre(DoubleEq(1), DoubleEq(0)));
  EXPECT_THAT(by_all.of(5), ElementsAre(DoubleEq(0), DoubleEq(1)));
}

TEST(MethodsTest, RefusePrivateRowsWithoutLabels) {
  const lab::LabRows rows = {.public_rows = Line({0, 1, 0, 1}),
                             .private_rows = Line({0, 1, kUnlabelled}),
                             .test_rows = Line({0, 1})};
  for (const Method* method : AllMethods()) {
    if (method == &CtQ() || method == &Auto()) continue;  // reads none, or leaves them out
    EXPECT_THAT(FitOnce(*method, rows, "1", 1),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("row 3")))
        << method->info().name;
  }
}

TEST(ClassificationTreesTest, RefuseRowsWithoutLabels) {
  const lab::LabRows rows = {.public_rows = Line({0, kUnlabelled}),
                             .private_rows = Line({0, 1}),
                             .test_rows = Line({0, 1})};
  EXPECT_THAT(FitOnce(CtQ(), rows, "", 3),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("label")));
}

TEST(ScalingTest, UsesThePublicRangeAndClamps) {
  const Scaling scaling(*Points2D({{0.2, 1}, {0.4, 1}}));
  const Points points = scaling.Scale(*Points2D({{0.3, 0.7}, {0.9, 0}, {0.1, 1}}));
  ASSERT_EQ(points.dimension, 2u);
  EXPECT_THAT(points.of(0), ElementsAre(::testing::DoubleNear(0.5, 1e-12), 0.5));
  EXPECT_THAT(points.of(1), ElementsAre(1, 0.5));
  EXPECT_THAT(points.of(2), ElementsAre(0, 0.5));
}

TEST(ScalingTest, GivesEveryCategoryADimensionOrAPlace) {
  const Scaling scaling(*Colours({0, 1, 2}));
  const Points points = scaling.Scale(*Colours({1, 2, kMissingValue}));
  ASSERT_EQ(points.dimension, 2u);
  EXPECT_THAT(points.values, ElementsAre(0, 1, 0, 0, 0, 0));
  EXPECT_THAT(scaling.ScaleToBox(*Colours({0, 1, 2, kMissingValue})).values,
              ElementsAre(0, 0.5, 1, 1));
}

// With little noise the answers are the cells' shares: of the four rows below .5 one is of class 1,
// of the six above it four are.
TEST(PrivateHistogramTest, AnswersWithTheSharesOfACell) {
  const lab::LabRows rows = {.public_rows = Line({0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                             .private_rows = Line({0, 1, 0, 0, 0, 1, 0, 1, 1, 1}),
                             .test_rows = Line({0, 0, 0, 0, 0, 1, 1, 1, 1, 1})};
  ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(Phist(), rows, "1000", 2));
  // x is scaled by the public maximum .9: rows 0 to 4 are in the lower cell.
  EXPECT_NEAR(answers.of(0)[1], 0.2, 1e-9);
  EXPECT_NEAR(answers.of(9)[1], 0.8, 1e-9);
}

// A sum has the noise of n devices, each of variance 2 r / (1 - r)^2 with r = exp(-epsilon / 4). In
// a cell that holds all rows, half of each class, the share is off by (V - U / 2) / U.
TEST(PrivateHistogramTest, HasTheNoiseOfAllDevices) {
  constexpr size_t kDevices = 4000;
  std::vector<uint32_t> labels(kDevices);
  for (size_t i = 0; i < kDevices; ++i) labels[i] = i % 2;
  const lab::LabRows rows = {
      .public_rows = Line({0, 1}), .private_rows = Line(labels), .test_rows = Line({0, 1})};
  OpenSslRandom noise;
  constexpr int kTimes = 4000;
  double squares = 0, sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    PublicRandom unused(1);
    ASSERT_OK_AND_ASSIGN(const Budget epsilon, Budget::Parse("4"));
    ASSERT_OK_AND_ASSIGN(const Answers answers,
                         Phist().Fit(rows, {.epsilon = epsilon, .setting = 1}, unused, noise));
    const double share = answers.of(0)[1] - 0.5;
    sum += share;
    squares += share * share;
  }
  const double r = std::exp(-1.0), v = 2 * r / ((1 - r) * (1 - r));
  const double expected = (v + v / 4) / kDevices;
  EXPECT_NEAR(squares / kTimes / expected, 1, 0.13);  // standard error .022
  EXPECT_NEAR(sum / kTimes, 0, 6 * std::sqrt(expected / kTimes));
}

TEST(PrivateHistogramTest, RefusesGridsThatNoDeviceCouldSend) {
  const lab::LabRows rows = {
      .public_rows = Line({0, 1}), .private_rows = Line({0, 1}), .test_rows = Line({0, 1})};
  EXPECT_THAT(FitOnce(Phist(), rows, "1", 65),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("splits")));
  EXPECT_THAT(FitOnce(Phist(), rows, "1", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("splits")));
}

}  // namespace
}  // namespace coppice::research
