#include "server/lab/liars.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/ldp/symbol_response.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<LocalMechanism> Mechanism(MechanismKind kind, Domain domain) {
  return *MakeLocalMechanism(kind, *Budget::Parse("1"), domain);
}

LiarOptions Options(Attack attack, uint32_t target = 1) {
  return {.attack = attack, .share = 0.1, .target = target};
}

// What sums add to the class more than to the others on average, over all leaves.
double PushOf(const LocalMechanism& mechanism, const std::vector<int64_t>& sums, uint32_t target,
              uint64_t reports = 1) {
  const LeafCounts counts = mechanism.Estimate(sums, reports);
  double push = 0;
  for (size_t i = 0; i < counts.label.size(); ++i) {
    push += counts.label[i] * (i % counts.classes == target ? 1 : -1.0 / (counts.classes - 1));
  }
  return push;
}

double PushOf(const LocalMechanism& mechanism, const std::string& payload, uint32_t column,
              uint32_t target) {
  std::vector<int64_t> sums(mechanism.sum_size());
  EXPECT_OK(mechanism.Add(payload, column, absl::MakeSpan(sums)));
  return PushOf(mechanism, sums, target);
}

TEST(DrawLiarsTest, AreExactlyTheShare) {
  PublicRandom random(1);
  for (const double share : {0.0, 0.05, 0.5, 1.0}) {
    const std::vector<bool> lies = DrawLiars(1000, share, random);
    EXPECT_EQ(std::count(lies.begin(), lies.end(), true), std::llround(1000 * share));
  }
}

TEST(AttackTest, NamesGoBothWays) {
  for (const Attack attack : {Attack::kLabel, Attack::kGiven, Attack::kChosen}) {
    ASSERT_OK_AND_ASSIGN(const Attack parsed, ParseAttack(AttackName(attack)));
    EXPECT_EQ(parsed, attack);
  }
  EXPECT_THAT(ParseAttack("x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no attack")));
}

class SymbolLiarTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, SymbolLiarTest,
                         ::testing::Values(MechanismKind::kSignedHadamard,
                                           MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing, MechanismKind::kDirect),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

// Against all accepted payloads: given a column none pushes more, and no column more than the
// chosen one.
TEST_P(SymbolLiarTest, NoPayloadPushesMore) {
  const auto mechanism = Mechanism(GetParam(), {.leaves = 5, .classes = 2});
  for (const uint32_t target : {0u, 1u}) {
    double best = 0;
    double mean_of_best = 0;
    for (uint32_t column = 0; column < mechanism->columns(); ++column) {
      double best_here = -1e9;
      for (const std::string& payload : AcceptedPayloads(*mechanism)) {
        best_here = std::max(best_here, PushOf(*mechanism, payload, column, target));
      }
      best = std::max(best, best_here);
      mean_of_best += best_here / mechanism->columns();
    }
    PublicRandom random(7);
    constexpr int kReports = 4000;
    std::vector<int64_t> sums(mechanism->sum_size());
    ASSERT_OK_AND_ASSIGN(const Pusher given,
                         Pusher::Create(*mechanism, Options(Attack::kGiven, target)));
    for (int i = 0; i < kReports; ++i) ASSERT_OK(given.SendInto(random, absl::MakeSpan(sums)));
    EXPECT_NEAR(PushOf(*mechanism, sums, target, kReports) / kReports, mean_of_best, 0.1 * best);

    if (mechanism->columns() == 1) continue;
    std::vector<int64_t> one(mechanism->sum_size());
    ASSERT_OK_AND_ASSIGN(const Pusher chosen,
                         Pusher::Create(*mechanism, Options(Attack::kChosen, target)));
    ASSERT_OK(chosen.SendInto(random, absl::MakeSpan(one)));
    EXPECT_NEAR(PushOf(*mechanism, one, target), best, 1e-9);
  }
}

class SetLiarTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, SetLiarTest,
                         ::testing::Values(MechanismKind::kSubsetSelection,
                                           MechanismKind::kSymmetricUnary,
                                           MechanismKind::kOptimizedUnary),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

// As cells of one class as the mechanism has room for, whether few leaves or many, two classes or
// three.
TEST_P(SetLiarTest, PayloadsAreAcceptedAndOfTheTargetOnly) {
  for (const Domain domain : {Domain{5, 2}, Domain{64, 2}, Domain{700, 3}}) {
    const auto mechanism = Mechanism(GetParam(), domain);
    ASSERT_OK_AND_ASSIGN(const Pusher pusher, Pusher::Create(*mechanism, Options(Attack::kGiven)));
    PublicRandom random(7);
    std::vector<int64_t> sums(mechanism->sum_size());
    for (int i = 0; i < 20; ++i) ASSERT_OK(pusher.SendInto(random, absl::MakeSpan(sums)));
    int64_t others = 0;
    for (size_t cell = 0; cell < sums.size(); ++cell) {
      if (cell % domain.classes != 1) others += sums[cell];
    }
    EXPECT_GT(PushOf(*mechanism, sums, 1, 20), 20);
    if (GetParam() == MechanismKind::kSubsetSelection) EXPECT_EQ(others, 0);
  }
}

TEST(PusherTest, SaysWhatItCannotSimulate) {
  const Domain domain = {.leaves = 4, .classes = 2};
  const auto refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
  };
  const auto sets = Mechanism(MechanismKind::kSubsetSelection, domain);
  EXPECT_THAT(Pusher::Create(*sets, Options(Attack::kChosen)), refused("no columns"));
  EXPECT_THAT(Pusher::Create(*sets, Options(Attack::kGiven, 2)), refused("no class 2"));
  const auto direct = Mechanism(MechanismKind::kDirect, domain);
  EXPECT_THAT(Pusher::Create(*direct, Options(Attack::kChosen)), refused("no columns"));
  const auto laplace = Mechanism(MechanismKind::kLaplaceJoint, domain);
  EXPECT_THAT(Pusher::Create(*laplace, Options(Attack::kGiven)), refused("by label only"));
}

}  // namespace
}  // namespace coppice
