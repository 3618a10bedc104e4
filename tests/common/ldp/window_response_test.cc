#include "common/ldp/window_response.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/mechanisms.h"
#include "tests/support/scripted_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ExpectEveryFailurePassedOn;
using ::coppice::testing::ScriptedRandom;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Domain kOneLeaf{.leaves = 1, .classes = 2};

std::unique_ptr<LocalMechanism> MakeWindow(const char* epsilon,
                                           std::optional<Window> window = std::nullopt) {
  return *MakeWindowResponse(*Budget::Parse(epsilon),
                             {.leaves = 1, .classes = 2, .window = window});
}

std::string Payload(uint32_t symbol) { return {static_cast<char>(symbol)}; }

TEST(WindowResponseTest, TakesOneLeafAndTwoEnds) {
  for (const Domain domain : {Domain{2, 2}, Domain{1, 3}}) {
    EXPECT_THAT(
        MakeLocalMechanism(MechanismKind::kWindowResponse, *Budget::Parse("1"), domain),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("takes 1 leaf and 2 classes, not")));
  }
}

TEST(WindowResponseTest, RefusesWindowsThatAreNone) {
  for (const Window window :
       {Window{0, 0}, Window{64, 3}, Window{5, 5}, Window{5, ~0u}, Window{~0u, 0}}) {
    EXPECT_THAT(
        MakeWindowResponse(*Budget::Parse("1"), {.leaves = 1, .classes = 2, .window = window}),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("window: reach must be 1 to 63")));
  }
  for (const Window window : {Window{1, 0}, Window{63, 62}, Window{63, 0}}) {
    EXPECT_EQ(MakeWindow("1", window)->window(), window);
  }
}

TEST(WindowResponseTest, APayloadIsOneByte) {
  const auto mechanism = MakeWindow("2", Window{5, 2});
  EXPECT_EQ(mechanism->payload_bytes(), 1u);
  EXPECT_EQ(mechanism->sum_size(), 1u);
  EXPECT_EQ(mechanism->columns(), 1u);
  EXPECT_OK(mechanism->Check(Payload(0)));
  EXPECT_OK(mechanism->Check(Payload(10)));
  EXPECT_THAT(mechanism->Check(Payload(11)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  for (const std::string& bad : {std::string(), Payload(1) + Payload(1)}) {
    EXPECT_THAT(mechanism->Check(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("one byte")));
  }
}

// The least of (keep (1 - keep) J^2 / 4 + keep / 6 + u) / (keep J)^2, computed in another program,
// and the variances of docs/research/mechanisms.md.
TEST(WindowResponseTest, TakesTheWindowThatSuitsTheEpsilon) {
  struct Expected {
    const char* epsilon;
    Window window;
    double middle, half_way, end;
  };
  for (const auto& [epsilon, window, middle, half_way, end] :
       std::vector<Expected>{{"0.01", {63, 31}, 53133.8, 53184, 53334.4},
                             {"0.25", {5, 2}, 77.2135, 79.3929, 84.9593},
                             {"0.5", {3, 1}, 17.3001, 18.1993, 20.8969},
                             {"1", {8, 3}, 3.66069, 4.03817, 5.07406},
                             {"2", {53, 17}, 0.637129, 0.756754, 1.11563},
                             {"4", {62, 12}, 0.0758564, 0.0991781, 0.169143},
                             {"8", {56, 3}, 0.00349474, 0.00493851, 0.00891189},
                             {"16", {63, 0}, 4.83968e-06, 7.14017e-05, 1.91316e-05}}) {
    const Budget budget = *Budget::Parse(epsilon);
    EXPECT_EQ(BestWindow(budget), window) << epsilon;
    const auto mechanism = MakeWindow(epsilon);
    EXPECT_EQ(mechanism->window(), window);
    EXPECT_NEAR(mechanism->MarginVariance(0.5), middle, 1e-5 * middle) << epsilon;
    EXPECT_NEAR(mechanism->MarginVariance(0.75), half_way, 1e-5 * half_way) << epsilon;
    EXPECT_NEAR(mechanism->MarginVariance(1), end, 1e-5 * end) << epsilon;
  }
}

TEST(WindowResponseTest, BothDrawsAreMadeWhicheverIsSent) {
  const auto mechanism = MakeWindow("1", Window{5, 2});
  std::string payload;
  // The coins are the rounding, 0 of 2^53, and whether the window is kept.
  for (const auto& [coin, symbol] : {std::pair<uint64_t, uint32_t>{1, 3 + 4}, {0, 9}}) {
    ScriptedRandom random({0, coin, 4, 9, 123});
    ASSERT_OK(mechanism->RandomizeNumber({.leaf = 0, .place = 0.5}, 0, random, payload));
    EXPECT_EQ(payload, Payload(symbol));
    EXPECT_EQ(*random.UniformBelow(1000), 123u) << "all others are used up";
  }
}

TEST(WindowResponseTest, ANumberBetweenTwoPointsBecomesEither) {
  const auto mechanism = MakeWindow("1", Window{5, 2});  // seven points
  std::string payload;
  for (const auto& [up, symbol] : {std::pair<uint64_t, uint32_t>{0, 2}, {1, 3}}) {
    ScriptedRandom random({up, 1, 0, 10});
    ASSERT_OK(mechanism->RandomizeNumber({.leaf = 0, .place = 0.4}, 0, random, payload));
    EXPECT_EQ(payload, Payload(symbol));
  }
}

TEST(WindowResponseTest, EveryFailureOfTheSourceIsPassedOn) {
  const auto mechanism = MakeWindow("1", Window{5, 2});
  ExpectEveryFailurePassedOn(
      {0, 1, 4, 9}, Payload(5), [&](PrivateRandom& random) -> StatusOr<std::string> {
        std::string payload = "old";
        const Status status =
            mechanism->RandomizeNumber({.leaf = 0, .place = 0.3}, 0, random, payload);
        if (status.ok()) return payload;
        EXPECT_TRUE(payload.empty());
        return status;
      });
}

TEST(WindowResponseTest, NumbersOutsideTheRangeAreRefused) {
  const auto mechanism = MakeWindow("1");
  ScriptedRandom random({});
  std::string payload = "old";
  for (const double place : {-0x1p-40, 1 + 0x1p-40, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_THAT(mechanism->RandomizeNumber({.leaf = 0, .place = place}, 0, random, payload),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("outside")));
    EXPECT_TRUE(payload.empty());
  }
  EXPECT_THAT(mechanism->RandomizeNumber({.leaf = 1, .place = 0}, 0, random, payload),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("outside")));
  EXPECT_THAT(mechanism->RandomizeNumber({.leaf = 0, .place = 0}, 1, random, payload),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no column")));
}

// For windows of every kind, from the law: sums to one, means, variances.
class WindowLawTest : public ::testing::TestWithParam<std::tuple<const char*, Window>> {
 protected:
  const std::unique_ptr<LocalMechanism> mechanism_ =
      MakeWindow(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const uint32_t symbols_ = 2 * mechanism_->window()->reach + 1;
  const uint32_t steps_ = 2 * (mechanism_->window()->reach - mechanism_->window()->half_width);

  double MarginOf(uint32_t symbol) const {
    std::vector<int64_t> sums(1);
    EXPECT_OK(mechanism_->Add(Payload(symbol), 0, absl::MakeSpan(sums)));
    const LeafCounts counts = mechanism_->Estimate(sums, 1);
    EXPECT_EQ(counts.leaf, std::vector<double>{1});
    EXPECT_NEAR(counts.at(0, 0) + counts.at(0, 1), 1, 1e-9);
    return counts.at(0, 1) - counts.at(0, 0);
  }

  std::vector<double> LawOf(double place) const {
    std::vector<double> law;
    for (uint32_t symbol = 0; symbol < symbols_; ++symbol) {
      law.push_back(
          *mechanism_->NumberProbability({.leaf = 0, .place = place}, 0, Payload(symbol)));
    }
    return law;
  }

  // All points, and numbers between them.
  std::vector<double> Places() const {
    std::vector<double> places = {0x1p-53, 1.0 / 3, 0.123, 1 - 0x1p-53};
    for (uint32_t step = 0; step <= steps_; ++step) {
      places.push_back(static_cast<double>(step) / steps_);
    }
    return places;
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, WindowLawTest,
    ::testing::Combine(::testing::Values("0.01", "0.5", "1", "2", "4", "9", "20"),
                       ::testing::Values(Window{1, 0}, Window{3, 1}, Window{8, 3}, Window{9, 8},
                                         Window{53, 17}, Window{63, 0}, Window{63, 62})));

TEST_P(WindowLawTest, EstimatesAreUnbiasedWithTheStatedVariance) {
  for (const double place : Places()) {
    const std::vector<double> law = LawOf(place);
    double total = 0, mean = 0, square = 0;
    for (uint32_t symbol = 0; symbol < symbols_; ++symbol) {
      const double margin = MarginOf(symbol);
      total += law[symbol];
      mean += law[symbol] * margin;
      square += law[symbol] * margin * margin;
    }
    const double stated = mechanism_->MarginVariance(place);
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(mean, 2 * place - 1, 1e-9 * std::sqrt(stated + 1));
    EXPECT_NEAR(square - mean * mean, stated, 1e-9 * (stated + 1));
  }
}

TEST_P(WindowLawTest, NoTwoNumbersAreToldApartByMoreThanEpsilon) {
  std::vector<double> least(symbols_, 1), most(symbols_, 0);
  for (const double place : Places()) {
    const std::vector<double> law = LawOf(place);
    for (uint32_t symbol = 0; symbol < symbols_; ++symbol) {
      least[symbol] = std::min(least[symbol], law[symbol]);
      most[symbol] = std::max(most[symbol], law[symbol]);
    }
  }
  double worst = 0;
  for (uint32_t symbol = 0; symbol < symbols_; ++symbol) {
    worst = std::max(worst, std::log(most[symbol] / least[symbol]));
  }
  const double epsilon = mechanism_->epsilon().epsilon();
  EXPECT_LE(worst, epsilon + 1e-9);
  EXPECT_GE(worst, epsilon * 0.99);
}

// The `a` of docs/research/mechanisms.md#amplification, from the whole law of all points.
TEST_P(WindowLawTest, TwoSidedMassCoversAllNumbersAndIsReached) {
  const double e = std::exp(mechanism_->epsilon().epsilon());
  std::vector<std::vector<double>> laws;
  for (const double place : Places()) laws.push_back(LawOf(place));
  std::vector<double> blanket = laws[0];
  for (const std::vector<double>& law : laws) {
    for (uint32_t y = 0; y < symbols_; ++y) blanket[y] = std::min(blanket[y], law[y]);
  }
  double worst = 0;
  for (const std::vector<double>& first : laws) {
    for (const std::vector<double>& second : laws) {
      double sum = 0;
      for (uint32_t y = 0; y < symbols_; ++y) {
        sum += (first[y] - blanket[y]) * (e - second[y] / blanket[y]);
      }
      worst = std::max(worst, sum / ((e - 1) * (e - 1)));
    }
  }
  EXPECT_LE(worst, mechanism_->TwoSidedMass() * (1 + 1e-9));
  EXPECT_GE(worst, mechanism_->TwoSidedMass() * 0.999);
  EXPECT_LE(mechanism_->TwoSidedMass(), MaxTwoSidedMass(mechanism_->epsilon()));
}

// What docs/research/mechanisms.md#break-downs uses: a number inside the range has at most the
// variance of one at an end, and as much more as it lies from its nearer end.
TEST_P(WindowLawTest, NoNumberHasMoreVarianceThanBreakDownsAllowFor) {
  for (double place = 0; place <= 1; place += 0x1p-10) {
    EXPECT_LE(mechanism_->MarginVariance(place) / 4,
              mechanism_->Variance(1).label + std::min(place, 1 - place) + 1e-12)
        << place;
  }
}

TEST_P(WindowLawTest, InfluenceIsTheMostThatAReportAdds) {
  const Influence influence = mechanism_->MaxInfluence();
  double count = 0, total = 0;
  for (uint32_t symbol = 0; symbol < symbols_; ++symbol) {
    const double margin = MarginOf(symbol);
    count = std::max({count, std::abs(1 - margin) / 2, std::abs(1 + margin) / 2});
    total = std::max(total, std::abs(1 - margin) / 2 + std::abs(1 + margin) / 2);
  }
  EXPECT_NEAR(influence.count, count, 1e-9 * count);
  EXPECT_NEAR(influence.total, total, 1e-9 * total);
}

// What every other mechanism does with a number: it rounds to an end.
TEST(MarginVarianceTest, IsThatOfAnEndDrawnAtRandom) {
  for (const MechanismKind kind :
       {MechanismKind::kDirect, MechanismKind::kSignedHadamard, MechanismKind::kSubsetSelection,
        MechanismKind::kOptimizedUnary}) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("2"), kOneLeaf);
    for (const double place : {0.0, 0.2, 0.5, 0.75, 1.0}) {
      double total = 0, mean = 0, square = 0;
      for (uint32_t symbol = 0; symbol < 4; ++symbol) {
        if (!mechanism->Check(Payload(symbol)).ok()) continue;
        std::vector<int64_t> sums(mechanism->sum_size());
        ASSERT_OK(mechanism->Add(Payload(symbol), 0, absl::MakeSpan(sums)));
        const LeafCounts counts = mechanism->Estimate(sums, 1);
        const double margin = counts.at(0, 1) - counts.at(0, 0);
        const double p =
            *mechanism->NumberProbability({.leaf = 0, .place = place}, 0, Payload(symbol));
        total += p;
        mean += p * margin;
        square += p * margin * margin;
      }
      EXPECT_NEAR(total, 1, 1e-9) << MechanismName(kind);
      EXPECT_NEAR(mean, 2 * place - 1, 1e-6) << MechanismName(kind);
      EXPECT_NEAR(square - mean * mean, mechanism->MarginVariance(place), 1e-6)
          << MechanismName(kind) << " " << place;
    }
  }
}

TEST(MarginVarianceTest, ANumberNeedsTwoEnds) {
  const auto mechanism = *MakeLocalMechanism(MechanismKind::kDirect, *Budget::Parse("1"), {1, 3});
  ScriptedRandom random({});
  std::string payload;
  EXPECT_THAT(mechanism->RandomizeNumber({.leaf = 0, .place = 0.5}, 0, random, payload),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("two ends")));
}

}  // namespace
}  // namespace coppice
