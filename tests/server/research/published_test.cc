// The three methods whose papers claim more than this project can state: that they are what was
// published, noise included.

#include <array>
#include <cmath>
#include <numeric>

#include "common/base/status.h"
#include "server/research/method.h"
#include "server/research/one_hot.h"
#include "server/research/rademacher.h"
#include "server/trainers/core/ensemble.h"
#include "tests/server/research/small_rows.h"
#include "tests/support/status_matchers.h"

namespace coppice::research {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// A line of class 1 right of its middle: enough rows that each of 250 teachers sees both sides.
lab::LabRows Halves(size_t rows = 8000) {
  std::vector<uint32_t> labels(rows, 0), asked(400, 0);
  std::fill(labels.begin() + static_cast<std::ptrdiff_t>(rows / 2), labels.end(), 1);
  return {.public_rows = Line(std::vector<uint32_t>(600, 0)),
          .private_rows = Line(labels),
          .test_rows = Line(asked)};
}

// Rows of one colour with these labels; half of two colours are no level, so a tree is a leaf.
std::shared_ptr<const Table> OneColour(const std::vector<uint32_t>& labels) {
  Table table(Colours({})->shared_schema());
  for (const uint32_t label : labels) table.Append(std::array<double, 1>{0}, label);
  return std::make_shared<const Table>(std::move(table));
}

double MeanOfOnes(const Answers& answers, size_t begin, size_t end) {
  double sum = 0;
  for (size_t row = begin; row < end; ++row) sum += answers.of(row)[1];
  return sum / static_cast<double>(end - begin);
}

TEST(PublishedTest, EachLearnsWhereAStepLies) {
  for (const Method* method : {&Srt(), &DpLr(), &DpBag()}) {
    const double setting = method == &Srt() ? 100 : method->info().default_setting;
    ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(*method, Halves(), "1000", setting));
    EXPECT_GT(MeanOfOnes(answers, 250, 400), MeanOfOnes(answers, 0, 150) + 0.3)
        << method->info().name;
  }
}

TEST(PublishedTest, EachSaysThatNoGuaranteeIsStatedAndWhy) {
  for (const Method* method : AllMethods()) {
    EXPECT_EQ(method->info().guarantee == kAsPublished, !method->info().reason.empty());
  }
  for (const Method* method : {&Srt(), &DpLr(), &DpBag()}) {
    EXPECT_EQ(method->info().guarantee, kAsPublished);
    EXPECT_THAT(method->info().protects, HasSubstr("its authors say"));
  }
}

// With one row the gap is 1, so the odds of its class are exp(epsilon / 2 * exp(epsilon)): .602 at
// one half. Without the smooth scale it would be .562, with epsilon in place of its half .695.
TEST(SmoothTreesTest, ALeafAnswersItsLargestClassWithThePublishedOdds) {
  constexpr int kTimes = 10'000;
  const lab::LabRows rows = {
      .public_rows = OneColour({0}), .private_rows = OneColour({1}), .test_rows = OneColour({0})};
  double ones = 0;
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(Srt(), rows, "0.5", 1));
    ones += answers.of(0)[1];
  }
  const double odds = std::exp(0.25 * std::exp(0.5));
  // Standard error .0049: it fails by chance once in three million.
  EXPECT_NEAR(ones / kTimes, odds / (1 + odds), 0.025);
}

TEST(SmoothTreesTest, ALeafWithoutRowsAnswersAnyClass) {
  constexpr int kTimes = 10'000;
  // Ten trees and one row: nine of them have none.
  const lab::LabRows rows = {
      .public_rows = OneColour({0}), .private_rows = OneColour({1}), .test_rows = OneColour({0})};
  double ones = 0;
  for (int i = 0; i < kTimes / 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(Srt(), rows, "1000", 10));
    ones += answers.of(0)[1];
  }
  // Of 10,000 votes nine tenths are coins: standard error .0047.
  EXPECT_NEAR(10 * ones / kTimes, 0.55, 0.025);
}

// A penalty so large that the answer is the random term: the logit of a row of length 1 has the
// deviation sqrt(d + 1) * 2 / (epsilon' n penalty), with d = 5 bins.
TEST(ObjectivePerturbationTest, TheRandomTermHasThePublishedLength) {
  constexpr double kTimes = 2000, kPenalty = 10, kRows = 50, kEpsilon = 0.1;
  std::vector<uint32_t> labels(50);
  for (size_t i = 0; i < 50; ++i) labels[i] = i % 2;
  const lab::LabRows rows = {.public_rows = OneColour({0}),
                             .private_rows = OneColour(labels),
                             .test_rows = OneColour({0})};
  double sum = 0, squares = 0;
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(DpLr(), rows, "0.1", kPenalty));
    const double logit = std::log(answers.of(0)[1] / answers.of(0)[0]);
    sum += logit;
    squares += logit * logit;
  }
  const double mean = sum / kTimes, variance = squares / kTimes - mean * mean;
  const double c = 0.25 / (kRows * kPenalty);
  const double deviation =
      std::sqrt(6.0) * 2 / ((kEpsilon - std::log(1 + 2 * c + c * c)) * kRows * kPenalty);
  // The variance is known to 3.9 %: its kurtosis is 4.
  EXPECT_NEAR(variance / (deviation * deviation), 1, 0.21);
}

TEST(ObjectivePerturbationTest, RaisesAPenaltyThatEpsilonCannotPayFor) {
  EXPECT_OK(FitOnce(DpLr(), Halves(), "0.01", 1e-9));
  EXPECT_THAT(FitOnce(DpLr(), Halves(), "1", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("above 0")));
}

// All teachers vote alike, so a vote costs 2 (2 / 250)^2 l (l + 1) in the l-th moment: at l = 80
// one vote and a delta of 10^-5 come to .1543.
TEST(BaggedTeachersTest, AsksAsOftenAsTheAccountAllows) {
  const lab::LabRows rows = {.public_rows = Line(std::vector<uint32_t>(20, 0)),
                             .private_rows = Line(std::vector<uint32_t>(400, 1)),
                             .test_rows = Line({0})};
  ASSERT_OK_AND_ASSIGN(const Answers none, FitOnce(DpBag(), rows, "0.154", 2));
  EXPECT_EQ(none.of(0)[1], 0.5) << "no vote";
  ASSERT_OK_AND_ASSIGN(const Answers one, FitOnce(DpBag(), rows, "0.155", 2));
  EXPECT_NE(one.of(0)[1], 0.5) << "one vote";
}

TEST(BaggedTeachersTest, RefusesMoreThanTwoClassesAndNoPartition) {
  const lab::LabRows three = {
      .public_rows = ThreeClasses(), .private_rows = ThreeClasses(), .test_rows = ThreeClasses()};
  for (const Method* method : {&DpLr(), &DpBag()}) {
    EXPECT_THAT(FitOnce(*method, three, "1", 1),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("two classes")));
  }
  EXPECT_THAT(FitOnce(DpBag(), Halves(), "1", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
  EXPECT_THAT(FitOnce(Srt(), Halves(), "1", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1024")));
  EXPECT_OK(FitOnce(Srt(), three, "1", 3));
}

// In one bin the least loss is at the classes' log-odds, less what the penalty takes.
TEST(OneHotTest, FindsTheLogOddsAndFollowsTheTilt) {
  const auto table = OneColour({1, 1, 1, 0});
  ASSERT_OK_AND_ASSIGN(const OneHotRows rows, OneHotRows::Create(*table));
  EXPECT_EQ(rows.dimension(), 5u);
  const auto all = trainers::AllRows(4);
  ASSERT_OK_AND_ASSIGN(const auto free, FitLogistic(rows, table->labels(), all, {.penalty = 1e-6}));
  EXPECT_NEAR(rows.Logit(free, 0), std::log(3), 1e-3);
  // The gradient is 0 where p - 3/4 + penalty * logit + tilt along the row = 0.
  LogisticObjective tilted{.penalty = 0.1, .tilt = std::vector<double>(5)};
  for (const uint32_t column : rows.of(0)) tilted.tilt[column] = 0.2 * rows.value();
  ASSERT_OK_AND_ASSIGN(const auto moved, FitLogistic(rows, table->labels(), all, tilted));
  const double logit = rows.Logit(moved, 0);
  EXPECT_NEAR(1 / (1 + std::exp(-logit)) - 0.75 + 0.1 * logit + 0.2, 0, 1e-5);
}

// One constant column: the largest correlation is the signs' own sum, sqrt(2 / (pi n)) on average.
TEST(RademacherTest, AConstantRuleHasTheComplexityOfTheSignsThemselves) {
  ASSERT_OK_AND_ASSIGN(const OneHotRows rows,
                       OneHotRows::Create(*OneColour(std::vector<uint32_t>(100, 0))));
  PublicRandom random(1);
  EXPECT_NEAR(OneRuleComplexity(rows, 4000, random), std::sqrt(2 / (M_PI * 100)), 0.004);
}

TEST(RademacherTest, ThePromiseFallsWithMarginsComplexityAndFewRows) {
  const std::vector<double> wide(10'000, 0.8), narrow(10'000, 0.1), few(100, 0.8);
  const MarginPromise promise = PromiseOfMargins(wide, 0.01, 0.05);
  EXPECT_NEAR(promise.theta, 0.795, 1e-9) << "the largest that no row's margin is within";
  EXPECT_NEAR(promise.accuracy, 1 - 2 * 0.01 / 0.795 - 3 * std::sqrt(std::log(40.0) / 20'000),
              1e-9);
  EXPECT_LT(PromiseOfMargins(narrow, 0.01, 0.05).accuracy, promise.accuracy);
  EXPECT_LT(PromiseOfMargins(wide, 0.1, 0.05).accuracy, promise.accuracy);
  EXPECT_LT(PromiseOfMargins(few, 0.01, 0.05).accuracy, promise.accuracy);
  EXPECT_EQ(PromiseOfMargins(narrow, 0.5, 0.05).accuracy, 0);
}

}  // namespace
}  // namespace coppice::research
