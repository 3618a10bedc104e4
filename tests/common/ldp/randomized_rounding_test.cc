// Numbers that are rounded at random: the law of the drawn end, and of a mechanism's report about
// it.

#include "common/ldp/randomized_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::WalkAllBranches;

double UpperProbability(double place) {
  const Law<uint32_t> law = WalkAllBranches<uint32_t>(
      {.cut_off = 0}, [place](PrivateRandom& random) { return RoundToAnEnd(place, random); });
  EXPECT_NEAR(law.total(), 1, 1e-15);
  return law.at(1);
}

TEST(RandomizedRoundingTest, HasTheNumberAsItsMean) {
  for (const double place : {0.0, 0x1p-53, 0.1, 1.0 / 3, 0.5, 0.75, 1 - 0x1p-53, 1.0}) {
    EXPECT_NEAR(UpperProbability(place), place, 0x1p-53);
  }
  EXPECT_EQ(UpperProbability(0), 0);
  EXPECT_EQ(UpperProbability(1), 1);
  EXPECT_EQ(UpperProbability(0x1p-60), 0) << "below the last bit: rounded down";
}

// The whole answer of a device, by enumeration: for any two numbers the probabilities of any
// payload differ by at most exp(epsilon), and for the two ends by exactly that.
TEST(RandomizedRoundingTest, AnswersAboutAnyTwoNumbersStayWithinEpsilon) {
  constexpr double kEpsilon = 1;
  for (const MechanismKind kind : {MechanismKind::kSignedHadamard, MechanismKind::kDirect}) {
    const auto mechanism =
        *MakeLocalMechanism(kind, *Budget::FromEpsilon(kEpsilon), {.leaves = 1, .classes = 2});
    for (uint32_t column = 0; column < mechanism->columns(); ++column) {
      std::vector<Law<std::string>> laws;
      for (const double place : {0.0, 0.25, 0.5, 0.875, 1.0}) {
        laws.push_back(WalkAllBranches<std::string>(
            {.cut_off = 0}, [&](PrivateRandom& random) -> StatusOr<std::string> {
              COPPICE_ASSIGN_OR_RETURN(const uint32_t end, RoundToAnEnd(place, random));
              return mechanism->Randomize({.leaf = 0, .label = end}, column, random);
            }));
      }
      double worst = 0;
      for (const Law<std::string>& a : laws) {
        for (const Law<std::string>& b : laws) {
          for (const auto& [payload, p] : a.probability) {
            worst = std::max(worst, p / b.at(payload));
          }
        }
      }
      EXPECT_LE(worst, std::exp(kEpsilon) * (1 + 1e-12));
      EXPECT_GT(worst, std::exp(kEpsilon) * (1 - 1e-6)) << "the two ends are as far apart as that";
    }
  }
}

}  // namespace
}  // namespace coppice
