#include "server/curator/estimation/counts/consistent_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/estimation/inspection/alarms.h"
#include "server/curator/estimation/inspection/break_down.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::DomainFor;
using ::coppice::testing::IsLaplace;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::StatusIs;
using ::coppice::testing::ValuesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<MechanismKind> KindsOfBits() {
  std::vector<MechanismKind> kinds;
  for (const MechanismKind kind : KindsForClasses()) {
    if (!IsLaplace(kind)) kinds.push_back(kind);
  }
  return kinds;
}

// "age" is private, "region" is public.
std::shared_ptr<const Schema> PublicRegion(uint32_t classes) {
  std::vector<Feature> features = {
      {.name = "age", .min = 0, .max = 100, .values = {}},
      {.name = "region", .type = FeatureType::kCategorical, .values = {"north", "south"}}};
  features[1].is_public = true;
  std::vector<std::string> names = {"a", "b", "c"};
  names.resize(classes);
  return std::make_shared<const Schema>(*Schema::Create(features, "y", names));
}

// region == north ? (age < 50 ? leaf 0 : leaf 1) : (age < 20 ? leaf 2 : (age < 60 ? leaf 3 : 4))
Tree TreeByRegion(const Schema& schema) {
  const auto by_age = [](double cut, uint32_t left, uint32_t right) {
    return Node{.kind = SplitKind::kNumeric, .threshold = cut, .left = left, .right = right};
  };
  const Node leaf;
  return *Tree::Create({{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 4},
                        by_age(50, 2, 3),
                        leaf,
                        leaf,
                        by_age(20, 5, 6),
                        leaf,
                        by_age(60, 7, 8),
                        leaf,
                        leaf},
                       schema);
}

// A tree of five leaves; a row of the north is in the first two.
class ConsistentStudy {
 public:
  ConsistentStudy(MechanismKind kind, const std::string& epsilon, uint32_t classes = 3)
      : classes_(DomainFor(kind, {.leaves = 5, .classes = classes}).classes),
        schema_(PublicRegion(classes_)),
        tree_(TreeByRegion(*schema_)),
        counter_(tree_, schema_,
                 *MechanismsBySize::Create(kind, *Budget::Parse(epsilon), {5, classes_})),
        sums_{.sums = std::vector<int64_t>(counter_.sum_size())} {}

  uint32_t classes() const { return classes_; }
  const Tree& tree() const { return tree_; }
  const ConsistentCounter& counter() const { return counter_; }
  const TreeSums& sums() const { return sums_; }

  std::vector<uint32_t> LeavesOf(double region) const { return counter_.LeavesOf(Row{0, region}); }

  void AddHonest(double region, LeafLabel of_row) {
    const std::vector<uint32_t> leaves = LeavesOf(region);
    const LocalMechanism& mechanism = counter_.MechanismFor(leaves.size());
    const auto column = static_cast<uint32_t>(coins_.Below(mechanism.columns()));
    Add(leaves, *mechanism.Randomize(of_row, column, noise_), column);
  }
  // Adds a report that the curator accepts and that pushes class 1 the most.
  void AddPushing(double region) {
    const std::vector<uint32_t> leaves = LeavesOf(region);
    const LocalMechanism& mechanism = counter_.MechanismFor(leaves.size());
    const auto column = static_cast<uint32_t>(coins_.Below(mechanism.columns()));
    auto [at, is_new] = pushing_.try_emplace({leaves.size(), column});
    if (is_new) at->second = HighestOfClassOne(mechanism, column);
    Add(leaves, at->second, column);
  }

  void Add(const std::vector<uint32_t>& leaves, const std::string& payload, uint32_t column) {
    counter_.AddChecked(leaves, {.payload = payload, .column = column}, absl::MakeSpan(sums_.sums));
    ++sums_.reports;
  }

  std::map<std::string, Alarm> Alarms() const {
    std::map<std::string, Alarm> alarms;
    for (Alarm& alarm : ComputeAlarms({{&counter_.MechanismFor(5), &sums_, &counter_}})) {
      alarms[alarm.name] = std::move(alarm);
    }
    return alarms;
  }

 private:
  static std::string HighestOfClassOne(const LocalMechanism& mechanism, uint32_t column) {
    std::string best;
    double most = -1e300;
    for (const std::string& payload : AcceptedPayloads(mechanism)) {
      std::vector<int64_t> own(mechanism.sum_size());
      EXPECT_OK(mechanism.Add(payload, column, absl::MakeSpan(own)));
      const LeafCounts said = mechanism.Estimate(own, 1);
      double of_class = 0;
      for (uint32_t leaf = 0; leaf < said.leaf.size(); ++leaf) of_class += said.at(leaf, 1);
      if (of_class <= most) continue;
      most = of_class;
      best = payload;
    }
    return best;
  }

  uint32_t classes_;
  std::shared_ptr<const Schema> schema_;
  Tree tree_;
  ConsistentCounter counter_;
  TreeSums sums_;
  OpenSslRandom noise_;
  PublicRandom coins_{7};
  std::map<std::pair<size_t, uint32_t>, std::string> pushing_;
};

class ConsistentCounterTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, ConsistentCounterTest, ::testing::ValuesIn(KindsOfBits()),
                         [](const auto& kind) { return std::string(MechanismName(kind.param)); });

// The first and second moments of what one report adds, by enumeration of all columns and payloads.
class Moments {
 public:
  Moments(MechanismKind kind, double region, LeafLabel of_row) : study_(kind, "1") {
    const auto leaves = study_.LeavesOf(region);
    const LocalMechanism& mechanism = study_.counter().MechanismFor(leaves.size());
    const LeafLabel value = {of_row.leaf, std::min(of_row.label, study_.classes() - 1)};
    mean_.resize(size_t{5} * study_.classes());
    margin_squares_.resize(5);
    for (uint32_t column = 0; column < mechanism.columns(); ++column) {
      for (const std::string& payload : AcceptedPayloads(mechanism)) {
        ConsistentStudy one(kind, "1");
        one.Add(leaves, payload, column);
        Add(*mechanism.OutputProbability(value, column, payload) / mechanism.columns(), one);
      }
    }
  }

  double probability() const { return probability_; }
  double MeanAt(uint32_t leaf, uint32_t k) const { return mean_[leaf * study_.classes() + k]; }
  double MarginSquares(uint32_t leaf) const { return margin_squares_[leaf]; }
  uint32_t classes() const { return study_.classes(); }

 private:
  void Add(double p, const ConsistentStudy& one) {
    probability_ += p;
    const LeafCounts said = one.counter().Estimate(one.sums());
    for (size_t i = 0; i < mean_.size(); ++i) mean_[i] += p * said.label[i];
    for (uint32_t leaf = 0; leaf < 5; ++leaf) {
      const double margin = said.at(leaf, 1) - said.at(leaf, 0);
      margin_squares_[leaf] += p * margin * margin;
    }
  }

  ConsistentStudy study_;
  double probability_ = 0;
  std::vector<double> mean_, margin_squares_;
};

TEST(MostLeavesTest, AreTheMostThatPublicValuesAllow) {
  const ConsistentStudy study(MechanismKind::kDirect, "1");
  EXPECT_EQ(study.counter().leaves(), 5u);
  EXPECT_EQ(study.counter().most_leaves(), 3u);
  EXPECT_EQ(study.LeavesOf(0).size(), 2u);
  EXPECT_EQ(study.LeavesOf(1).size(), 3u);
}

TEST_P(ConsistentCounterTest, IsUnbiasedOnConsistentLeavesAndSaysNothingOfOthers) {
  for (const LeafLabel of_row : ValuesOf({.leaves = 3, .classes = 2})) {
    const Moments moments(GetParam(), 1, of_row);
    EXPECT_NEAR(moments.probability(), 1, 1e-9);
    for (uint32_t leaf = 0; leaf < 5; ++leaf) {
      const bool is_there = leaf == of_row.leaf + 2;  // the south's first leaf is 2
      const double margin = is_there ? (of_row.label == 1 ? 1 : -1) : 0;
      EXPECT_NEAR(moments.MeanAt(leaf, 1) - moments.MeanAt(leaf, 0), margin, 1e-5);
      if (leaf < 2) {
        EXPECT_EQ(moments.MarginSquares(leaf), 0);
      }
      if (moments.classes() == 2) continue;  // some mechanisms of two classes have margins only
      EXPECT_NEAR(moments.MeanAt(leaf, of_row.label), is_there ? 1 : 0, 1e-5);
    }
  }
}

TEST(ConsistentCountsTest, LeavesFollowThePublicValueAlone) {
  const ConsistentStudy study(MechanismKind::kDirect, "1");
  EXPECT_THAT(study.LeavesOf(0), ElementsAre(0, 1));
  EXPECT_THAT(study.LeavesOf(1), ElementsAre(2, 3, 4));
}

TEST(ConsistentCountsTest, TheStoredVarianceIsTheMarginsSecondMoment) {
  ConsistentStudy study(MechanismKind::kSignedHadamard, "1", 2);
  study.AddHonest(1, {.leaf = 0, .label = 1});
  PublicCounts public_counts;
  public_counts.consistent_share = {0, 0, 0, 0, 0};
  const PrivateCounts counts = *study.counter().Counts(study.sums(), public_counts);
  const Moments moments(MechanismKind::kSignedHadamard, 1, {.leaf = 0, .label = 1});
  EXPECT_THAT(counts.consistent->reports, ElementsAre(0, 0, 1, 1, 1));
  for (uint32_t leaf = 2; leaf < 5; ++leaf) {
    EXPECT_NEAR(counts.consistent->variance[leaf], moments.MarginSquares(leaf), 2e-3);
  }
}

TEST(ConsistentCountsTest, SharesOfAnotherTreeAreRefused) {
  const ConsistentStudy study(MechanismKind::kDirect, "1");
  PublicCounts public_counts;
  public_counts.consistent_share = {1, 1};
  EXPECT_THAT(study.counter().Counts(study.sums(), public_counts),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 leaves")));
}

// 3,000 rows, a third of them in the north.
void AddHonestRows(ConsistentStudy& study) {
  for (uint32_t i = 0; i < 3000; ++i) {
    const bool is_north = i % 3 == 0;
    study.AddHonest(is_north ? 0 : 1,
                    {.leaf = i / 3 % (is_north ? 2 : 3), .label = i / 7 % study.classes()});
  }
}

TEST_P(ConsistentCounterTest, HonestRowsRaiseNoAlarmAndTheirCountsLieInTheIntervals) {
  ConsistentStudy study(GetParam(), "1");
  AddHonestRows(study);
  for (const auto& [name, alarm] : study.Alarms()) EXPECT_FALSE(alarm.raised) << alarm.text;
  const NoisyCounts counts = CountWithNoise(study.counter(), study.sums(), 3000, false);
  const PublicCounts public_counts = {.leaf = std::vector<uint64_t>(5), .label = {}};
  // This fails for an honest study once in a million.
  const BreakDown down = *BreakDownTree(study.tree(), counts, public_counts, {}, 0.999999);
  ASSERT_EQ(down.nodes.size(), 9u);
  const NodeCounts& north = down.nodes[1];
  if (north.rows.has_value()) {
    EXPECT_LE(north.rows->low, 1000);
    EXPECT_GE(north.rows->high, 1000);
    EXPECT_LT(north.rows->low, north.rows->high);
  } else {
    double margin = 0;
    for (uint32_t i = 0; i < 3000; i += 3) margin += i / 7 % 2 == 1 ? 1 : -1;
    EXPECT_LE(north.margin->low, margin);
    EXPECT_GE(north.margin->high, margin);
    EXPECT_LT(north.margin->high - north.margin->low, 2 * 3000);
  }
}

TEST_P(ConsistentCounterTest, PushedLabelsRaiseTheAlarm) {
  ConsistentStudy study(GetParam(), "0.5");
  for (int i = 0; i < 4000; ++i) study.AddPushing(i % 2);
  const auto alarms = study.Alarms();
  const Alarm& alarm = alarms.at(study.classes() == 2 ? "margin" : "share");
  EXPECT_TRUE(alarm.raised) << alarm.text;
  EXPECT_EQ(alarms.count("column"), 0u);
}

}  // namespace
}  // namespace coppice::curator
