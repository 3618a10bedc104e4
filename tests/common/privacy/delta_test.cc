#include "common/privacy/delta.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ParseDeltaTest, DecimalsAndPowersOfTenAreExact) {
  struct Case {
    const char* text;
    uint64_t units;
  };
  for (const Case& c :
       {Case{"0", 0}, Case{"0.0", 0}, Case{"0e-400000", 0}, Case{"1e-6", 1'000'000'000'000},
        Case{"0.000001", 1'000'000'000'000}, Case{"1E-6", 1'000'000'000'000},
        Case{"10e-07", 1'000'000'000'000}, Case{"0.00000000001e+5", 1'000'000'000'000},
        Case{"1e-18", 1}, Case{".5", 500'000'000'000'000'000},
        Case{"3.3e-1", 330'000'000'000'000'000},
        Case{"0.999999999999999999", 999'999'999'999'999'999},
        Case{"0.123456789012345678", 123'456'789'012'345'678},
        Case{"0001e-1", 100'000'000'000'000'000}}) {
    EXPECT_THAT(ParseDelta(c.text).value_or(~uint64_t{0}), c.units) << c.text;
  }
}

TEST(ParseDeltaTest, WhatIsBelowAUnitIsDropped) {
  EXPECT_EQ(*ParseDelta("1.9e-18"), 1);
  EXPECT_EQ(*ParseDelta("0.99999999999999999999999"), 999'999'999'999'999'999);
}

TEST(ParseDeltaTest, EverythingElseIsRefused) {
  for (const char* text : {"",
                           ".",
                           "1",
                           "1.0",
                           "2e-0",
                           "10e-1",
                           "1e-19",
                           "9.9e-19",
                           "-1e-6",
                           "+1e-6",
                           "1e",
                           "1e-",
                           "e-6",
                           "1e 6",
                           "1e-6 ",
                           " 1e-6",
                           "1e--6",
                           "0x1",
                           "nan",
                           "inf",
                           "1.2.3",
                           "1e-6.5",
                           "1e99999999999999999999",
                           "1e2000000000"}) {
    EXPECT_THAT(ParseDelta(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("below 1")))
        << text;
  }
}

}  // namespace
}  // namespace coppice
