#include "server/curator/estimation/inspection/alarms.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/subset_selection.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::BinomialPlan;
using ::coppice::testing::DomainFor;
using ::coppice::testing::KindsForClasses;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A study whose devices, honest or not, draw trees and columns as tickets do.
class SimulatedStudy {
 public:
  SimulatedStudy(MechanismKind kind, const std::vector<uint32_t>& leaves, uint32_t classes = 2) {
    for (const uint32_t of_tree : leaves) {
      mechanisms_.push_back(*MakeLocalMechanism(
          kind, *Budget::Parse("1"), DomainFor(kind, {.leaves = of_tree, .classes = classes})));
      sums_.push_back({.sums = std::vector<int64_t>(mechanisms_.back()->sum_size())});
    }
  }

  const LocalMechanism& mechanism(size_t tree) const { return *mechanisms_[tree]; }
  size_t DrawTree() { return coins_.Below(mechanisms_.size()); }

  void AddHonest(size_t count, LeafLabel row) {
    for (size_t i = 0; i < count; ++i) AddHonestIn(DrawTree(), row);
  }
  void AddHonestIn(size_t tree, LeafLabel row) {
    ++sums_[tree].reports;
    EXPECT_OK(mechanisms_[tree]->RandomizeInto(row, noise_, absl::MakeSpan(sums_[tree].sums)));
  }
  void Add(size_t tree, const std::string& payload, uint32_t column) {
    ++sums_[tree].reports;
    EXPECT_OK(mechanisms_[tree]->Add(payload, column, absl::MakeSpan(sums_[tree].sums)));
  }
  // Adds liars that report a true row but choose their column.
  void AddInColumn(size_t count, LeafLabel row, uint32_t column) {
    for (size_t i = 0; i < count; ++i) {
      const size_t tree = DrawTree();
      Add(tree, *mechanisms_[tree]->Randomize(row, column, noise_), column);
    }
  }

  std::map<std::string, Alarm> Alarms(double false_alarm = kFalseAlarm) const {
    std::vector<TreeReports> trees;
    for (size_t t = 0; t < sums_.size(); ++t) trees.push_back({mechanisms_[t].get(), &sums_[t]});
    std::map<std::string, Alarm> alarms;
    for (Alarm& alarm : ComputeAlarms(trees, false_alarm)) alarms[alarm.name] = std::move(alarm);
    return alarms;
  }

 private:
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms_;
  std::vector<TreeSums> sums_;
  OpenSslRandom noise_;
  PublicRandom coins_{next_seed++};

  static inline uint64_t next_seed = 1;
};

std::vector<std::string> Raised(const std::map<std::string, Alarm>& alarms) {
  std::vector<std::string> raised;
  for (const auto& [name, alarm] : alarms) {
    if (alarm.raised) raised.push_back(name);
  }
  return raised;
}

using Raises = std::vector<std::string>;

class HonestStudyTest : public ::testing::TestWithParam<std::tuple<MechanismKind, uint32_t>> {};

INSTANTIATE_TEST_SUITE_P(All, HonestStudyTest,
                         ::testing::Combine(::testing::ValuesIn(KindsForClasses()),
                                            ::testing::Values(2u, 3u)),
                         [](const auto& test) {
                           return std::string(MechanismName(std::get<0>(test.param))) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

// Measured at p = 0.2, with all rows in one leaf and class, where margin and share are at the end
// of their interval. The plan refuses a sound rate with probability below 1e-9 per alarm. At
// kFalseAlarm, 3000 alarms raise one with probability below 0.3, and six below 1e-6.
TEST_P(HonestStudyTest, RaisesAlarmsNoMoreOftenThanStated) {
  constexpr int kStudies = 1000;
  const BinomialPlan plan = {.p = 0.2, .trials = kStudies};
  std::map<std::string, uint64_t> raised;
  std::map<std::string, double> squares;
  int at_default = 0;
  for (int i = 0; i < kStudies; ++i) {
    SimulatedStudy study(std::get<0>(GetParam()), {5, 8, 6}, std::get<1>(GetParam()));
    study.AddHonest(200, {.leaf = 4, .label = 1});
    for (const auto& [name, alarm] : study.Alarms(plan.p)) {
      raised[name] += alarm.raised ? 1 : 0;
      at_default += alarm.chance < kFalseAlarm ? 1 : 0;
      squares[name] += alarm.value * alarm.value / kStudies;
      EXPECT_EQ(alarm.raised, alarm.chance < plan.p);
    }
  }
  EXPECT_GE(raised.size(), 2u);
  for (const auto& [name, times] : raised) {
    EXPECT_TRUE(times <= plan.p * kStudies || plan.Accepts(times)) << name << " " << times;
  }
  EXPECT_LT(at_default, 6);
  // At the end of its interval half of an unbiased margin lies outside, with half of its variance:
  // 1 +- 0.07 here.
  if (squares.contains("margin")) {
    EXPECT_GT(2 * squares["margin"], 0.5);
    EXPECT_LT(2 * squares["margin"], 1.5);
  }
}

TEST(AlarmsTest, ThePlanRefusesStudiesWithLiars) {
  constexpr int kStudies = 300;
  const BinomialPlan plan = {.p = 0.2, .trials = kStudies};
  std::map<std::string, uint64_t> raised;
  for (int i = 0; i < kStudies; ++i) {
    SimulatedStudy study(MechanismKind::kSignedHadamard, {5, 8, 6});
    study.AddHonest(160, {.leaf = 4, .label = 1});
    study.AddInColumn(40, {.leaf = 4, .label = 1}, 0);
    for (const auto& [name, alarm] : study.Alarms(plan.p)) raised[name] += alarm.raised ? 1 : 0;
  }
  EXPECT_FALSE(plan.Accepts(raised["column"]));
}

TEST(AlarmsTest, NoReportNoAlarm) {
  EXPECT_TRUE(SimulatedStudy(MechanismKind::kSignedHadamard, {4, 4}).Alarms().empty());
}

TEST(AlarmsTest, OneTreeWithoutColumnsHasItsMarginAlone) {
  SimulatedStudy study(MechanismKind::kSubsetSelection, {4});
  study.AddHonest(10, {.leaf = 1, .label = 0});
  const auto alarms = study.Alarms();
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms.begin()->first, "margin");
}

TEST(AlarmsTest, ACountSaysWhatItIsAndWhatIsExpected) {
  SimulatedStudy study(MechanismKind::kSignedHadamard, {3});
  const uint32_t counts[] = {60, 260, 40, 40};
  for (uint32_t column = 0; column < 4; ++column) {
    for (uint32_t i = 0; i < counts[column]; ++i) {
      study.Add(0, std::string(1, static_cast<char>(i % 2)), column);
    }
  }
  const Alarm alarm = study.Alarms()["column"];
  EXPECT_THAT(alarm.text, StartsWith("column 1 of 4 has 260 reports where 100 +- 9 are expected: "
                                     "somebody chooses columns (chance below "));
  EXPECT_NEAR(alarm.value, 160 / std::sqrt(400 * 0.25 * 0.75), 1e-9);
  // 8 exp(-400 KL(0.65 || 0.25)), by hand.
  const double kl = 0.65 * std::log(0.65 / 0.25) + 0.35 * std::log(0.35 / 0.75);
  EXPECT_NEAR(alarm.chance / (8 * std::exp(-400 * kl)), 1, 1e-9);
}

TEST(AlarmsTest, ACountThatIsLikelyAccusesNobody) {
  SimulatedStudy study(MechanismKind::kDirect, {3, 3});
  for (size_t i = 0; i < 30; ++i) study.AddHonestIn(i % 2, {.leaf = 0, .label = 0});
  const Alarm alarm = study.Alarms()["tree"];
  EXPECT_EQ(alarm.text, "tree 0 of 2 has 15 reports where 15 +- 3 are expected");
  EXPECT_EQ(alarm.value, 0);
  EXPECT_EQ(alarm.chance, 1);
}

TEST(AlarmsTest, TreesWithAsManyColumnsAreAddedUp) {
  // 4, 8 and 4 columns.
  SimulatedStudy study(MechanismKind::kSignedHadamard, {3, 7, 4});
  for (const size_t tree : {0, 1, 2}) {
    for (uint32_t column = 0; column < study.mechanism(tree).columns(); ++column) {
      for (int i = 0; i < 50; ++i) study.Add(tree, std::string(1, '\0'), column);
    }
  }
  for (int i = 0; i < 60; ++i) study.Add(i % 2 * 2, std::string(1, '\0'), 3);
  EXPECT_THAT(study.Alarms()["column"].text,
              StartsWith("column 3 of 4 has 160 reports where 115 +- 9 are expected"));
}

TEST(AlarmsTest, TheMarginSaysHowFarItIsOutside) {
  SimulatedStudy study(MechanismKind::kSignedHadamard, {1});
  for (int i = 0; i < 1000; ++i) study.Add(0, std::string(1, i < 900 ? '\0' : '\1'), 0);
  const Alarm alarm = study.Alarms()["margin"];
  const double keep = std::tanh(0.5);
  EXPECT_NEAR(alarm.value, (0.8 / keep - 1) / (1 / keep / std::sqrt(1000)), 1e-6);
  EXPECT_THAT(alarm.text, AllOf(StartsWith("the mean label margin is 1.73 +- 0.07 and lies in "
                                           "[-1, 1] if all are honest: somebody pushes labels"),
                                EndsWith(")")));
}

class ColumnAlarmTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, ColumnAlarmTest,
                         ::testing::Values(MechanismKind::kSignedHadamard,
                                           MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(ColumnAlarmTest, OneInTwentyInColumnZeroIsSeen) {
  SimulatedStudy study(GetParam(), std::vector<uint32_t>(8, 16));
  study.AddHonest(4750, {.leaf = 2, .label = 0});
  study.AddHonest(4750, {.leaf = 5, .label = 1});
  EXPECT_EQ(Raised(study.Alarms()), Raises());
  study.AddInColumn(500, {.leaf = 2, .label = 0}, 0);
  EXPECT_EQ(Raised(study.Alarms()), Raises({"column"}));
  EXPECT_THAT(study.Alarms()["column"].text, StartsWith("column 0 of "));
}

class TreeAlarmTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, TreeAlarmTest, ::testing::ValuesIn(KindsForClasses()),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(TreeAlarmTest, OneInTwentyInOneTreeIsSeen) {
  SimulatedStudy study(GetParam(), std::vector<uint32_t>(8, 4));
  study.AddHonest(2375, {.leaf = 2, .label = 0});
  study.AddHonest(2375, {.leaf = 2, .label = 1});
  EXPECT_EQ(Raised(study.Alarms()), Raises());
  for (int i = 0; i < 250; ++i) study.AddHonestIn(3, {.leaf = 2, .label = 0});
  EXPECT_EQ(Raised(study.Alarms()), Raises({"tree"}));
  EXPECT_THAT(study.Alarms()["tree"].text, HasSubstr("somebody chooses trees"));
  EXPECT_THAT(study.Alarms()["tree"].text, StartsWith("tree 3 of 8 has "));
}

// Adds sets that hold cells of class `label` only.
void PushSets(SimulatedStudy& study, int liars, uint32_t label) {
  for (int i = 0; i < liars; ++i) {
    const size_t tree = study.DrawTree();
    const auto& sets = static_cast<const SubsetSelection&>(study.mechanism(tree));
    ASSERT_TRUE(sets.is_bitmap());
    std::string payload(sets.payload_bytes(), '\0');
    for (size_t member = 0; member < sets.members(); ++member) {
      FlipBit(payload, member * sets.domain().classes + label);
    }
    study.Add(tree, payload, 0);
  }
}

TEST(AlarmsTest, PushedMarginsAreSeenInEitherDirection) {
  for (const uint32_t label : {0u, 1u}) {
    SimulatedStudy study(MechanismKind::kSubsetSelection, std::vector<uint32_t>(8, 16));
    study.AddHonest(4750, {.leaf = 2, .label = 0});
    study.AddHonest(4750, {.leaf = 3, .label = 1});
    EXPECT_EQ(Raised(study.Alarms()), Raises());
    PushSets(study, 1000, label);
    EXPECT_EQ(Raised(study.Alarms()), Raises({"margin"}));
    EXPECT_GT(study.Alarms()["margin"].value, 5);
  }
}

TEST(AlarmsTest, APushedShareIsSeenAmongThreeClasses) {
  SimulatedStudy study(MechanismKind::kSubsetSelection, std::vector<uint32_t>(8, 16), 3);
  for (const uint32_t label : {0u, 1u, 2u}) study.AddHonest(3000, {.leaf = 2, .label = label});
  EXPECT_EQ(Raised(study.Alarms()), Raises());
  PushSets(study, 900, 2);
  EXPECT_EQ(Raised(study.Alarms()), Raises({"share"}));
  EXPECT_THAT(study.Alarms()["share"].text, StartsWith("the share of class 2 is "));
}

TEST(AlarmsTest, FalseLabelsAreNotSeen) {
  SimulatedStudy study(MechanismKind::kSignedHadamard, std::vector<uint32_t>(8, 16));
  study.AddHonest(5000, {.leaf = 2, .label = 0});
  study.AddHonest(5000, {.leaf = 2, .label = 1});  // as many as half of the devices
  EXPECT_EQ(Raised(study.Alarms()), Raises());
}

}  // namespace
}  // namespace coppice::curator
