#include "server/lab/simulation/liars.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/symbol_response.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<LocalMechanism> Mechanism(MechanismKind kind, Domain domain) {
  return *MakeLocalMechanism(kind, *Budget::Parse("1"), domain);
}

// What cells are worth to a liar who pushes `target` alike in all leaves.
std::vector<double> Worths(const Domain& domain, uint32_t target = 1) {
  std::vector<double> worths(domain.cells(), -1.0 / (domain.classes - 1));
  for (size_t leaf = 0; leaf < domain.leaves; ++leaf) worths[leaf * domain.classes + target] = 1;
  return worths;
}

// By how much the sums favour the class over the others' average, over all leaves.
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
  for (const Aim aim : {Aim::kLeaves, Aim::kRows, Aim::kInvert}) {
    ASSERT_OK_AND_ASSIGN(const Aim parsed, ParseAim(AimName(aim)));
    EXPECT_EQ(parsed, aim);
  }
  for (const Claim claim : {Claim::kOwn, Claim::kChosen}) {
    ASSERT_OK_AND_ASSIGN(const Claim parsed, ParseClaim(ClaimName(claim)));
    EXPECT_EQ(parsed, claim);
  }
  EXPECT_THAT(ParseAttack("x"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no attack")));
  EXPECT_THAT(ParseClaim("x"), StatusIs(StatusCode::kInvalidArgument,
                                        HasSubstr("no claim; there are own and chosen")));
}

class SymbolLiarTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, SymbolLiarTest,
                         ::testing::Values(MechanismKind::kSignedHadamard,
                                           MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing, MechanismKind::kDirect),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

// Compares all accepted payloads: none pushes more in a given column, and no column allows more
// than the chosen one.
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
    ASSERT_OK_AND_ASSIGN(const Pusher given, Pusher::Create(*mechanism, Attack::kGiven,
                                                            Worths(mechanism->domain(), target)));
    for (int i = 0; i < kReports; ++i) ASSERT_OK(given.SendInto(random, absl::MakeSpan(sums)));
    EXPECT_NEAR(PushOf(*mechanism, sums, target, kReports) / kReports, mean_of_best, 0.1 * best);

    if (mechanism->columns() == 1) continue;
    std::vector<int64_t> one(mechanism->sum_size());
    ASSERT_OK_AND_ASSIGN(const Pusher chosen, Pusher::Create(*mechanism, Attack::kChosen,
                                                             Worths(mechanism->domain(), target)));
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

// A payload has as many cells of the target as the mechanism takes, with few leaves or many and two
// classes or three.
TEST_P(SetLiarTest, PayloadsAreAcceptedAndOfTheTargetOnly) {
  for (const Domain domain : {Domain{5, 2}, Domain{64, 2}, Domain{700, 3}}) {
    const auto mechanism = Mechanism(GetParam(), domain);
    ASSERT_OK_AND_ASSIGN(const Pusher pusher,
                         Pusher::Create(*mechanism, Attack::kGiven, Worths(domain)));
    PublicRandom random(7);
    std::vector<int64_t> sums(mechanism->sum_size());
    for (int i = 0; i < 20; ++i) ASSERT_OK(pusher.SendInto(random, absl::MakeSpan(sums)));
    int64_t others = 0;
    for (size_t cell = 0; cell < sums.size(); ++cell) {
      if (cell % domain.classes != 1) others += sums[cell];
    }
    EXPECT_GT(PushOf(*mechanism, sums, 1, 20), 20);
    if (GetParam() == MechanismKind::kSubsetSelection) {
      EXPECT_EQ(others, 0);
    }
  }
}

// Two leaves with 6 and 2 public rows, of which 5 and 0 are of class 1.
const curator::PublicCounts kPublic = {.classes = 2, .leaf = {6, 2}, .label = {1, 5, 2, 0}};

TEST(CellWorthsTest, FollowTheAim) {
  using Values = std::vector<double>;
  const auto worths = [](Aim aim, uint32_t target) {
    return *CellWorths({.attack = Attack::kGiven, .aim = aim, .target = target}, kPublic);
  };
  EXPECT_EQ(worths(Aim::kLeaves, 1), Values({-1, 1, -1, 1}));
  EXPECT_EQ(worths(Aim::kLeaves, 0), Values({1, -1, 1, -1}));
  EXPECT_EQ(worths(Aim::kRows, 1), Values({-6, 6, -2, 2}));
  EXPECT_EQ(worths(Aim::kInvert, 1), Values({2, -2, -1, 1}));
  EXPECT_THAT(CellWorths({.target = 2}, kPublic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no class 2")));
}

TEST(PusherTest, SetsAreOfTheCellsWorthMost) {
  const auto mechanism = Mechanism(MechanismKind::kSubsetSelection, {.leaves = 4, .classes = 2});
  // A set has two members: e + 1 go into 8 twice.
  ASSERT_OK_AND_ASSIGN(const Pusher pusher,
                       Pusher::Create(*mechanism, Attack::kGiven, {0, 3, 5, -1, 2, -2, 4, 1}));
  PublicRandom random(7);
  std::vector<int64_t> sums(8);
  for (int i = 0; i < 10; ++i) ASSERT_OK(pusher.SendInto(random, absl::MakeSpan(sums)));
  EXPECT_EQ(sums, std::vector<int64_t>({0, 0, 10, 0, 0, 0, 10, 0}));
}

TEST(PusherTest, SaysWhatItCannotSimulate) {
  const Domain domain = {.leaves = 4, .classes = 2};
  const auto create = [&](MechanismKind kind, Attack attack) {
    return Pusher::Create(*Mechanism(kind, domain), attack, Worths(domain)).status();
  };
  const auto refused = [](const char* why) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_THAT(create(MechanismKind::kSubsetSelection, Attack::kChosen), refused("no columns"));
  EXPECT_THAT(create(MechanismKind::kDirect, Attack::kChosen), refused("no columns"));
  EXPECT_THAT(create(MechanismKind::kLaplaceJoint, Attack::kGiven), refused("by label only"));
  EXPECT_THAT(create(MechanismKind::kLaplaceSplit, Attack::kGiven), refused("by label only"));
}

// "age" is private, "region" is public.
std::shared_ptr<const Schema> PublicRegion() {
  std::vector<Feature> features = {
      {.name = "age", .min = 0, .max = 100, .values = {}},
      {.name = "region", .type = FeatureType::kCategorical, .values = {"north", "south"}}};
  features[1].is_public = true;
  return std::make_shared<const Schema>(*Schema::Create(features, "y", {"no", "yes"}));
}

// region == north ? leaf 0 : (age < 20 ? leaf 1 : (age < 60 ? leaf 2 : leaf 3))
Tree TreeByRegion(const Schema& schema) {
  const Node leaf;
  return *Tree::Create({{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 2},
                        leaf,
                        {.kind = SplitKind::kNumeric, .threshold = 20, .left = 3, .right = 4},
                        leaf,
                        {.kind = SplitKind::kNumeric, .threshold = 60, .left = 5, .right = 6},
                        leaf,
                        leaf},
                       schema);
}

// The north has two public rows, the south three, one in each of its leaves. So a report about the
// north weighs more, except in a column that is even over the south's leaves, where one about the
// south does.
class ConsistentPusherTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  ConsistentPusherTest() {
    for (int i = 0; i < 2; ++i) rows_.Append(Row{10, 0}, 1);
    for (const double age : {10.0, 40.0, 80.0}) rows_.Append(Row{age, 1}, age < 50 ? 1 : 0);
  }

  curator::ConsistentCounter CounterOf(MechanismKind kind) const {
    return {tree_, schema_, *curator::MechanismsBySize::Create(kind, *Budget::Parse("1"), {4, 2})};
  }

  // What a report adds to the estimates, weighed by worth over the public rows that allow it.
  double PushOf(const curator::ConsistentCounter& counter, const ClaimedReport& report,
                const LiarOptions& options) const {
    curator::TreeSums sums{.sums = std::vector<int64_t>(counter.sum_size()), .reports = 1};
    counter.AddChecked(report.leaves, {.payload = report.payload, .column = report.column},
                       absl::MakeSpan(sums.sums));
    const std::vector<double> worths = *CellWorths(options, curator::CountPublicRows(tree_, rows_));
    const LeafCounts said = counter.Estimate(sums);
    double push = 0;
    for (size_t cell = 0; cell < worths.size(); ++cell) {
      push += worths[cell] * said.label[cell] / (cell < 2 ? 2 : 3);
    }
    return push;
  }

  std::shared_ptr<const Schema> schema_ = PublicRegion();
  Tree tree_ = TreeByRegion(*schema_);
  Table rows_{schema_};
  PublicRandom random_{7};
};

INSTANTIATE_TEST_SUITE_P(All, ConsistentPusherTest,
                         ::testing::Values(MechanismKind::kSignedHadamard,
                                           MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing, MechanismKind::kDirect,
                                           MechanismKind::kSubsetSelection,
                                           MechanismKind::kOptimizedUnary),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(ConsistentPusherTest, ReportsAreAcceptedAndAboutTheClaimedValues) {
  const curator::ConsistentCounter counter = CounterOf(GetParam());
  for (const Aim aim : {Aim::kLeaves, Aim::kRows, Aim::kInvert}) {
    for (const Claim claim : {Claim::kOwn, Claim::kChosen}) {
      const LiarOptions options = {.attack = Attack::kGiven, .aim = aim, .claim = claim};
      ASSERT_OK_AND_ASSIGN(const ConsistentPusher pusher,
                           ConsistentPusher::Create(
                               counter, rows_, curator::CountPublicRows(tree_, rows_), options));
      for (int i = 0; i < 50; ++i) {
        ASSERT_OK_AND_ASSIGN(const ClaimedReport report,
                             pusher.Send({1, 2, 3}, /*own_column=*/0, random_));
        EXPECT_EQ(report.public_row.has_value(), claim == Claim::kChosen);
        const Row claimed =
            report.public_row.has_value() ? rows_.row(*report.public_row) : Row{50, 1};
        EXPECT_EQ(report.leaves, counter.LeavesOf(claimed));
        const LocalMechanism& mechanism = counter.MechanismFor(report.leaves.size());
        EXPECT_OK(mechanism.Check(report.payload));
        EXPECT_LT(report.column, mechanism.columns());
      }
    }
  }
}

TEST_P(ConsistentPusherTest, ChosenValuesPushAtLeastAsMuchAsAnyRowsOwn) {
  const curator::ConsistentCounter counter = CounterOf(GetParam());
  constexpr int kReports = 20'000;
  for (const Aim aim : {Aim::kLeaves, Aim::kInvert}) {
    LiarOptions options = {.attack = Attack::kGiven, .aim = aim};
    const curator::PublicCounts counts = curator::CountPublicRows(tree_, rows_);
    ASSERT_OK_AND_ASSIGN(const ConsistentPusher own,
                         ConsistentPusher::Create(counter, rows_, counts, options));
    options.claim = Claim::kChosen;
    ASSERT_OK_AND_ASSIGN(const ConsistentPusher chosen,
                         ConsistentPusher::Create(counter, rows_, counts, options));
    double of_chosen = 0, of_north = 0, of_south = 0;
    for (int i = 0; i < kReports; ++i) {
      const auto column = static_cast<uint32_t>(random_.Next() % 64);
      const auto send = [&](const ConsistentPusher& pusher, std::vector<uint32_t> leaves) {
        const uint32_t columns = counter.MechanismFor(leaves.size()).columns();
        return PushOf(counter, *pusher.Send(leaves, column % columns, random_), options);
      };
      of_chosen += send(chosen, {0}) / kReports;
      of_north += send(own, {0}) / kReports;
      of_south += send(own, {1, 2, 3}) / kReports;
    }
    EXPECT_GE(of_chosen, 0.97 * std::max(of_north, of_south));
    EXPECT_GE(std::min(of_north, of_south), -1e-9);
    if (GetParam() == MechanismKind::kSignedHadamard && aim == Aim::kLeaves) {
      EXPECT_GT(of_chosen, 1.15 * std::max(of_north, of_south));  // 5/8 against 1/2
    }
  }
}

// If all features are public a report is about one leaf, and weighs most in that of fewest rows.
TEST(ConsistentPusherChoiceTest, IsTheLeafThatFewReportsAreAbout) {
  std::vector<Feature> features = PublicRegion()->features();
  features[0].is_public = true;
  const auto schema = std::make_shared<const Schema>(*Schema::Create(features, "y", {"no", "yes"}));
  const Tree tree = TreeByRegion(*schema);
  Table rows(schema);
  for (int i = 0; i < 8; ++i) rows.Append(Row{10, 0}, 1);
  for (const double age : {10.0, 12.0, 40.0, 80.0, 81.0}) rows.Append(Row{age, 1}, 0);
  const curator::ConsistentCounter counter(
      tree, schema,
      *curator::MechanismsBySize::Create(MechanismKind::kSignedHadamard, *Budget::Parse("1"),
                                         {1, 2}));
  ASSERT_OK_AND_ASSIGN(
      const ConsistentPusher pusher,
      ConsistentPusher::Create(counter, rows, curator::CountPublicRows(tree, rows),
                               {.attack = Attack::kGiven, .claim = Claim::kChosen}));
  PublicRandom random(7);
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const ClaimedReport report, pusher.Send({0}, 0, random));
    EXPECT_EQ(report.leaves, std::vector<uint32_t>({2}));
    EXPECT_EQ(report.public_row, 10u);
  }
}

TEST(ClaimedRowsTest, HaveTheClaimedValuesAndTheirOwnLabels) {
  Table public_rows(PublicRegion()), private_rows(PublicRegion());
  public_rows.Append(Row{1, 0}, 0);
  public_rows.Append(Row{2, 1}, 0);
  for (const double age : {30.0, 40.0, 50.0}) private_rows.Append(Row{age, 0}, 1);
  const Table claimed = ClaimedRows(public_rows, private_rows, {{1, 1}});
  EXPECT_EQ(claimed.row(0), (Row{30, 0}));
  EXPECT_EQ(claimed.row(1), (Row{2, 1}));
  EXPECT_EQ(claimed.row(2), (Row{50, 0}));
  EXPECT_EQ(std::count(claimed.labels().begin(), claimed.labels().end(), 1u), 3);
}

}  // namespace
}  // namespace coppice::lab
