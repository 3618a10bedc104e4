// The contract of local_mechanism.h, for every mechanism.

#include "common/ldp/local_mechanism.h"

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DomainFor;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Domain kDomain{.leaves = 5, .classes = 3};

class LocalMechanismTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  static Domain TheDomain() { return DomainFor(GetParam(), kDomain); }
  static std::unique_ptr<LocalMechanism> Make(const char* epsilon) {
    return *MakeLocalMechanism(GetParam(), *Budget::Parse(epsilon), TheDomain());
  }
};

INSTANTIATE_TEST_SUITE_P(All, LocalMechanismTest,
                         ::testing::ValuesIn(AllMechanismKinds().begin(),
                                             AllMechanismKinds().end()),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(LocalMechanismTest, NameReadsBack) {
  EXPECT_EQ(*ParseMechanism(MechanismName(GetParam())), GetParam());
}

TEST_P(LocalMechanismTest, RefusesEpsilonsOutOfRange) {
  for (const char* epsilon : {"0.009", "1001"}) {
    EXPECT_THAT(MakeLocalMechanism(GetParam(), *Budget::Parse(epsilon), TheDomain()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("0.01 to 1000")));
  }
}

TEST_P(LocalMechanismTest, RefusesEmptyAndHugeDomains) {
  for (const Domain domain : {Domain{0, 2}, Domain{4, 1}, Domain{1u << 31, 1u << 31}}) {
    EXPECT_THAT(MakeLocalMechanism(GetParam(), *Budget::Parse("1"), domain),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("leaves")));
  }
}

TEST_P(LocalMechanismTest, RefusesValuesOutsideItsDomain) {
  OpenSslRandom random;
  const auto mechanism = Make("1");
  std::vector<int64_t> sums(mechanism->sum_size());
  for (const LeafLabel value : {LeafLabel{5, 0}, LeafLabel{0, TheDomain().classes}}) {
    const auto outside = StatusIs(StatusCode::kInvalidArgument, HasSubstr("domain"));
    EXPECT_THAT(mechanism->Randomize(value, 0, random), outside);
    EXPECT_THAT(mechanism->RandomizeInto(value, random, absl::MakeSpan(sums)), outside);
    EXPECT_THAT(mechanism->OutputProbability(value, 0, *mechanism->Randomize({0, 0}, 0, random)),
                outside);
  }
  EXPECT_EQ(sums, std::vector<int64_t>(mechanism->sum_size()));
}

TEST_P(LocalMechanismTest, RefusesColumnsOutOfRange) {
  OpenSslRandom random;
  const auto mechanism = Make("1");
  const uint32_t last = mechanism->columns() - 1;
  std::vector<int64_t> sums(mechanism->sum_size());
  ASSERT_OK_AND_ASSIGN(const std::string payload, mechanism->Randomize({0, 0}, last, random));
  EXPECT_OK(mechanism->OutputProbability({0, 0}, last, payload));
  for (const uint32_t column : {last + 1, ~0u}) {
    const auto outside = StatusIs(StatusCode::kInvalidArgument, HasSubstr("no column"));
    EXPECT_THAT(mechanism->Randomize({0, 0}, column, random), outside);
    EXPECT_THAT(mechanism->OutputProbability({0, 0}, column, payload), outside);
    EXPECT_THAT(mechanism->Add(payload, column, absl::MakeSpan(sums)), outside);
  }
  EXPECT_EQ(sums, std::vector<int64_t>(mechanism->sum_size()));
}

TEST_P(LocalMechanismTest, WhatItSendsItAccepts) {
  OpenSslRandom random;
  for (const char* epsilon : {"0.01", "1", "20", "1000"}) {
    const auto mechanism = Make(epsilon);
    std::vector<int64_t> sums(mechanism->sum_size());
    for (int i = 0; i < 200; ++i) {
      const LeafLabel value = {TheDomain().leaves - 1, TheDomain().classes - 1};
      const uint32_t column = static_cast<uint32_t>(i) % mechanism->columns();
      ASSERT_OK_AND_ASSIGN(const std::string payload, mechanism->Randomize(value, column, random));
      EXPECT_OK(mechanism->Add(payload, column, absl::MakeSpan(sums)));
    }
  }
}

// At epsilon 20 Laplace noise is almost none, and subset_selection names one cell; at 0.5 it sends
// a bitmap.
TEST_P(LocalMechanismTest, PayloadBytesAreThoseOfAReport) {
  OpenSslRandom random;
  for (const uint32_t leaves : {1u, 5u, 40u, 700u}) {
    const Domain domain = DomainFor(GetParam(), {.leaves = leaves, .classes = 3});
    for (const char* epsilon : {"0.5", "3", "20"}) {
      const auto mechanism = *MakeLocalMechanism(GetParam(), *Budget::Parse(epsilon), domain);
      ASSERT_OK_AND_ASSIGN(const std::string payload, mechanism->Randomize({0, 1}, 0, random));
      const bool laplace =
          GetParam() == MechanismKind::kLaplaceSplit || GetParam() == MechanismKind::kLaplaceJoint;
      if (laplace && epsilon != std::string("20")) continue;
      EXPECT_EQ(mechanism->payload_bytes(), payload.size()) << leaves << " leaves, " << epsilon;
    }
  }
}

TEST_P(LocalMechanismTest, AddsManyAsItAddsEach) {
  OpenSslRandom random;
  const auto mechanism = Make("0.5");
  std::vector<std::string> payloads;
  std::vector<int64_t> one_by_one(mechanism->sum_size(), 3);
  for (uint32_t i = 0; i < 300; ++i) {
    const uint32_t column = i % mechanism->columns();
    payloads.push_back(
        *mechanism->Randomize({i % TheDomain().leaves, i % TheDomain().classes}, column, random));
    ASSERT_OK(mechanism->Add(payloads.back(), column, absl::MakeSpan(one_by_one)));
  }
  std::vector<Contribution> reports;
  for (uint32_t i = 0; i < payloads.size(); ++i) {
    reports.push_back({.payload = payloads[i], .column = i % mechanism->columns()});
  }
  std::vector<int64_t> together(mechanism->sum_size(), 3);
  mechanism->AddAll(reports, absl::MakeSpan(together));
  EXPECT_EQ(together, one_by_one);
}

TEST_P(LocalMechanismTest, ABadPayloadLeavesTheSumsAlone) {
  OpenSslRandom random;
  const auto mechanism = Make("1");
  const std::string good = *mechanism->Randomize({TheDomain().leaves - 1, 1}, 0, random);
  std::vector<int64_t> sums(mechanism->sum_size(), 7);
  for (const std::string& bad : {std::string(), good.substr(1), good + '\0', good + good,
                                 std::string(good.size(), '\xff')}) {
    EXPECT_THAT(mechanism->Add(bad, 0, absl::MakeSpan(sums)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("payload")));
  }
  EXPECT_EQ(sums, std::vector<int64_t>(mechanism->sum_size(), 7));
}

// Almost without noise, Estimate() must return the exact counts. (At epsilon 1000 any Laplace noise
// is non-zero with probability 1e-7 in all. Unary reports are noisy at any epsilon:
// local_mechanism_stat_test checks their estimates.)
TEST(LaplaceEstimateTest, InvertsTheEncoding) {
  OpenSslRandom random;
  for (const MechanismKind kind : {MechanismKind::kLaplaceSplit, MechanismKind::kLaplaceJoint}) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("1000"), kDomain);
    std::vector<int64_t> sums(mechanism->sum_size());
    for (const LeafLabel value : {LeafLabel{0, 0}, {0, 1}, {0, 1}, {3, 2}, {4, 0}}) {
      ASSERT_OK(mechanism->RandomizeInto(value, random, absl::MakeSpan(sums)));
    }
    const LeafCounts counts = mechanism->Estimate(sums, 5);
    EXPECT_EQ(counts.leaf, (std::vector<double>{3, 0, 0, 1, 1}));
    EXPECT_EQ(counts.at(0, 0), 1);
    EXPECT_EQ(counts.at(0, 1), 2);
    EXPECT_EQ(counts.at(3, 2), 1);
    EXPECT_EQ(counts.at(4, 0), 1);
  }
}

TEST(LocalMechanismPayloadTest, SizesAreAsPromised) {
  OpenSslRandom random;
  constexpr Domain kLarge{.leaves = 256, .classes = 2};
  const auto size_of = [&](MechanismKind kind) {
    return (*MakeLocalMechanism(kind, *Budget::Parse("1"), kLarge))
        ->Randomize({200, 1}, 0, random)
        ->size();
  };
  EXPECT_LT(size_of(MechanismKind::kLaplaceSplit), 560u);
  EXPECT_LT(size_of(MechanismKind::kLaplaceJoint), 560u);
  EXPECT_EQ(size_of(MechanismKind::kSymmetricUnary), 64u);
  EXPECT_EQ(size_of(MechanismKind::kOptimizedUnary), 64u);
  EXPECT_EQ(size_of(MechanismKind::kSubsetSelection), 64u);
  EXPECT_EQ(size_of(MechanismKind::kDirect), 2u);
  EXPECT_EQ(size_of(MechanismKind::kHadamardResponse), 1u);
  EXPECT_EQ(size_of(MechanismKind::kLocalHashing), 1u);
  EXPECT_EQ(size_of(MechanismKind::kSignedHadamard), 1u);
}

TEST(LocalMechanismPayloadTest, UnaryRefusesSetPaddingAndCountsOutOfReach) {
  const auto mechanism =
      *MakeLocalMechanism(MechanismKind::kOptimizedUnary, *Budget::Parse("1"), {501, 2});
  std::vector<int64_t> sums(1002);
  std::string padded(126, '\x11');
  padded.back() = '\x04';  // bit 1002, the first past the last
  EXPECT_THAT(mechanism->Add(padded, 0, absl::MakeSpan(sums)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("past its last")));
  std::string all_ones(126, '\xff');
  all_ones.back() = '\x03';
  for (const std::string& impossible : {std::string(126, '\0'), all_ones}) {
    EXPECT_THAT(mechanism->Add(impossible, 0, absl::MakeSpan(sums)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  }
}

// What two reports' laws share of all outputs is less than 1, and most where there are few cells.
TEST(TwoSidedMassTest, IsThatOfTheTreeThatHasMost) {
  const Budget epsilon = *Budget::Parse("2");
  const auto of_leaves = [&](uint32_t leaves) {
    return (*MakeLocalMechanism(MechanismKind::kDirect, epsilon, {.leaves = leaves, .classes = 2}))
        ->TwoSidedMass();
  };
  EXPECT_LT(of_leaves(4), of_leaves(2));
  EXPECT_LT(of_leaves(2), 1);
  const std::vector<uint32_t> leaves = {4, 2, 4};
  EXPECT_EQ(*LargestTwoSidedMass(MechanismKind::kDirect, epsilon, leaves, 2), of_leaves(2));
}

TEST(ParseMechanismTest, ListsTheNamesThereAre) {
  EXPECT_THAT(ParseMechanism("laplace"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("laplace_split")));
}

}  // namespace
}  // namespace coppice
