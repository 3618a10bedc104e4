#include "common/ldp/subset_selection.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/payload/bit_payload.h"
#include "tests/support/scripted_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ExpectEveryFailurePassedOn;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<LocalMechanism> MakeSubsets(const char* epsilon, Domain domain) {
  return *MakeSubsetSelection(*Budget::Parse(epsilon), domain);
}

const SubsetSelection& Subset(const LocalMechanism& mechanism) {
  return static_cast<const SubsetSelection&>(mechanism);
}

// Device and curator must agree on these. Another program computed the rates over 2^32, with
// integers of any size: the largest P with P (D - w) 2^60 <= (2^32 - P) w e.
TEST(SubsetSelectionTest, SetsAndRatesFollowTheBudgetAndTheCells) {
  struct Expected {
    const char* epsilon;
    Domain domain;
    size_t members;
    double rate;
    size_t bytes;
  };
  for (const auto& [epsilon, domain, members, rate, bytes] :
       std::vector<Expected>{{"0.01", {1, 2}, 1, 2158220976, 1},
                             {"0.01", {2, 3}, 3, 2158220976, 1},
                             {"1", {1, 2}, 1, 3139872686, 1},
                             {"1", {256, 2}, 138, 2150702603, 64},
                             {"4", {256, 2}, 9, 2122396175, 11},
                             {"2", {4096, 2}, 977, 2148094801, 1024},
                             {"20", {2, 2}, 1, 4294967269, 1},
                             {"20", {1u << 21, 2}, 1, 4258155107, 3},
                             {"0.01", {1u << 21, 2}, 2086666, 2147483312, 1u << 19}}) {
    const auto mechanism = MakeSubsets(epsilon, domain);
    EXPECT_EQ(Subset(*mechanism).members(), members) << epsilon << " " << domain.leaves;
    // Derives the rate from the variance at the row: p (1 - p) / (p - q)^2, q = (w - p) / (D - 1).
    const double p = std::ldexp(rate, -32);
    const double q = (static_cast<double>(members) - p) / static_cast<double>(domain.cells() - 1);
    const NoiseVariance one = mechanism->Variance(0);
    EXPECT_NEAR(one.label, q * (1 - q) / std::pow(p - q, 2), 1e-9 * one.label);
    const double hit = p * (1 - p) / std::pow(p - q, 2);
    EXPECT_NEAR(one.label + one.hit.label, hit, 1e-9 * hit);
    EXPECT_THAT(mechanism->Check(std::string(bytes + 1, '\0')),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("length of its tree")));
    EXPECT_THAT(mechanism->Check(std::string(bytes - 1, '\0')),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("length of its tree")));
  }
}

// Numbers are sent where they take fewer bits than there are cells: 2 of 16 cells, 2 of 6, 1 of 4.
TEST(SubsetSelectionTest, PayloadsAreTheShorterOfBitsAndNumbers) {
  EXPECT_FALSE(Subset(*MakeSubsets("2", {8, 2})).is_bitmap());
  EXPECT_EQ(Subset(*MakeSubsets("2", {8, 2})).members(), 2u);
  EXPECT_TRUE(Subset(*MakeSubsets("0.5", {2, 3})).is_bitmap());  // six bits either way
  EXPECT_EQ(Subset(*MakeSubsets("0.5", {2, 3})).members(), 2u);
  EXPECT_FALSE(Subset(*MakeSubsets("1", {2, 2})).is_bitmap());
}

// Scripts the draws for cell 5 of 16: whether it is in the set, then the other cells.
TEST(SubsetSelectionTest, DrawsMembersByFloydAndPassesFailuresOn) {
  const auto numbers = MakeSubsets("2", {8, 2});  // two members as four bits each
  const auto randomize = [&](PrivateRandom& random) {
    return numbers->Randomize({2, 1}, 0, random);
  };
  // The cell is in; other 5 is cell 6.
  ExpectEveryFailurePassedOn<std::string>({1, 5}, "\x65", randomize);
  ExpectEveryFailurePassedOn<std::string>({1, 4}, "\x54", randomize);
  // The cell is out: other 13 is cell 14, 3 is itself; drawn again, it is 14, which is cell 15.
  ExpectEveryFailurePassedOn<std::string>({0, 13, 3}, "\xe3", randomize);
  ExpectEveryFailurePassedOn<std::string>({0, 3, 3}, "\xf3", randomize);

  const auto bits = MakeSubsets("0.5", {2, 3});  // two members of six, as bits
  const auto randomize_bits = [&](PrivateRandom& random) {
    return bits->Randomize({0, 2}, 0, random);
  };
  ExpectEveryFailurePassedOn<std::string>({1, 1}, std::string(1, 0b000110), randomize_bits);
  ExpectEveryFailurePassedOn<std::string>({0, 2, 2}, std::string(1, 0b101000), randomize_bits);

  const auto into = [&](PrivateRandom& random) -> StatusOr<std::vector<int64_t>> {
    std::vector<int64_t> sums(6, 7);
    const Status status = bits->RandomizeInto({0, 2}, random, absl::MakeSpan(sums));
    if (!status.ok()) return status;
    return sums;
  };
  ExpectEveryFailurePassedOn<std::vector<int64_t>>({0, 2, 2}, {7, 7, 7, 8, 7, 8}, into);
}

TEST(SubsetSelectionTest, OnlyWholeSetsInOrderAreTaken) {
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("set that no honest device"));
  const auto bits = MakeSubsets("0.5", {2, 3});
  EXPECT_OK(bits->Check(std::string(1, 0b100001)));
  EXPECT_THAT(bits->Check(std::string(1, 0b100000)), refused);
  EXPECT_THAT(bits->Check(std::string(1, 0b111000)), refused);
  EXPECT_THAT(bits->Check(std::string(1, 0b1000001)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("past its last")));

  const auto numbers = MakeSubsets("2.5", {11, 2});  // two of 22 cells, as five bits each
  ASSERT_EQ(Subset(*numbers).members(), 2u);
  const auto of = [](uint32_t first, uint32_t second) {
    std::string payload(2, '\0');
    SetNumber(payload, 5, 0, first);
    SetNumber(payload, 5, 1, second);
    return payload;
  };
  EXPECT_OK(numbers->Check(of(0, 1)));
  EXPECT_OK(numbers->Check(of(20, 21)));
  EXPECT_THAT(numbers->Check(of(20, 22)), refused);
  EXPECT_THAT(numbers->Check(of(3, 3)), refused);
  EXPECT_THAT(numbers->Check(of(4, 3)), refused);
  std::string padded = of(0, 1);
  FlipBit(padded, 10);
  EXPECT_THAT(numbers->Check(padded),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("past its last")));
}

TEST(SubsetSelectionTest, ProbabilitiesAreThoseOfSets) {
  const auto numbers = MakeSubsets("2", {8, 2});
  std::string payload(1, '\0');
  SetNumber(payload, 4, 0, 3);
  SetNumber(payload, 4, 1, 12);
  const double e = std::exp(2.0);
  const double p = 2 * e / (2 * e + 14);
  EXPECT_NEAR(*numbers->OutputProbability({1, 1}, 0, payload), p / 15, 1e-9);
  EXPECT_NEAR(*numbers->OutputProbability({6, 0}, 0, payload), p / 15, 1e-9);
  EXPECT_NEAR(*numbers->OutputProbability({0, 0}, 0, payload), (1 - p) / (15 * 7), 1e-9);
}

// A large set sent as numbers, and its sums.
TEST(SubsetSelectionTest, SumsCountMembers) {
  const auto numbers = MakeSubsets("4", {256, 2});  // nine of 512 cells
  std::string payload(11, '\0');
  for (uint32_t i = 0; i < 9; ++i) SetNumber(payload, 9, i, 50 * i + 111);
  std::vector<int64_t> sums(512, 1);
  ASSERT_OK(numbers->Add(payload, 0, absl::MakeSpan(sums)));
  for (uint32_t cell = 0; cell < 512; ++cell) {
    const bool member = cell >= 111 && cell <= 511 && (cell - 111) % 50 == 0;
    EXPECT_EQ(sums[cell], member ? 2 : 1) << cell;
  }
}

// The least noise of all, at epsilon 1 and 256 leaves.
TEST(SubsetSelectionTest, VarianceIsTheLeast) {
  const NoiseVariance one = MakeSubsets("1", {256, 2})->Variance(1);
  EXPECT_NEAR(one.label, 3.66, 0.005);
  EXPECT_NEAR(one.leaf, 7.315, 0.005);
  const NoiseVariance few = MakeSubsets("4", {16, 2})->Variance(1);
  EXPECT_NEAR(few.label, 0.0294, 0.00005);
  EXPECT_NEAR(few.leaf, 0.0582, 0.00005);
}

}  // namespace
}  // namespace coppice
