#include "server/curator/estimation/planning/mechanism_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// `trees` trees of `leaves` leaves each.
Forest ForestOf(uint32_t leaves, uint32_t trees = 2) {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1)}, "label", {"no", "yes"})));
  for (uint32_t i = 0; i < leaves; ++i) {
    table.Append({static_cast<double>(i) / leaves}, 0);
  }
  const Tree tree = (*GrowPartition(table, {.rule = SplitRule::kHybrid, .max_depth = 60}))[0];
  EXPECT_EQ(tree.num_leaves(), leaves);
  return Forest(trees, tree);
}

MechanismChoice Chosen(const std::string& epsilon, uint32_t leaves, uint32_t classes,
                       size_t max_payload = 0) {
  StatusOr<MechanismChoice> choice =
      ChooseMechanism(*Budget::Parse(epsilon), {ForestOf(leaves), classes}, max_payload);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return *std::move(choice);
}

TEST(MechanismChoiceTest, TwoClassesTakeOneBitAtSmallEpsilon) {
  for (const char* epsilon : {"0.25", "1", "2"}) {
    const MechanismChoice choice = Chosen(epsilon, 40, 2);
    EXPECT_EQ(choice.cost.kind, MechanismKind::kSignedHadamard) << epsilon;
    EXPECT_EQ(choice.cost.payload_bytes, 1u);
    const double e = std::exp(std::stod(epsilon));
    EXPECT_NEAR(choice.cost.margin_noise, (e + 1) * (e + 1) / (e - 1) / (e - 1), 1e-6);
  }
}

TEST(MechanismChoiceTest, CorrectionsTakeOneBitUpToEpsilonOneAndCellsAbove) {
  const auto chosen = [](const char* epsilon, uint32_t classes) {
    return ChooseMechanism(*Budget::Parse(epsilon), {ForestOf(16), classes}, 0,
                           ReportPurpose::kCorrection)
        ->cost.kind;
  };
  EXPECT_EQ(chosen("0.5", 2), MechanismKind::kSignedHadamard);
  EXPECT_EQ(chosen("1", 2), MechanismKind::kSignedHadamard);
  EXPECT_NE(chosen("1.000000001", 2), MechanismKind::kSignedHadamard);
  EXPECT_NE(chosen("0.5", 3), MechanismKind::kSignedHadamard) << "it has none for three classes";
  EXPECT_EQ(PurposeOf(SplitRule::kRandomCut, /*labels_alone=*/false), ReportPurpose::kCorrection);
  EXPECT_EQ(PurposeOf(SplitRule::kRandomCut, /*labels_alone=*/true), ReportPurpose::kMargins);
  EXPECT_EQ(PurposeOf(SplitRule::kHybrid, /*labels_alone=*/false), ReportPurpose::kMargins);
}

TEST(MechanismChoiceTest, LargeEpsilonTakesWhatNamesTheCell) {
  const MechanismChoice choice = Chosen("6", 40, 2);
  EXPECT_NE(choice.cost.kind, MechanismKind::kSignedHadamard);
  EXPECT_LT(choice.cost.margin_noise, 0.05);
}

TEST(MechanismChoiceTest, NothingMuchQuieterIsPassedOver) {
  for (const char* epsilon : {"0.5", "2", "4", "8"}) {
    for (const uint32_t classes : {2u, 4u}) {
      const Budget budget = *Budget::Parse(epsilon);
      const Forest forest = ForestOf(30);
      const MechanismChoice choice = *ChooseMechanism(budget, {forest, classes}, 0);
      EXPECT_THAT(choice.why, HasSubstr(std::string(MechanismName(choice.cost.kind))));
      for (const MechanismKind kind : AllMechanismKinds()) {
        const auto cost = CostOf(kind, budget, {forest, classes});
        if (!cost.ok()) continue;
        EXPECT_LE(choice.cost.margin_noise, 1.4 * cost->margin_noise) << MechanismName(kind);
      }
    }
  }
}

TEST(MechanismChoiceTest, PayloadLimitIsKeptOrRefused) {
  EXPECT_LE(Chosen("5", 200, 3, 4).cost.payload_bytes, 4u);
  EXPECT_OK(ChooseMechanism(*Budget::Parse("1"), {ForestOf(200), 3}, 1));
  // direct needs two bytes for its 600 symbols; all mechanisms of one byte remain.
  EXPECT_EQ(Chosen("5", 200, 3, 1).cost.payload_bytes, 1u);
}

TEST(MechanismChoiceTest, CostIsTheMeanOverTreesAndTheLargestPayload) {
  Forest forest = ForestOf(16, 1);
  forest.push_back(ForestOf(64, 1)[0]);
  const Budget epsilon = *Budget::Parse("2");
  const MechanismCost both = *CostOf(MechanismKind::kDirect, epsilon, {forest, 2});
  const MechanismCost small = *CostOf(MechanismKind::kDirect, epsilon, {ForestOf(16), 2});
  const MechanismCost large = *CostOf(MechanismKind::kDirect, epsilon, {ForestOf(64), 2});
  EXPECT_NEAR(both.margin_noise, (small.margin_noise + large.margin_noise) / 2, 1e-9);
  EXPECT_EQ(CostOf(MechanismKind::kOptimizedUnary, epsilon, {forest, 2})->payload_bytes, 16u);
  EXPECT_EQ(both.margin_influence, large.margin_influence);
  EXPECT_EQ(both.two_sided_mass, small.two_sided_mass) << "more cells hide a row better";
  EXPECT_LT(large.two_sided_mass, small.two_sided_mass);
  EXPECT_THAT(CostOf(MechanismKind::kSignedHadamard, epsilon, {forest, 3}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 classes")));
}

ReportSubject NumberAlone() {
  return {.forest = {Tree::SingleLeaf()}, .outputs = 2, .is_number_alone = true};
}

// Below epsilon 1.5 the window is quieter by too little to give a liar more for it.
TEST(MechanismChoiceTest, NumbersAloneTakeAWindowWhereItIsMuchQuieter) {
  for (const char* epsilon : {"0.25", "0.5", "1"}) {
    EXPECT_NE(ChooseMechanism(*Budget::Parse(epsilon), NumberAlone(), 0)->cost.kind,
              MechanismKind::kWindowResponse)
        << epsilon;
  }
  for (const char* epsilon : {"1.5", "2", "4", "8"}) {
    const MechanismChoice choice = *ChooseMechanism(*Budget::Parse(epsilon), NumberAlone(), 0);
    EXPECT_EQ(choice.cost.kind, MechanismKind::kWindowResponse) << epsilon;
    EXPECT_EQ(choice.cost.payload_bytes, 1u);
  }
  EXPECT_NEAR(ChooseMechanism(*Budget::Parse("4"), NumberAlone(), 0)->cost.margin_noise, 0.099,
              0.001);
}

TEST(MechanismChoiceTest, AWindowIsForNumbersAlone) {
  ReportSubject label_alone = NumberAlone();
  label_alone.is_number_alone = false;
  EXPECT_NE(ChooseMechanism(*Budget::Parse("4"), label_alone, 0)->cost.kind,
            MechanismKind::kWindowResponse);
  EXPECT_THAT(CostOf(MechanismKind::kWindowResponse, *Budget::Parse("4"), label_alone),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("hides numbers alone")));
}

}  // namespace
}  // namespace coppice::curator
