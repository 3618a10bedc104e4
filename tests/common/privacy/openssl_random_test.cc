#include "common/privacy/openssl_random.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinomialPlan;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

TEST(OpenSslRandomTest, UniformStaysBelowItsBound) {
  OpenSslRandom random;
  for (const uint64_t bound : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1000},
                               (uint64_t{1} << 63) + 1, ~uint64_t{0}}) {
    for (int i = 0; i < 100; ++i) EXPECT_LT(*random.UniformBelow(bound), bound);
  }
  EXPECT_THAT(random.UniformBelow(0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("positive")));
}

// False alarm < 6e-9 in all. Power: a value that is 3 % too frequent escapes with probability <
// 1e-9.
TEST(OpenSslRandomStatTest, UniformIsUniform) {
  OpenSslRandom random;
  const BinomialPlan plan{.p = 1.0 / 6, .trials = 600'000};
  std::array<uint64_t, 6> seen{};
  for (uint64_t i = 0; i < plan.trials; ++i) ++seen[*random.UniformBelow(6)];
  for (const uint64_t count : seen) EXPECT_TRUE(plan.Accepts(count)) << count;
}

TEST(OpenSslRandomStatTest, PlanRefusesAModulo) {
  OpenSslRandom random;
  const BinomialPlan plan{.p = 1.0 / 6, .trials = 600'000};
  uint64_t zeros = 0;
  for (uint64_t i = 0; i < plan.trials; ++i) zeros += *random.UniformBelow(16) % 6 == 0 ? 1 : 0;
  EXPECT_FALSE(plan.Accepts(zeros));  // 3/16 instead of 1/6
}

// False alarm < 3e-9. Power: an error of 0.01 escapes with probability < 1e-9.
TEST(OpenSslRandomStatTest, BernoulliHasItsProbability) {
  OpenSslRandom random;
  for (const auto& [a, b] : {std::pair{1, 3}, {999, 1000}, {1, 1000}}) {
    const BinomialPlan plan{.p = static_cast<double>(a) / b, .trials = 300'000};
    uint64_t successes = 0;
    for (uint64_t i = 0; i < plan.trials; ++i) successes += *random.Bernoulli(a, b) ? 1 : 0;
    EXPECT_TRUE(plan.Accepts(successes)) << a << "/" << b;
  }
  EXPECT_TRUE(*random.Bernoulli(5, 5));
  EXPECT_FALSE(*random.Bernoulli(0, 5));
  EXPECT_THAT(random.Bernoulli(2, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("probability")));
  EXPECT_THAT(random.Bernoulli(0, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("probability")));
}

// False alarm < 4e-9. Small and large numbers of trials take different paths; both are counted.
TEST(OpenSslRandomStatTest, BinomialHasItsProbability) {
  OpenSslRandom random;
  for (const uint32_t numerator : {0x45d12f3au, 0x80000000u}) {
    for (const uint64_t trials_at_once : {3u, 10'000u}) {
      const BinomialPlan plan{.p = std::ldexp(numerator, -32), .trials = 1'200'000};
      uint64_t successes = 0;
      for (uint64_t i = 0; i < plan.trials; i += trials_at_once) {
        successes += *random.Binomial(trials_at_once, numerator);
      }
      EXPECT_TRUE(plan.Accepts(successes)) << numerator << " " << trials_at_once;
    }
  }
  EXPECT_EQ(*random.Binomial(0, 5), 0u);
  EXPECT_EQ(*random.Binomial(1000, 0), 0u);
}

// Checks the variance, as counts that are right on average may have the wrong law. The sum of
// squared deviations of m binomials has mean m n p q and standard deviation about m^(1/2) n p q
// sqrt(2); 7 standard deviations: false alarm < 1e-9 (a sum of m = 20,000 terms is near normal).
TEST(OpenSslRandomStatTest, BinomialHasItsVariance) {
  OpenSslRandom random;
  constexpr int kDraws = 20'000;
  constexpr double kTrials = 500;
  constexpr double kP = 0.25;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double deviation = static_cast<double>(*random.Binomial(500, 0x40000000u)) - kTrials * kP;
    squares += deviation * deviation;
  }
  const double variance = kTrials * kP * (1 - kP);
  EXPECT_NEAR(squares / kDraws / variance, 1, 7 * std::sqrt(2.0 / kDraws));
}

// False alarm < 2e-8: twenty plans. geometric_table_test checks the table's law exactly; this ties
// the buffered draw to it.
TEST(OpenSslRandomStatTest, GeometricHasItsLaw) {
  OpenSslRandom random;
  for (const uint32_t numerator : {0xc75f7cf6u, 0xfeb851ecu}) {
    const GeometricTable table = *GeometricTable::Create(numerator);
    std::vector<SignedSteps> draws(500'000);
    ASSERT_OK(random.Geometric(table, absl::MakeSpan(draws)));
    uint64_t negative = 0;
    std::array<uint64_t, 10> at_least{};
    for (const SignedSteps draw : draws) {
      negative += IsNegative(draw) ? 1 : 0;
      for (uint32_t i = 1; i < at_least.size(); ++i) at_least[i] += StepsOf(draw) >= i ? 1 : 0;
    }
    EXPECT_TRUE((BinomialPlan{.p = 0.5, .trials = draws.size()}.Accepts(negative)));
    for (uint32_t i = 1; i < at_least.size(); ++i) {
      const BinomialPlan plan{.p = std::pow(std::ldexp(numerator, -32), i), .trials = draws.size()};
      EXPECT_TRUE(plan.Accepts(at_least[i])) << numerator << " " << i;
    }
  }
}

TEST(OpenSslRandomStatTest, PlanRefusesARatioOffByOnePercent) {
  OpenSslRandom random;
  const GeometricTable table = *GeometricTable::Create(0xc75f7cf6u);
  std::vector<SignedSteps> draws(500'000);
  ASSERT_OK(random.Geometric(table, absl::MakeSpan(draws)));
  uint64_t positive_steps = 0;
  for (const SignedSteps draw : draws) positive_steps += StepsOf(draw) >= 1 ? 1 : 0;
  const BinomialPlan plan{.p = 0.99 * std::ldexp(0xc75f7cf6u, -32), .trials = draws.size()};
  EXPECT_FALSE(plan.Accepts(positive_steps));
}

TEST(OpenSslRandomTest, AChildDoesNotRepeatItsParent) {
  OpenSslRandom random;
  ASSERT_OK(random.UniformBelow(~uint64_t{0}));  // fills the buffer before the fork
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  std::fflush(nullptr);  // or the child prints the buffered output again
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const StatusOr<uint64_t> drawn = random.UniformBelow(~uint64_t{0});
    const uint64_t value = drawn.ok() ? *drawn : 0;
    const bool sent = write(pipe_ends[1], &value, sizeof(value)) == sizeof(value);
    std::exit(sent ? 0 : 1);  // not _exit(): a coverage build writes its counts on the way out
  }
  uint64_t of_child = 0;
  ASSERT_EQ(read(pipe_ends[0], &of_child, sizeof(of_child)),
            static_cast<ssize_t>(sizeof(of_child)));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  // A repeat would be among the parent's next draws. By chance: probability below 2^-50.
  for (int i = 0; i < 4000; ++i) EXPECT_NE(*random.UniformBelow(~uint64_t{0}), of_child);
}

}  // namespace
}  // namespace coppice
