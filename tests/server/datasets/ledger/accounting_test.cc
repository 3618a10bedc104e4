#include "server/datasets/ledger/accounting.h"

#include <cmath>
#include <string_view>

#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/concentrated.h"
#include "tests/support/status_matchers.h"

namespace coppice::ledger {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kEpsilon = Budget::kNanosPerEpsilon;  // epsilon 1
constexpr uint64_t kRho = 1'000'000'000'000;             // rho 1
constexpr uint64_t kMicroDelta = 1'000'000'000'000;      // delta 1e-6

Release Of(uint64_t nanos, uint64_t times = 1, std::string part = "") {
  return {.what = "w", .mechanism = "m", .epsilon_nanos = nanos, .times = times, .part = part};
}

BudgetCap Basic(uint64_t nanos, uint64_t delta_atto = 0) {
  return {.epsilon_nanos = nanos, .delta_atto = delta_atto};
}

BudgetCap Zcdp(uint64_t nanos, uint64_t delta_atto = kMicroDelta) {
  return {.epsilon_nanos = nanos,
          .delta_atto = delta_atto,
          .composition = Composition::kZeroConcentrated};
}

TEST(NamesTest, AreReadBack) {
  for (const Neighbours neighbours : {Neighbours::kAddOrRemoveRow, Neighbours::kChangeLabel}) {
    EXPECT_EQ(*ParseNeighbours(NeighboursName(neighbours)), neighbours);
  }
  for (const Composition composition : {Composition::kBasic, Composition::kZeroConcentrated}) {
    EXPECT_EQ(*ParseComposition(CompositionName(composition)), composition);
  }
  EXPECT_EQ(NeighboursName(Neighbours::kChangeLabel), "change_label");
  EXPECT_EQ(CompositionName(Composition::kZeroConcentrated), "zcdp");
  EXPECT_THAT(ParseNeighbours("replace_row"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("add_or_remove_row")));
  EXPECT_THAT(ParseComposition("advanced"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("basic, zcdp")));
}

TEST(TextTest, IsTheExactDecimal) {
  EXPECT_EQ(EpsilonText(0), "0");
  EXPECT_EQ(EpsilonText(1), "0.000000001");
  EXPECT_EQ(EpsilonText(1'500'000'000), "1.5");
  EXPECT_EQ(EpsilonText(20'000'000'000), "20");
  EXPECT_EQ(DeltaText(kMicroDelta), "0.000001");
  EXPECT_EQ(DeltaText(UINT64_MAX), "18.446744073709551615");
  EXPECT_EQ(RhoText(24'400'000'000), "0.0244");
}

TEST(ValidateTest, TakesTheEpsilonsOfBudgetAndDeltasBelowOne) {
  const auto refused = [](std::string_view why) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(why)));
  };
  EXPECT_OK(Validate(Basic(1)));
  EXPECT_OK(Validate(Basic(Budget::kMaxNanos, kDeltaOne - 1)));
  EXPECT_THAT(Validate(Basic(0)), refused("zero"));
  EXPECT_THAT(Validate(Basic(Budget::kMaxNanos + 1)), refused("too large"));
  EXPECT_THAT(Validate(Basic(1, kDeltaOne)), refused("delta must be below 1"));
  EXPECT_OK(Validate(Zcdp(kEpsilon)));
  EXPECT_OK(Validate(Zcdp(Budget::kMaxNanos, kDeltaOne - 1)));
  EXPECT_THAT(Validate(Zcdp(kEpsilon, 0)), refused("needs a delta"));
  EXPECT_THAT(Validate(Zcdp(1, 1)), refused("no room for any release"));
}

TEST(CostOfTest, NothingCostsNothing) { EXPECT_EQ(*CostOf({}), Cost()); }

TEST(CostOfTest, RhoIsHalfTheSquareOfEpsilon) {
  EXPECT_EQ(*CostOf({Of(kEpsilon)}),
            (Cost{.epsilon_nanos = kEpsilon, .delta_atto = 0, .rho_pico = kRho / 2}));
  EXPECT_EQ(CostOf({Of(3 * kEpsilon, 2)})->rho_pico, 9 * kRho);
}

TEST(CostOfTest, DeltasAddUpAndLeaveNoRhoKnown) {
  Release with_delta = Of(kEpsilon);
  with_delta.delta_atto = 5;
  with_delta.times = 2;
  const Cost cost = *CostOf({with_delta, Of(kEpsilon)});
  EXPECT_EQ(cost.delta_atto, 10u);
  EXPECT_EQ(cost.epsilon_nanos, 3 * kEpsilon);
  EXPECT_EQ(cost.rho_pico, UINT64_MAX);
  with_delta.delta_atto = UINT64_MAX;
  EXPECT_FALSE(CostOf({with_delta}).ok());
}

TEST(CostOfTest, RhoIsRoundedUpOnceForAll) {
  EXPECT_EQ(CostOf({Of(1)})->rho_pico, 1u);
  EXPECT_EQ(CostOf({Of(1, 2'000'000)})->rho_pico, 1u);
  EXPECT_EQ(CostOf({Of(1, 2'000'001)})->rho_pico, 2u);
  EXPECT_EQ(CostOf({Of(1, 1'000'000), Of(1, 1'000'000)})->rho_pico, 1u);
  EXPECT_EQ(CostOf({Of(1, 2'000'000), Of(1, 1, "part")})->rho_pico, 2u);
}

TEST(CostOfTest, ManySmallReleasesCostFarLessRhoThanOneOfTheirSum) {
  EXPECT_EQ(CostOf({Of(kEpsilon / 100, 100)})->epsilon_nanos, kEpsilon);
  EXPECT_EQ(CostOf({Of(kEpsilon / 100, 100)})->rho_pico, kRho / 200);
}

TEST(CostOfTest, TheMostExpensivePartOfEachKindCounts) {
  // "many" costs more epsilon (5 against 4), and "one" more rho (8 against 2.5).
  const Cost cost =
      *CostOf({Of(kEpsilon), Of(kEpsilon, 5, "many"), Of(4 * kEpsilon, 1, "one"), Of(1, 0, "one")});
  EXPECT_EQ(cost.epsilon_nanos, 6 * kEpsilon);
  EXPECT_EQ(cost.rho_pico, kRho / 2 + 8 * kRho);
}

TEST(CostOfTest, RefusesEpsilonsPast64BitsAndHoldsRho) {
  EXPECT_THAT(CostOf({Of(UINT64_MAX), Of(1)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_EQ(CostOf({Of(Budget::kMaxNanos)})->rho_pico, UINT64_MAX);
  EXPECT_EQ(CostOf({Of(UINT64_MAX)})->rho_pico, UINT64_MAX);
  EXPECT_EQ(CostOf({Of(1, UINT64_MAX)})->rho_pico, UINT64_MAX / 2'000'000 + 1);
  // The last epsilon whose rho is below the limit, and the first one above.
  EXPECT_EQ(CostOf({Of(6'074'000'999'952)})->rho_pico, 18'446'744'073'708'947'953u);
  EXPECT_EQ(CostOf({Of(6'074'000'999'953)})->rho_pico, UINT64_MAX);
  // Each is below the limit, but their sum is not, whether they are of all records or of a part.
  const Release large = Of(5'000'000'000'000);
  EXPECT_LT(CostOf({large})->rho_pico, UINT64_MAX);
  EXPECT_EQ(CostOf({large, large})->rho_pico, UINT64_MAX);
  Release of_part = large;
  of_part.part = "part";
  EXPECT_EQ(CostOf({large, of_part})->rho_pico, UINT64_MAX);
}

TEST(PlusTest, IsHeldAtTheLimit) {
  const Cost most = {.epsilon_nanos = UINT64_MAX, .delta_atto = UINT64_MAX, .rho_pico = UINT64_MAX};
  EXPECT_EQ(Plus(most, most), most);
  EXPECT_EQ(Plus({1, 2, 3}, {10, 20, 30}), (Cost{11, 22, 33}));
  EXPECT_EQ(Plus({UINT64_MAX - 1, 0, 0}, {1, 0, 0}), (Cost{UINT64_MAX, 0, 0}));
}

// The smallest ln delta that Proposition 12 gives at one order, written as in the paper.
long double LogDelta(long double rho, long double epsilon, long double u) {
  const long double order = 1 + u;
  return u * (order * rho - epsilon) + order * (std::log(u) - std::log1p(u)) - std::log(u);
}

// The smallest over all orders: on a grid, then on finer ones around the best.
long double LeastLogDelta(long double rho, long double epsilon) {
  long double best = 0;  // ln u
  long double reach = 50;
  for (int zoom = 0; zoom < 4; ++zoom, reach /= 1000) {
    const long double middle = best;
    for (int i = -5000; i <= 5000; ++i) {
      const long double t = middle + reach * i / 5000;
      if (LogDelta(rho, epsilon, std::exp(t)) < LogDelta(rho, epsilon, std::exp(best))) best = t;
    }
  }
  return LogDelta(rho, epsilon, std::exp(best));
}

class RhoCapTest : public ::testing::TestWithParam<BudgetCap> {};

TEST_P(RhoCapTest, ImpliesTheCapAndIsNearlyTheLargestThatDoes) {
  const long double epsilon = static_cast<long double>(GetParam().epsilon_nanos) / 1e9L;
  // ln(delta), by the side of 1/2 that loses no digits.
  const long double delta = static_cast<long double>(GetParam().delta_atto) / 1e18L;
  const long double log_delta =
      delta < 0.5L
          ? std::log(delta)
          : std::log1p(-static_cast<long double>(kDeltaOne - GetParam().delta_atto) / 1e18L);
  const uint64_t rho_pico = RhoCap(GetParam());
  ASSERT_GT(rho_pico, 0u);
  const long double rho = static_cast<long double>(rho_pico) / 1e12L;
  EXPECT_LE(LeastLogDelta(rho, epsilon), log_delta);
  const long double more = rho * (1 + 1e-6L) + 2e-12L;
  if (GetParam().delta_atto < kDeltaOne / 2) {
    EXPECT_GT(LeastLogDelta(more, epsilon), log_delta);
  }
  // Never worse than advanced composition's rho + 2 sqrt(rho ln(1/delta)).
  const long double root = std::sqrt(epsilon - log_delta) - std::sqrt(-log_delta);
  EXPECT_GE(rho + 1e-12L, root * root * (1 - 1e-9L));
}

INSTANTIATE_TEST_SUITE_P(Caps, RhoCapTest,
                         ::testing::Values(Zcdp(kEpsilon / 10), Zcdp(kEpsilon / 2), Zcdp(kEpsilon),
                                           Zcdp(2 * kEpsilon), Zcdp(4 * kEpsilon),
                                           Zcdp(kEpsilon, 1), Zcdp(kEpsilon / 1000, 1),
                                           Zcdp(50 * kEpsilon, 1'000),
                                           Zcdp(kEpsilon, kDeltaOne / 10),
                                           Zcdp(kEpsilon, kDeltaOne - 1), Zcdp(1, kDeltaOne - 1),
                                           Zcdp(Budget::kMaxNanos), Zcdp(Budget::kMaxNanos, 1),
                                           Zcdp(Budget::kMaxNanos, kDeltaOne - 1)),
                         [](const auto& test) { return "Cap" + std::to_string(test.index); });

TEST(RhoCapTest, HasTheReferenceValues) {
  const auto at = [](double epsilon) {
    return static_cast<double>(RhoCap(Zcdp(static_cast<uint64_t>(epsilon * 1e9)))) / 1e12;
  };
  EXPECT_NEAR(at(0.1), 0.000321, 0.0000005);
  EXPECT_NEAR(at(0.5), 0.00664, 0.000005);
  EXPECT_NEAR(at(1), 0.0244, 0.00005);
  EXPECT_NEAR(at(2), 0.0882, 0.00005);
  EXPECT_NEAR(at(4), 0.311, 0.0005);
}

TEST(RhoCapTest, IsNothingWithoutDelta) { EXPECT_EQ(RhoCap(Basic(kEpsilon)), 0u); }

TEST(RhoCapTest, GrowsWithEpsilonAndDelta) {
  for (uint64_t delta = 1; delta < kDeltaOne; delta *= 10) {
    uint64_t last = 0;
    for (uint64_t nanos = 1; nanos <= Budget::kMaxNanos; nanos += nanos / 7 + 1) {
      const uint64_t rho = RhoCap(Zcdp(nanos, delta));
      ASSERT_GE(rho, last) << nanos << " " << delta;
      ASSERT_GE(RhoCap(Zcdp(nanos, delta + delta / 7 + 1)), rho) << nanos << " " << delta;
      last = rho;
    }
  }
}

TEST(CheckFitsTest, BasicAddsUpEpsilonToTheLastNano) {
  const BudgetCap cap = Basic(3 * kEpsilon);
  const Cost spent = {.epsilon_nanos = 2 * kEpsilon + kEpsilon / 2};
  EXPECT_OK(CheckFits(cap, spent, {.epsilon_nanos = kEpsilon / 2, .rho_pico = UINT64_MAX}));
  EXPECT_THAT(
      CheckFits(cap, spent, {.epsilon_nanos = kEpsilon / 2 + 1}),
      StatusIs(StatusCode::kResourceExhausted, AllOf(HasSubstr("needs epsilon 0.500000001"),
                                                     HasSubstr("0.5 is left of the dataset's 3"))));
  EXPECT_FALSE(CheckFits(cap, spent, {.epsilon_nanos = UINT64_MAX}).ok());
  EXPECT_FALSE(CheckFits(cap, {.epsilon_nanos = UINT64_MAX}, {.epsilon_nanos = 1}).ok());
  EXPECT_OK(CheckFits(Basic(Budget::kMaxNanos), {}, {.epsilon_nanos = Budget::kMaxNanos}));
}

TEST(CheckFitsTest, BasicAddsUpDelta) {
  const BudgetCap cap = Basic(kEpsilon, 10);
  EXPECT_OK(CheckFits(cap, {.delta_atto = 4}, {.delta_atto = 6}));
  EXPECT_THAT(CheckFits(cap, {.delta_atto = 4}, {.delta_atto = 7}),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of delta it needs 0.000000000000000007"),
                             HasSubstr("0.000000000000000006 is left"))));
}

TEST(CheckFitsTest, ZcdpAddsUpRhoToTheLastPico) {
  const BudgetCap cap = Zcdp(kEpsilon);
  const uint64_t room = RhoCap(cap);
  EXPECT_OK(CheckFits(cap, {.rho_pico = 5}, {.epsilon_nanos = UINT64_MAX, .rho_pico = room - 5}));
  EXPECT_THAT(CheckFits(cap, {.rho_pico = room - kRho / 200},
                        {.epsilon_nanos = 2 * kEpsilon, .rho_pico = kRho / 2}),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("needs rho 0.5 (its epsilons add up to 2)"),
                             HasSubstr("0.005 is left"), HasSubstr("may have epsilon 0.1"))));
  EXPECT_FALSE(CheckFits(cap, {.rho_pico = 5}, {.rho_pico = room - 4}).ok());
  EXPECT_FALSE(CheckFits(cap, {}, {.rho_pico = UINT64_MAX}).ok());
  EXPECT_FALSE(
      CheckFits(Zcdp(Budget::kMaxNanos, kDeltaOne - 1), {}, *CostOf({Of(Budget::kMaxNanos)})).ok());
}

TEST(CheckFitsTest, ZcdpTakesADeltaOnlyWithARho) {
  const BudgetCap cap = Zcdp(kEpsilon);
  Release release = Of(kEpsilon / 2);
  release.delta_atto = 1'000'000'000'000;
  EXPECT_THAT(CheckFits(cap, {}, *CostOf({release})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not known")));
  EXPECT_THAT(CheckFits(cap, {}, {.delta_atto = 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not known")));
  release.rho_pico = RhoCap(cap);
  EXPECT_OK(CheckFits(cap, {}, *CostOf({release})));
  EXPECT_THAT(CheckFits(cap, {.rho_pico = 1}, *CostOf({release})),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("with that delta a job")));
}

TEST(CostOfTest, AReleaseCostsTheRhoThatItStates) {
  Release stated = Of(kEpsilon, 3);
  stated.delta_atto = 5;
  stated.rho_pico = 7;
  EXPECT_EQ(CostOf({stated})->rho_pico, 21u);
  EXPECT_EQ(CostOf({stated, Of(kEpsilon)})->rho_pico, 21u + kRho / 2);
  Release unknown = stated;
  unknown.rho_pico = 0;
  EXPECT_EQ(CostOf({stated, unknown})->rho_pico, UINT64_MAX);
}

TEST(CheckFitsTest, ZcdpHasRoomForThreeTimesAsManySmallReleases) {
  const auto fitting = [](const BudgetCap& cap) {
    Cost spent;
    const Cost one = *CostOf({Of(15'600'000)});
    int count = 0;
    while (CheckFits(cap, spent, one).ok()) {
      spent = Plus(spent, one);
      ++count;
    }
    return count;
  };
  EXPECT_EQ(fitting(Basic(kEpsilon)), 64);
  EXPECT_EQ(fitting(Zcdp(kEpsilon)), 200);
}

TEST(CoversTest, ComparesWhatTheCompositionAddsUp) {
  const Cost ten = *CostOf({Of(kEpsilon / 10, 10)});
  const Cost one = *CostOf({Of(kEpsilon)});  // the same epsilon, ten times the rho
  EXPECT_TRUE(Covers(Basic(kEpsilon), ten, one));
  EXPECT_FALSE(Covers(Zcdp(kEpsilon), ten, one));
  EXPECT_TRUE(Covers(Zcdp(kEpsilon), one, ten));
  EXPECT_FALSE(Covers(Basic(kEpsilon), one, *CostOf({Of(kEpsilon + 1)})));
  EXPECT_FALSE(Covers(Basic(kEpsilon, 9), one, {.delta_atto = 1}));
  EXPECT_TRUE(Covers(Zcdp(kEpsilon), one, {.delta_atto = 1, .rho_pico = one.rho_pico}));
}

TEST(ClampTest, UnderZcdpOnlyTheRhoIsCharged) {
  const BudgetCap cap = Zcdp(kEpsilon);
  const Cost charged = ClampToRemaining(
      cap, {.rho_pico = RhoCap(cap)}, {.epsilon_nanos = kEpsilon, .delta_atto = 5, .rho_pico = 9});
  EXPECT_EQ(charged, (Cost{.epsilon_nanos = kEpsilon}));
  EXPECT_OK(CheckFits(cap, {.rho_pico = RhoCap(cap)}, charged));
}

TEST(LeftTest, BasicHasEpsilonAndDeltaLeft) {
  EXPECT_EQ(RemainingAfter(Basic(10, 20), {.epsilon_nanos = 3, .delta_atto = 4, .rho_pico = 5}),
            (RemainingBudget{.epsilon_nanos = 7, .delta_atto = 16}));
  EXPECT_EQ(RemainingAfter(Basic(10), {.epsilon_nanos = 11}), RemainingBudget());
}

TEST(LeftTest, ZcdpNamesTheLargestReleaseThatFits) {
  for (const uint64_t nanos : {kEpsilon / 100, kEpsilon, 7 * kEpsilon, Budget::kMaxNanos}) {
    const BudgetCap cap = Zcdp(nanos);
    for (const uint64_t spent : {uint64_t{0}, uint64_t{1}, RhoCap(cap) / 3, RhoCap(cap) - 1}) {
      const RemainingBudget left = RemainingAfter(cap, {.rho_pico = spent});
      EXPECT_EQ(left.rho_pico, RhoCap(cap) - spent);
      EXPECT_OK(CheckFits(cap, {.rho_pico = spent}, *CostOf({Of(left.epsilon_nanos)})));
      EXPECT_FALSE(CheckFits(cap, {.rho_pico = spent}, *CostOf({Of(left.epsilon_nanos + 1)})).ok());
    }
    EXPECT_EQ(RemainingAfter(cap, {.rho_pico = RhoCap(cap)}), RemainingBudget());
  }
}

TEST(LeftTest, ZcdpNamesTheLargestEpsilonThatFitsWithItsDelta) {
  for (const uint64_t nanos : {kEpsilon / 100, kEpsilon, 7 * kEpsilon}) {
    const BudgetCap cap = Zcdp(nanos);
    EXPECT_EQ(EpsilonLeftAtDelta(cap, RemainingAfter(cap, {})), nanos);
    const Cost spent{.rho_pico = RhoCap(cap) / 3};
    const RemainingBudget left = RemainingAfter(cap, spent);
    const auto rho_of = [&](uint64_t epsilon) {
      return Rho::Implying(*Budget::FromNanos(epsilon), cap.delta_atto)->picos();
    };
    const uint64_t epsilon = EpsilonLeftAtDelta(cap, left);
    EXPECT_LE(rho_of(epsilon), left.rho_pico);
    EXPECT_GT(rho_of(epsilon + kEpsilon / 1000), left.rho_pico);
    EXPECT_GT(epsilon, left.epsilon_nanos) << "a pure release costs more";
  }
}

}  // namespace
}  // namespace coppice::ledger
