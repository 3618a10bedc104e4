#include "common/privacy/budget.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

static_assert(!std::is_default_constructible_v<Budget>, "an unset budget must not compile");
static_assert(!std::is_convertible_v<double, Budget>, "a budget is never made in passing");

TEST(BudgetTest, ParsesPlainDecimalsExactly) {
  EXPECT_EQ(Budget::Parse("0.5")->nanos(), 500'000'000u);
  EXPECT_EQ(Budget::Parse("2")->nanos(), 2'000'000'000u);
  EXPECT_EQ(Budget::Parse(".1")->nanos(), 100'000'000u);
  EXPECT_EQ(Budget::Parse("0.000000001")->nanos(), 1u);
}

TEST(BudgetTest, RoundsDownWhateverItIsGiven) {
  EXPECT_EQ(Budget::Parse("0.1234567899")->nanos(), 123'456'789u);
  EXPECT_EQ(Budget::FromEpsilon(0.1234567899)->nanos(), 123'456'789u);
  // The double nearest to 0.3 is less than 0.3, and so is the budget.
  EXPECT_EQ(Budget::FromEpsilon(0.3)->nanos(), 299'999'999u);
  EXPECT_EQ(Budget::FromEpsilon(0.5)->nanos(), 500'000'000u);
  EXPECT_EQ(Budget::FromEpsilon(3.25)->nanos(), 3'250'000'000u);
}

TEST(BudgetTest, TakesAMillionAndNoMore) {
  constexpr uint64_t kMillion = 1'000'000'000'000'000;
  EXPECT_EQ(Budget::FromNanos(kMillion)->nanos(), kMillion);
  EXPECT_EQ(Budget::FromEpsilon(1e6)->nanos(), kMillion);
  EXPECT_EQ(Budget::Parse("1000000.000000000")->nanos(), kMillion);
  EXPECT_EQ(Budget::Parse("999999")->Plus(*Budget::Parse("1"))->nanos(), kMillion);
  const auto too_large = StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large"));
  EXPECT_THAT(Budget::FromNanos(kMillion + 1), too_large);
  EXPECT_THAT(Budget::FromEpsilon(std::nextafter(1e6, 2e6)), too_large);
  EXPECT_THAT(Budget::Parse("1000000.000000001"), too_large);
}

TEST(BudgetTest, RefusesTextThatIsNotAnAmount) {
  for (const char* text :
       {"", ".", "-1", "abc", "1e3", "nan", "inf", "1.2.3", "1..5", " 1", "0x1"}) {
    EXPECT_THAT(Budget::Parse(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")))
        << text;
  }
  for (const double epsilon :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300, 1e-12}) {
    EXPECT_THAT(Budget::FromEpsilon(epsilon),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")));
  }
  // Each text becomes too large at another step of the reading; the last one by its last digit.
  for (const char* text :
       {"99999999999999999999999", "9999999999999999", "1000001", "1000000.000000001"}) {
    EXPECT_THAT(Budget::Parse(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")))
        << text;
  }
  EXPECT_EQ(Budget::FromNanos(Budget::kMaxNanos)->ToString(), "1000000");
  EXPECT_THAT(Budget::FromNanos(Budget::kMaxNanos + 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")));
  for (const char* text : {"", "."}) {
    EXPECT_THAT(Budget::Parse(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a number")));
  }
  EXPECT_THAT(Budget::FromEpsilon(0), StatusIs(StatusCode::kInvalidArgument, HasSubstr("zero")));
  EXPECT_THAT(Budget::Parse("0.0000000001"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("zero")));
}

TEST(BudgetTest, PrintsWhatItParses) {
  for (const char* text : {"0.5", "2", "0.000000001", "1000000", "1.25"}) {
    EXPECT_EQ(Budget::Parse(text)->ToString(), text);
  }
}

TEST(BudgetTest, SharesNeverSumToMoreThanTheWhole) {
  for (const uint64_t nanos : {1'000'000'007u, 999u, 7u}) {
    const Budget whole = *Budget::FromNanos(nanos);
    for (uint64_t parts = 1; parts <= 7; ++parts) {
      EXPECT_LE(whole.Share(parts)->nanos() * parts, nanos);
    }
  }
  for (const uint64_t parts : {0, 4}) {
    EXPECT_THAT(Budget::FromNanos(3)->Share(parts),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("shared")));
  }
}

TEST(BudgetTest, AddsAndSubtractsExactly) {
  const Budget one = *Budget::Parse("1");
  const Budget tenth = *Budget::Parse("0.1");
  EXPECT_EQ(one.Plus(tenth)->ToString(), "1.1");
  EXPECT_EQ(one.Minus(tenth)->ToString(), "0.9");
  EXPECT_THAT(tenth.Minus(tenth), StatusIs(StatusCode::kResourceExhausted, HasSubstr("left")));
  EXPECT_THAT(Budget::FromNanos(Budget::kMaxNanos)->Plus(tenth),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("too large")));
}

}  // namespace
}  // namespace coppice
