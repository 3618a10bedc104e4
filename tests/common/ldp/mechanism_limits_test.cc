// The limits that local_mechanism.h promises, and the defaults that a mechanism inherits.

#include <cmath>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/integer_payload.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/local_reports.h"
#include "tests/support/scripted_draws.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DomainFor;
using ::coppice::testing::IsOk;
using ::coppice::testing::ScriptedDraws;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MechanismLimitsTest, KindsKeepTheirStoredNumbers) {
  EXPECT_EQ(static_cast<int>(MechanismKind::kLaplaceSplit), 1);
  EXPECT_EQ(static_cast<int>(MechanismKind::kLaplaceJoint), 2);
  EXPECT_EQ(static_cast<int>(MechanismKind::kSymmetricUnary), 3);
  EXPECT_EQ(static_cast<int>(MechanismKind::kOptimizedUnary), 4);
  EXPECT_EQ(static_cast<int>(MechanismKind::kSubsetSelection), 5);
  EXPECT_EQ(static_cast<int>(MechanismKind::kDirect), 6);
  EXPECT_EQ(static_cast<int>(MechanismKind::kHadamardResponse), 7);
  EXPECT_EQ(static_cast<int>(MechanismKind::kLocalHashing), 8);
  EXPECT_EQ(static_cast<int>(MechanismKind::kSignedHadamard), 9);
  EXPECT_EQ(static_cast<int>(MechanismKind::kWindowResponse), 10);
}

Status Creation(const char* epsilon, Domain domain) {
  return MakeLocalMechanism(MechanismKind::kLaplaceJoint, *Budget::Parse(epsilon), domain).status();
}

TEST(MechanismLimitsTest, EpsilonsAndDomainsAreTakenUpToTheirEnds) {
  EXPECT_EQ(kMaxStudyEpsilonNanos, Budget::Parse("20")->nanos());
  constexpr Domain kLargest{1u << 21, 2};
  EXPECT_THAT(Creation("0.01", kLargest), IsOk());
  EXPECT_THAT(Creation("1000", {1, 2}), IsOk());
  for (const char* epsilon : {"0.009999999", "1000.000000001"}) {
    EXPECT_THAT(Creation(epsilon, {1, 2}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("0.01 to 1000")));
  }
  EXPECT_THAT(Creation("1", {(1u << 21) + 1, 2}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("4194304")));
}

// A mechanism with only what it must define: its reports are the values.
class Plain final : public LocalMechanism {
 public:
  explicit Plain(Domain domain)
      : LocalMechanism(MechanismKind::kLaplaceJoint, *Budget::Parse("1"), domain) {}

  size_t payload_bytes() const override { return 0; }
  size_t sum_size() const override { return domain().cells(); }
  Status Check(std::string_view) const override { return OkStatus(); }
  void AddAll(absl::Span<const Contribution>, absl::Span<int64_t>) const override {}
  Status RandomizeInto(LeafLabel value, PrivateRandom&, absl::Span<int64_t> sums) const override {
    ++sums[value.leaf * domain().classes + value.label];
    return OkStatus();
  }
  LeafCounts Estimate(absl::Span<const int64_t>, uint64_t) const override { return {}; }
  NoiseVariance Variance(uint32_t) const override { return {}; }
  Influence MaxInfluence() const override { return {}; }
  StatusOr<double> LogOutputProbability(LeafLabel, uint32_t, std::string_view) const override {
    return 0;
  }

 private:
  Status Write(LeafLabel, uint32_t, PrivateRandom&, std::string&) const override {
    return OkStatus();
  }
};

TEST(MechanismLimitsTest, ThereIsOneColumnAndEveryCountUnlessItIsSaid) {
  const Plain plain({2, 3});
  EXPECT_EQ(plain.columns(), 1u);
  EXPECT_FALSE(plain.margins_only());
  EXPECT_FALSE(plain.window().has_value());
  for (const MechanismKind kind : AllMechanismKinds()) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("1"), DomainFor(kind, {4, 2}));
    EXPECT_EQ(mechanism->margins_only(), kind == MechanismKind::kSignedHadamard);
    EXPECT_EQ(mechanism->window().has_value(), kind == MechanismKind::kWindowResponse);
  }
}

TEST(MechanismLimitsTest, ATableIsRandomizedRowByRow) {
  ScriptedDraws random({});
  std::vector<int64_t> sums(6);
  ASSERT_OK(Plain({2, 3}).RandomizeAllInto({2, 0, 1, 5, 0, 3}, random, absl::MakeSpan(sums)));
  EXPECT_EQ(sums, (std::vector<int64_t>{2, 0, 1, 5, 0, 3}));
}

// All rows get their noise at once: at epsilon 2 it is a difference of two sums for each entry.
TEST(LaplaceLimitsTest, ATableGetsTheNoiseOfItsRows) {
  const std::vector<uint64_t> rows_of = {2, 0, 1, 5};
  for (const MechanismKind kind : {MechanismKind::kLaplaceSplit, MechanismKind::kLaplaceJoint}) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("2"), {2, 2});
    ScriptedDraws random({});
    random.SetBinomials({7, 0, 0, 0, 4, 0});  // +7, -4
    std::vector<int64_t> sums(4);
    ASSERT_OK(mechanism->RandomizeAllInto(rows_of, random, absl::MakeSpan(sums)));
    // Split has the leaves, then label 1 in each. Joint goes cell by cell.
    const bool split = kind == MechanismKind::kLaplaceSplit;
    EXPECT_EQ(sums, split ? (std::vector<int64_t>{2 + 7, 6 - 4, 0, 5})
                          : (std::vector<int64_t>{2 + 7, 0 - 4, 1, 5}));
    EXPECT_EQ(random.trials().front(), 8u);
  }
}

TEST(LaplaceLimitsTest, EntriesUpToOnePastTheNoiseAreTaken) {
  const auto mechanism =
      *MakeLocalMechanism(MechanismKind::kLaplaceJoint, *Budget::Parse("1"), {1, 2});
  for (const int32_t entry : {142, -142}) {  // the noise is at most 141
    EXPECT_OK(mechanism->Check(EncodeIntegers({0, entry})));
  }
  EXPECT_THAT(mechanism->Check(EncodeIntegers({0, 143})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
}

// The limit is the sum of the noises plus the ones of a noiseless vector.
TEST(LaplaceLimitsTest, EntriesTogetherUpToTheirOnesPastTheNoiseAreTaken) {
  const auto last_accepted = [](MechanismKind kind) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("1"), {256, 2});
    int32_t last = 0;
    for (int32_t total = 0; total < 5000; ++total) {
      std::vector<int32_t> entries(512);
      for (int32_t i = 0; i < total; ++i) ++entries[i % 512];
      if (mechanism->Check(EncodeIntegers(entries)).ok()) last = total;
    }
    return last;
  };
  EXPECT_EQ(last_accepted(MechanismKind::kLaplaceJoint), 1620 + 1);
  EXPECT_EQ(last_accepted(MechanismKind::kLaplaceSplit), 3289 + 2);
}

TEST(LaplaceLimitsTest, InfluenceIsWhatTheLimitsAllow) {
  const auto of = [](MechanismKind kind, Domain domain) {
    return (*MakeLocalMechanism(kind, *Budget::Parse("1"), domain))->MaxInfluence();
  };
  const Influence joint = of(MechanismKind::kLaplaceJoint, {256, 2});
  EXPECT_EQ(joint.count, 142);
  EXPECT_EQ(joint.total, 1620 + 1);
  const Influence split = of(MechanismKind::kLaplaceSplit, {256, 2});
  EXPECT_EQ(split.count, 2 * 282);
  EXPECT_EQ(split.total, 2 * (3289 + 2));
  // With many classes and few leaves the sum is the tighter limit.
  const Influence few = of(MechanismKind::kLaplaceSplit, {1, 8});
  EXPECT_LT(few.count, 8 * 282);
  EXPECT_EQ(few.count * 2, few.total);
}

// Together with the test above, this is the table of docs/threat-model.md.
TEST(UnaryLimitsTest, InfluenceIsWhatTheLimitsAllow) {
  const auto of = [](MechanismKind kind) {
    return (*MakeLocalMechanism(kind, *Budget::Parse("1"), {256, 2}))->MaxInfluence();
  };
  const Influence symmetric = of(MechanismKind::kSymmetricUnary);
  EXPECT_NEAR(symmetric.count, 2.541, 0.001);
  EXPECT_NEAR(symmetric.total, 1117, 0.5);
  const Influence optimized = of(MechanismKind::kOptimizedUnary);
  EXPECT_NEAR(optimized.count, 3.164, 0.001);
  EXPECT_NEAR(optimized.total, 1140, 0.5);
}

// The rest of that table.
TEST(FixedSizeLimitsTest, InfluenceIsWhatTheSetOrSymbolAllows) {
  struct Expected {
    MechanismKind kind;
    double count, total, deviation;
  };
  for (const auto& [kind, count, total, deviation] :
       std::vector<Expected>{{MechanismKind::kSubsetSelection, 3.155, 869.8, 1.91},
                             {MechanismKind::kDirect, 298.4, 595.8, 13.2},
                             {MechanismKind::kHadamardResponse, 2.164, 1108, 2.16},
                             {MechanismKind::kLocalHashing, 2.744, 1035, 1.94},
                             {MechanismKind::kSignedHadamard, 1.082, 554.0, 1.08}}) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("1"), {256, 2});
    EXPECT_NEAR(mechanism->MaxInfluence().count, count, 5e-4 * count) << MechanismName(kind);
    EXPECT_NEAR(mechanism->MaxInfluence().total, total, 5e-4 * total) << MechanismName(kind);
    EXPECT_NEAR(std::sqrt(mechanism->Variance(1).label), deviation, 5e-3 * deviation)
        << MechanismName(kind);
  }
}

// Of one leaf.
TEST(FixedSizeLimitsTest, InfluenceIsWhatTheReachOfAWindowAllows) {
  const auto mechanism =
      *MakeLocalMechanism(MechanismKind::kWindowResponse, *Budget::Parse("1"), {1, 2});
  EXPECT_NEAR(mechanism->MaxInfluence().count, 2.431, 0.001);
  EXPECT_NEAR(mechanism->MaxInfluence().total, 3.861, 0.001);
  EXPECT_NEAR(std::sqrt(mechanism->Variance(1).label), 1.13, 0.005);
}

TEST(LaplaceLimitsTest, NoiseIsTheSameWhereverTheRowIs) {
  for (const MechanismKind kind : {MechanismKind::kLaplaceSplit, MechanismKind::kLaplaceJoint}) {
    const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("1"), {4, 3});
    for (const uint32_t label : {0u, 2u}) {
      const NoiseVariance variance = mechanism->Variance(label);
      for (const NoiseVariance::Hit& hit : {variance.hit, variance.beside}) {
        for (const double more : {hit.leaf, hit.label, hit.covariance}) EXPECT_EQ(more, 0);
      }
    }
  }
  const auto split = *MakeLocalMechanism(MechanismKind::kLaplaceSplit, *Budget::Parse("1"), {4, 3});
  EXPECT_EQ(split->Variance(1).covariance, 0);
}

}  // namespace
}  // namespace coppice
