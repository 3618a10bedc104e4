// Compares the bound of shuffling with sums that use none of its recurrences, and with a table that
// another program computed from library tails (amplification_reference.csv).

#include "common/ldp/amplification.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/delta.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

Budget Epsilon(const std::string& text) { return *Budget::Parse(text); }

// (1/n) E max(0, S), adding one report after the other and keeping every sum.
double ByConvolution(uint64_t n, double local, double mass, double epsilon) {
  const long double x = std::exp(static_cast<long double>(epsilon));
  const long double e = std::exp(static_cast<long double>(local));
  const long double gain = e - x;
  const long double loss = e * x - 1;
  const long double minus = (mass * gain + x - 1) / loss;
  // law[p][m]: p gains and m losses.
  std::vector<std::vector<long double>> law(n + 1, std::vector<long double>(n + 1, 0));
  law[0][0] = 1;
  for (uint64_t i = 0; i < n; ++i) {
    for (uint64_t p = i + 2; p-- > 0;) {
      for (uint64_t m = i + 2 - p; m-- > 0;) {
        law[p][m] = law[p][m] * (1 - mass - minus) + (p > 0 ? law[p - 1][m] * mass : 0) +
                    (m > 0 ? law[p][m - 1] * minus : 0);
      }
    }
  }
  long double sum = 0;
  for (uint64_t p = 0; p <= n; ++p) {
    for (uint64_t m = 0; m + p <= n; ++m) {
      sum += law[p][m] * std::max(0.0L, p * gain - m * loss);
    }
  }
  return static_cast<double>(sum / n);
}

TEST(DeltaBoundTest, AgreesWithConvolutionFromAbove) {
  for (const uint64_t n : {1, 2, 3, 12, 40, 150}) {
    for (const char* local : {"0.01", "0.5", "2", "4", "9"}) {
      for (const double share : {0.0, 0.01, 0.1, 0.3, 0.7, 0.99, 0.999999}) {
        for (const double part : {1.0, 0.5, 0.01}) {
          const double mass = part * MaxTwoSidedMass(Epsilon(local));
          const auto nanos = static_cast<uint64_t>(share * Epsilon(local).nanos());
          const double delta = *DeltaBound({n, Epsilon(local), mass}, nanos);
          const uint64_t computed_at = nanos > 0 ? nanos - 1 : 0;
          const double exact = ByConvolution(n, Epsilon(local).epsilon(), mass, computed_at * 1e-9);
          SCOPED_TRACE(StrCat(n, " ", local, " ", share, " ", part));
          EXPECT_GE(delta, exact * (1 - 1e-12));
          // Allows for the slack of both terms of a difference, and the law outside the windows.
          EXPECT_LE(delta, exact * (1 + 1e-4) + 1e-24);
        }
      }
    }
  }
}

TEST(DeltaBoundTest, LemmaTwoForOneReportIsTheGainTimesItsMass) {
  const double gain = std::exp(2.0) - std::exp(0.5);
  const double delta = *DeltaBound({1, Epsilon("2"), 0.1}, 500'000'000);
  EXPECT_NEAR(delta, 0.1 * gain, 1e-7);
  EXPECT_EQ(*DeltaBound({1, Epsilon("2"), 0.1}, 2'000'000'000), 0) << "every report is 2-LDP";
}

TEST(DeltaBoundTest, AMassAboveTheGenericOneCountsAsThat) {
  const Budget local = Epsilon("1");
  EXPECT_EQ(*DeltaBound({1000, local, 1}, 100'000'000),
            *DeltaBound({1000, local, MaxTwoSidedMass(local)}, 100'000'000));
}

struct ReferenceColumn {
  size_t column = 0;
  std::function<double(double)> mass;  // as a function of e^epsilon
};

double SubsetOf64(double e) {
  const double w = std::max(1.0, std::floor(64 / (e + 1) + 0.5));
  return w * (64 - w) / (63 * (e * w + 64 - w));
}

TEST(EpsilonBoundTest, NeverBelowTheReferenceAndHardlyAbove) {
  const char* source = std::getenv("COPPICE_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "run by ctest";
  std::ifstream file(StrCat(source, "/tests/common/ldp/amplification_reference.csv"));
  const std::vector<ReferenceColumn> columns = {
      {3, [](double e) { return 1 / (e + 1); }},
      {4, [](double e) { return 1 / (e + 7); }},
      {5, &SubsetOf64},
      {6, [](double e) { return 1 / (2 * (e + 1)); }},
      {7, [](double e) { return std::pow(std::sqrt(e) + 1, -2); }}};
  std::string line;
  ASSERT_TRUE(std::getline(file, line)) << "no header";
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    SCOPED_TRACE(line);
    const std::vector<std::string> fields = StrSplit(line, ',');
    ASSERT_EQ(fields.size(), 8);
    uint64_t n = 0;
    ASSERT_TRUE(SimpleAtoi(fields[0], &n));
    const Budget local = Epsilon(fields[1]);
    const uint64_t delta = *ParseDelta(fields[2]);
    const double e = std::exp(local.epsilon());
    for (const ReferenceColumn& column : columns) {
      double reference = 0;
      ASSERT_TRUE(SimpleAtod(fields[column.column], &reference));
      const ShuffledReports reports = {n, local, column.mass(e)};
      EXPECT_LE(EpsilonBound(reports, delta)->epsilon(), reference * (1 + 1e-5));
      // The reference adds e 1e-17 to its own delta, and has nine digits.
      const auto nanos = static_cast<uint64_t>(std::llround(reference * 1e9));
      if (nanos == local.nanos()) {
        EXPECT_EQ(EpsilonBound(reports, delta)->nanos(), nanos);
      } else {
        EXPECT_GE(*DeltaBound(reports, nanos), delta * 1e-18 - e * 1e-17);
      }
    }
  }
  EXPECT_EQ(rows, 60);
}

TEST(EpsilonBoundTest, IsTheLeastThatDeltaBoundVouchesFor) {
  const ShuffledReports reports = {100'000, Epsilon("4"), 1};
  const uint64_t nanos = EpsilonBound(reports, *ParseDelta("1e-6"))->nanos();
  EXPECT_LE(*DeltaBound(reports, nanos), 1e-6);
  // EpsilonBound() leaves out slightly more rare cases: a few nano-epsilons.
  EXPECT_GT(*DeltaBound(reports, nanos - 5), 1e-6);
}

TEST(EpsilonBoundTest, OneReportHasItsLocalEpsilonButForTheDelta) {
  EXPECT_EQ(*EpsilonBound({1, Epsilon("3"), 1}, 1), Epsilon("3"));
  // One report's delta is the gain times its mass: (E - x) / (E + 1).
  const double e = std::exp(3.0);
  const double epsilon = std::log(e - 1e-2 * (e + 1));
  EXPECT_NEAR(EpsilonBound({1, Epsilon("3"), 1}, *ParseDelta("1e-2"))->epsilon(), epsilon, 1e-7);
}

TEST(EpsilonBoundTest, FallsWithReportsAndDelta) {
  const Budget local = Epsilon("2");
  uint64_t last = local.nanos() + 1;
  for (uint64_t n = 1; n < kMaxShuffledReports / 8; n *= 3) {
    const uint64_t nanos = EpsilonBound({n, local, 1}, *ParseDelta("1e-8"))->nanos();
    EXPECT_LE(nanos, last) << n;
    EXPECT_GE(nanos, EpsilonBound({n, local, 1}, *ParseDelta("1e-6"))->nanos()) << n;
    last = nanos;
  }
  EXPECT_LT(last, local.nanos() / 1000);
}

TEST(AmplificationTest, RefusesWhatIsNotComputed) {
  const Budget local = Epsilon("2");
  const auto is_refused = [](const char* why) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_THAT(DeltaBound({0, local, 1}, 1), is_refused("honest reports, not 0"));
  EXPECT_THAT(DeltaBound({kMaxShuffledReports + 1, local, 1}, 1), is_refused("honest reports"));
  EXPECT_THAT(DeltaBound({10, Epsilon("20.000000001"), 1}, 1), is_refused("up to a local epsilon"));
  EXPECT_THAT(DeltaBound({10, local, 0}, 1), is_refused("positive"));
  EXPECT_THAT(DeltaBound({10, local, std::nan("")}, 1), is_refused("positive"));
  EXPECT_THAT(EpsilonBound({10, local, 1}, 0), is_refused("delta"));
  EXPECT_THAT(EpsilonBound({10, local, 1}, kDeltaOne), is_refused("delta"));
  EXPECT_THAT(EpsilonBound({0, local, 1}, 1), is_refused("honest reports"));
}

TEST(PromisedEpsilonTest, IsTheBoundWhereThatGainsAHundredth) {
  const uint64_t delta = *ParseDelta("1e-8");
  bool promised = true;
  for (const char* text : {"1", "2", "4", "4.05", "4.1", "4.15", "4.2", "4.5", "12"}) {
    const Budget local = Epsilon(text);
    const ShuffledReports reports{900, local, MaxTwoSidedMass(local)};
    const uint64_t bound = EpsilonBound(reports, delta)->nanos();
    const bool gains = bound * 100 <= local.nanos() * 99;
    EXPECT_EQ(PromisedEpsilon(reports, delta)->nanos(), gains ? bound : local.nanos()) << text;
    EXPECT_TRUE(promised || !gains) << text;
    promised = gains;
  }
  EXPECT_FALSE(promised);
  EXPECT_THAT(PromisedEpsilon({0, Epsilon("1"), 1}, delta),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
}

TEST(LargestLocalEpsilonTest, IsTheLastThatStaysBelow) {
  const uint64_t delta = *ParseDelta("1e-8");
  const auto mass = [](const Budget& local) { return MaxTwoSidedMass(local); };
  for (const uint64_t n : {1'000, 100'000, 10'000'000}) {
    ASSERT_OK_AND_ASSIGN(const Budget local, LargestLocalEpsilon(n, Epsilon("1"), delta, mass));
    EXPECT_LE(*EpsilonBound({n, local, mass(local)}, delta), Epsilon("1"));
    const Budget more = *Budget::FromNanos(local.nanos() + 2000);
    EXPECT_GT(*EpsilonBound({n, more, mass(more)}, delta), Epsilon("1"));
  }
  EXPECT_EQ(*LargestLocalEpsilon(1, Epsilon("1.123456789"), delta, mass), Epsilon("1.123456789"));
  EXPECT_EQ(*LargestLocalEpsilon(kMaxShuffledReports, Epsilon("1"), *ParseDelta("0.9"), mass),
            Epsilon("20"));
  EXPECT_THAT(LargestLocalEpsilon(0, Epsilon("1"), delta, mass),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("honest reports")));
}

TEST(HonestReportsTest, TheDishonestShareIsRoundedUp) {
  EXPECT_EQ(HonestReports(100'000, kDefaultDishonestMillionths), 90'000);
  EXPECT_EQ(HonestReports(100'001, kDefaultDishonestMillionths), 90'000);
  EXPECT_EQ(HonestReports(7, 0), 7);
  EXPECT_EQ(HonestReports(7, 1), 6);
  EXPECT_EQ(HonestReports(7, 1'000'000), 0);
  EXPECT_EQ(HonestReports(0, 1), 0);
  EXPECT_EQ(HonestReports(~uint64_t{0}, 1'000'000), 0);
}

TEST(DefaultShuffleDeltaTest, IsFarBelowOneInTheReports) {
  EXPECT_EQ(DefaultShuffleDelta(0), *ParseDelta("1e-8"));
  EXPECT_EQ(DefaultShuffleDelta(10'000'000), *ParseDelta("1e-8"));
  EXPECT_EQ(DefaultShuffleDelta(100'000'000), *ParseDelta("1e-9"));
}

}  // namespace
}  // namespace coppice
