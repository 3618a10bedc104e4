#include "common/privacy/selection.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::HasSubstr;

constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;

Budget Epsilon(const char* text) { return *Budget::Parse(text); }

// With scores 1 and 0, epsilon 1 and a range of 2 the worse one is kept with p = exp(-1/2): it wins
// if it comes first and is kept.
TEST(PermuteAndFlipTest, HasItsLaw) {
  const double p = std::exp(-0.5);
  const Law<size_t> law = WalkAllBranches<size_t>({}, [](PrivateRandom& random) {
    return PermuteAndFlip({0, 1}, Epsilon("1"), 2, random);
  });
  EXPECT_NEAR(law.at(0), p / 2, law.cut + 1e-9);
  EXPECT_NEAR(law.at(1), 1 - p / 2, law.cut + 1e-9);
  EXPECT_LT(law.cut, 1e-6);
}

// With three candidates each order is equally likely, and the first one kept wins.
TEST(PermuteAndFlipTest, HasItsLawForThree) {
  const double p = std::exp(-1.0);
  const double q = std::exp(-3.0);
  const Law<size_t> law = WalkAllBranches<size_t>({}, [](PrivateRandom& random) {
    return PermuteAndFlip({5, 4, 2}, Epsilon("3"), 3, random);
  });
  // Candidate 1 wins if it comes first, or after 2 was passed over; never after 0.
  EXPECT_NEAR(law.at(1), p * (1.0 / 3 + (1 - q) / 6), law.cut + 1e-9);
  EXPECT_NEAR(law.at(2), q * (1.0 / 3 + (1 - p) / 6), law.cut + 1e-9);
  EXPECT_LT(law.cut, 1e-5);
}

TEST(ExponentialMechanismTest, HasItsLaw) {
  const double p = std::exp(-0.5);
  const Law<size_t> law = WalkAllBranches<size_t>({}, [](PrivateRandom& random) {
    return ExponentialMechanism({0, 1}, Epsilon("1"), 2, random);
  });
  EXPECT_NEAR(law.at(0), p / (1 + p), law.cut + 1e-9);
  EXPECT_NEAR(law.at(1), 1 / (1 + p), law.cut + 1e-9);
  EXPECT_LT(law.cut, 1e-4);
}

using Select = StatusOr<size_t> (*)(absl::Span<const int64_t>, const Budget&, uint64_t,
                                    PrivateRandom&);

class SelectionTest : public ::testing::TestWithParam<Select> {
 protected:
  OpenSslRandom random_;
};

INSTANTIATE_TEST_SUITE_P(Rules, SelectionTest,
                         ::testing::Values(&PermuteAndFlip, &ExponentialMechanism));

TEST_P(SelectionTest, TakesTheOnlyCandidate) {
  EXPECT_EQ(*GetParam()({-7}, Epsilon("1"), 1, random_), 0u);
}

TEST_P(SelectionTest, TakesTheBestOfScoresThatLieFarApart) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(*GetParam()({kLeast, kMost, 0}, Epsilon("1"), 1, random_), 1u);
  }
}

TEST_P(SelectionTest, RefusesNoCandidatesAndNoRange) {
  EXPECT_THAT(GetParam()({}, Epsilon("1"), 1, random_),
              StatusIs(kInvalid, HasSubstr("candidates")));
  EXPECT_THAT(GetParam()({1}, Epsilon("1"), 0, random_), StatusIs(kInvalid, HasSubstr("range")));
}

// At a large epsilon only the cut nearest to the quantile is chosen.
TEST(SelectQuantileTest, FindsTheQuantile) {
  OpenSslRandom random;
  const std::vector<uint64_t> ranks = {0, 10, 25, 50, 74, 100};
  EXPECT_EQ(*SelectQuantile(ranks, 100, 1, 2, Epsilon("1000"), random), 3u);
  EXPECT_EQ(*SelectQuantile(ranks, 100, 1, 4, Epsilon("1000"), random), 2u);
  EXPECT_EQ(*SelectQuantile(ranks, 100, 3, 4, Epsilon("1000"), random), 4u);
  EXPECT_EQ(*SelectQuantile({uint64_t{1} << 39, uint64_t{1} << 38}, (uint64_t{1} << 40) - 1, 1, 2,
                            Epsilon("1000"), random),
            0u);
}

// With one number above the first of two cuts, the scores for the first quarter are -1 and -3, and
// their range is 2 (4 - 1): the worse is kept with p = exp(-3 2 / 6).
TEST(SelectQuantileTest, HasTheLawOfItsRange) {
  const double p = std::exp(-1.0);
  const Law<size_t> law = WalkAllBranches<size_t>({}, [](PrivateRandom& random) {
    return SelectQuantile({0, 1}, 1, 1, 4, Epsilon("3"), random);
  });
  EXPECT_NEAR(law.at(1), p / 2, law.cut + 1e-9);
  EXPECT_LT(law.cut, 1e-5);
}

TEST(SelectQuantileTest, RefusesAnInvalidQuantile) {
  OpenSslRandom random;
  const auto select = [&](uint64_t rank, uint64_t count, uint64_t part, uint64_t whole) {
    return SelectQuantile({rank}, count, part, whole, Epsilon("1"), random).status();
  };
  EXPECT_OK(select(1, 1, 1, uint64_t{1} << 20));
  EXPECT_THAT(select(1, 1, 0, 2), StatusIs(kInvalid, HasSubstr("between 0 and 1")));
  EXPECT_THAT(select(1, 1, 2, 2), StatusIs(kInvalid, HasSubstr("between 0 and 1")));
  EXPECT_THAT(select(1, 1, 1, (uint64_t{1} << 20) + 1), StatusIs(kInvalid, HasSubstr("2^20")));
  EXPECT_THAT(select(2, 1, 1, 2), StatusIs(kInvalid, HasSubstr("rank")));
  EXPECT_THAT(select(1, uint64_t{1} << 40, 1, 2), StatusIs(kInvalid, HasSubstr("too many")));
}

}  // namespace
}  // namespace coppice
