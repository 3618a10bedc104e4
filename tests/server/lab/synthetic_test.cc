#include "server/lab/synthetic.h"

#include <cmath>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(SyntheticTest, ProbabilityFollowsTheFormula) {
  // g = |1.5 - 0.5| * |0.75 - 0.5| * 1 = 1/4, both signs positive.
  EXPECT_NEAR(SyntheticProbability(1, 0.5, 1), 0.5 + 0.4 * std::pow(0.25, 0.1), 1e-15);
  EXPECT_NEAR(SyntheticProbability(1, 0.5, 5), 0.5 + 0.4 * std::pow(0.25, 0.5), 1e-15);
  // One sign is reversed; g = 1/2 * 1/4.
  EXPECT_NEAR(SyntheticProbability(0, 0.5, 1), 0.5 - 0.4 * std::pow(0.125, 0.1), 1e-15);
  // g vanishes where x1 = 1/3 and at the ends of x2.
  EXPECT_EQ(SyntheticProbability(0.9, 1, 1), 0.5);
  EXPECT_EQ(SyntheticProbability(0.9, 0, 1), 0.5);
}

// The mean of max(eta, 1 - eta) over x is 0.7861 for private rows and 0.5892 for gamma = 5 (from
// four million points of a separate implementation), and the share of label 1 is 0.5415. With
// 200000 draws, 0.005 is over 4.5 standard deviations of each figure; the seed is fixed.
TEST(SyntheticTest, DrawsHaveTheStatedLaw) {
  PublicRandom random(11);
  const Table table = DrawSynthetic(SyntheticSchema(), 200'000, 1, random);
  double bayes = 0, drifted = 0, ones = 0;
  for (size_t i = 0; i < table.num_rows(); ++i) {
    const double x1 = table.value(i, 0), x2 = table.value(i, 1);
    const uint32_t best = SyntheticProbability(x1, x2, 1) > 0.5 ? 1 : 0;
    bayes += table.label(i) == best;
    drifted += 0.5 + std::abs(SyntheticProbability(x1, x2, 5) - 0.5);
    ones += table.label(i);
  }
  EXPECT_NEAR(bayes / 200'000, 0.7861, 0.005);
  EXPECT_NEAR(drifted / 200'000, 0.5892, 0.005);
  EXPECT_NEAR(ones / 200'000, 0.5415, 0.005);
}

TEST(SyntheticTest, ParsesItsPartsInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const SyntheticOptions options,
                       SyntheticOptions::Parse("public=1000,gamma=5,private=200"));
  EXPECT_EQ(options.gamma, 5);
  EXPECT_EQ(options.public_rows, 1000u);
  EXPECT_EQ(options.private_rows, 200u);
  EXPECT_EQ(options.test_rows, 2000u);
}

TEST(SyntheticTest, RefusesUnknownPartsAndBadNumbers) {
  EXPECT_THAT(SyntheticOptions::Parse("beta=1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there are gamma, sine, private")));
  EXPECT_THAT(SyntheticOptions::Parse("gamma=0"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gamma must be a positive")));
  EXPECT_THAT(SyntheticOptions::Parse("gamma=nan"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gamma must be a positive")));
  EXPECT_THAT(SyntheticOptions::Parse("public=0"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public must be a number")));
}

}  // namespace
}  // namespace coppice::lab
