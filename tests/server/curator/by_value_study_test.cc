// A study by a public feature: its models of all reports, and of those with one value.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/terms/public_values.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/partition/by_value.h"
#include "server/curator/studies/study_model.h"
#include "server/curator/studies/study_request.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr uint32_t kTrees = 4;
constexpr double kGold = 0, kSilver = 1, kOther = 2;
const FeatureValue kWhereGold = {.feature = "plan", .category = "gold"};
const FeatureValue kWhereSilver = {.feature = "plan", .category = "silver"};

// x is private. Public rows do not tell y.
StudySpec PlanSpec(MechanismKind mechanism, bool all_public = false) {
  std::vector<Feature> features = {Numeric("x", 0, 1), Categorical("plan", {"gold", "silver"}),
                                   Categorical("pet", {"cat", "dog"})};
  features[1].is_public = true;
  features[0].is_public = features[2].is_public = all_public;
  auto rows = std::make_shared<Table>(
      std::make_shared<const Schema>(*Schema::Create(features, "label", {"no", "yes"})));
  for (int i = 0; i < 64; ++i) {
    rows->Append(
        Row{(i % 16 + 0.5) / 16, static_cast<double>(i / 16 % 2), static_cast<double>(i % 2)},
        i / 32);
  }
  StudySpec spec = Spec("one", kTrees);
  spec.public_rows = rows;
  spec.partition = {.rule = SplitRule::kHybrid, .max_depth = 3, .trees = kTrees};
  spec.mechanism = mechanism;
  spec.epsilon = *Budget::FromEpsilon(4);
  return spec;
}

StudySpec ByPlan(MechanismKind mechanism) {
  StudySpec spec = PlanSpec(mechanism);
  spec.partition.by_feature = "plan";
  return spec;
}

// Gold says yes above one half, silver from there down.
uint32_t LabelOf(const Row& row) { return (row[0] > 0.5) == (row[1] == kGold) ? 1 : 0; }

class ByValueStudyTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  void Open(const StudySpec& spec) {
    Reopen();
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(spec));
  }
  void Reopen() {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_));
  }

  // Sends honest reports of rows with this plan.
  void Send(double plan, uint32_t count) {
    ReportBatch batch;
    const Schema& schema = *study_.terms->schema;
    const auto offer = *studies_->MakeOffer("one", count);
    for (const Ticket& ticket : offer.tickets) {
      const TicketDraw draw = DrawOf(ticket);
      const Tree& tree = (*study_.forest)[draw.Tree(kTrees)];
      const Row row = {places_.Unit(), plan, 0};
      const std::vector<uint32_t> leaves = ConsistentLeaves(tree, schema, row);
      const auto mechanism = *MakeMechanism(*study_.terms, static_cast<uint32_t>(leaves.size()));
      const auto at = std::find(leaves.begin(), leaves.end(), tree.FindLeaf(row));
      batch.Add(ticket.ToBytes(),
                *mechanism->Randomize(
                    {.leaf = static_cast<uint32_t>(at - leaves.begin()), .label = LabelOf(row)},
                    draw.Column(mechanism->columns()), noise_),
                EncodePublicValues(schema, tree, row));
    }
    std::promise<Answer> promise;
    studies_->Submit("one", Bytes(study_.fingerprint), std::move(batch),
                     [&promise](Answer answer) { promise.set_value(std::move(answer)); });
    ASSERT_THAT(*promise.get_future().get(), Each(ReportOutcome::kAccepted));
  }

  StatusOr<models::ModelInfo> Build(const std::string& id,
                                    std::optional<FeatureValue> where = std::nullopt,
                                    Evidence evidence = Evidence::kBoth) {
    return studies_->BuildModel(
        "one", id,
        {.kind = EstimatorKind::kPooled, .evidence = evidence, .where = std::move(where)});
  }

  // How often the model is right on rows with this plan.
  static double Hits(const models::ModelInfo& info, double plan) {
    PublicRandom random(5);
    double hits = 0;
    for (int i = 0; i < 500; ++i) {
      const Row row = {random.Unit(), plan, 0};
      hits += info.model->Predict(row).label == LabelOf(row) ? 1 : 0;
    }
    return hits / 500;
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
  OpenSslRandom noise_;
  PublicRandom places_{4};
};

INSTANTIATE_TEST_SUITE_P(Mechanisms, ByValueStudyTest,
                         ::testing::Values(MechanismKind::kSignedHadamard,
                                           MechanismKind::kSubsetSelection),
                         [](const auto& mechanism) {
                           return std::string(MechanismName(mechanism.param));
                         });

TEST_P(ByValueStudyTest, AModelOfOneValueSaysWhatItsReportsSay) {
  Open(ByPlan(GetParam()));
  for (int i = 0; i < 4; ++i) {
    Send(kGold, 1000);
    Send(kSilver, 900);
  }
  Send(kMissingValue, 70);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo gold, Build("gold", kWhereGold));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo silver, Build("silver", kWhereSilver));
  EXPECT_GT(Hits(gold, kGold), 0.75);
  EXPECT_GT(Hits(silver, kSilver), 0.75);
  EXPECT_EQ(gold.model->certificate().reports, 4000u);
  EXPECT_EQ(silver.model->certificate().reports, 3600u);
  EXPECT_EQ(gold.model->certificate().estimator, "pooled where plan = gold");
  ASSERT_OK_AND_ASSIGN(
      const models::ModelInfo missing,
      Build("missing", FeatureValue{.feature = "plan", .kind = FeatureValue::Kind::kMissing}));
  EXPECT_EQ(missing.model->certificate().reports, 70u);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo all, Build("all"));
  EXPECT_EQ(all.model->certificate().reports, 7670u);
  EXPECT_EQ(all.model->certificate().estimator, "pooled");
  EXPECT_OK(studies_->Reconcile());
}

TEST_P(ByValueStudyTest, AModelOfAllReportsIsWhatAStudyWithoutValuesWouldMake) {
  const StudyDefinition plain = *MakeStudyDefinition(PlanSpec(GetParam()), "one", 1000, {});
  const StudyDefinition by_plan = *MakeStudyDefinition(ByPlan(GetParam()), "one", 1000, {});
  EXPECT_EQ(*by_plan.form->model_forest(), *plain.forest);
  EXPECT_GT(by_plan.forest->front().num_leaves(), plain.forest->front().num_leaves());
  StudyProgress of_plain = NoProgress(plain), of_by_plan = NoProgress(by_plan);
  for (uint32_t t = 0; t < kTrees; ++t) {
    TreeSums sums = *of_plain.sums[t], sums_by_plan = *of_by_plan.sums[t];
    for (int i = 0; i < 300; ++i) {
      const Row row = {places_.Unit(), static_cast<double>(i % 3), 0};
      const std::vector<uint32_t> leaves =
          ConsistentLeaves((*plain.forest)[t], *plain.terms->schema, row);
      const std::vector<uint32_t> by_plan_leaves =
          ConsistentLeaves((*by_plan.forest)[t], *by_plan.terms->schema, row);
      const auto mechanism = *MakeMechanism(*plain.terms, static_cast<uint32_t>(leaves.size()));
      const auto column = static_cast<uint32_t>(places_.Below(mechanism->columns()));
      const std::string payload =
          *mechanism->Randomize({.leaf = 0, .label = LabelOf(row)}, column, noise_);
      const Contribution report = {.payload = payload, .column = column};
      plain.form->AddAll(t, {report}, {leaves}, absl::MakeSpan(sums.sums));
      by_plan.form->AddAll(t, {report}, {by_plan_leaves}, absl::MakeSpan(sums_by_plan.sums));
    }
    sums.reports = sums_by_plan.reports = 300;
    of_plain.sums[t] = std::make_shared<const TreeSums>(std::move(sums));
    of_by_plan.sums[t] = std::make_shared<const TreeSums>(std::move(sums_by_plan));
  }
  const Table rows = *PlanSpec(GetParam()).public_rows;
  const auto basis = std::make_shared<const PooledBasis>(*PooledBasis::Create(*plain.forest, rows));
  const auto model_of = [&](StudySpec spec, const StudyProgress& progress) {
    const Study study(*MakeStudyDefinition(spec, "one", 1000, {}), progress);
    return *EstimateModel(store_, study, rows, {.pooled = basis}, {.kind = EstimatorKind::kPooled},
                          {});
  };
  const Model expected = model_of(PlanSpec(GetParam()), of_plain);
  const Model model = model_of(ByPlan(GetParam()), of_by_plan);
  EXPECT_EQ(model.forest(), expected.forest());
  EXPECT_EQ(model.leaf_kind(), expected.leaf_kind());
  for (int i = 0; i < 100; ++i) {
    const Row row = {places_.Unit(), static_cast<double>(i % 3), 0};
    EXPECT_EQ(model.Predict(row).probabilities, expected.Predict(row).probabilities);
  }
}

TEST_P(ByValueStudyTest, AlarmsAreThoseOfAllReports) {
  Open(ByPlan(GetParam()));
  Send(kGold, 500);
  Send(kOther, 500);
  ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->Get("one"));
  EXPECT_FALSE(info.alarms.empty());
  // Less likely than what raises an alarm, which 1000 real tickets do once in 10^5 runs.
  for (const Alarm& alarm : info.alarms) EXPECT_GT(alarm.chance, 1e-9) << alarm.text;
}

TEST_P(ByValueStudyTest, CountsHaveTheValuesAtTheTop) {
  Open(ByPlan(GetParam()));
  Send(kGold, 800);
  Send(kSilver, 400);
  ASSERT_OK_AND_ASSIGN(const StudyCounts counts,
                       studies_->GetCounts("one", {.choice = {.node = {}, .depth = 1}}));
  const Tree& tree = counts.forest->front();
  ASSERT_EQ(counts.break_down.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes()[0].kind, SplitKind::kCategory);
  EXPECT_EQ(tree.nodes()[0].feature, 1u);
  EXPECT_EQ(counts.break_down.nodes[1].public_rows, 32u);
  // Rows are counted over all trees and known; only classes, or the margin, have intervals.
  const NodeCounts& gold = counts.break_down.nodes[1];
  const NodeCounts& others = counts.break_down.nodes[2];
  EXPECT_EQ(gold.rows->low, 800);
  EXPECT_EQ(gold.rows->high, 800);
  EXPECT_EQ(others.rows->estimate, 400);
  EXPECT_EQ(counts.break_down.intervals, gold.margin.has_value() ? 3u : 6u);
}

TEST_P(ByValueStudyTest, OneIdIsOfOneValue) {
  Open(ByPlan(GetParam()));
  Send(kGold, 50);
  Send(kSilver, 50);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo gold, Build("m", kWhereGold));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo again, Build("m", kWhereGold));
  EXPECT_EQ(*again.model, *gold.model);
  for (const auto& where : {std::optional(kWhereSilver), std::optional<FeatureValue>()}) {
    EXPECT_THAT(Build("m", where),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("pooled where plan = gold")));
  }
}

TEST_P(ByValueStudyTest, TheMinimumIsOfTheReportsWithTheValue) {
  StudySpec spec = ByPlan(GetParam());
  spec.settings.min_reports = 40;
  Open(spec);
  Send(kGold, 40);
  Send(kSilver, 39);
  EXPECT_OK(Build("gold", kWhereGold));
  EXPECT_THAT(Build("silver", kWhereSilver),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("39 accepted reports where plan = silver"),
                             HasSubstr("no model below 40"))));
  Send(kSilver, 1);
  EXPECT_OK(Build("silver", kWhereSilver));
}

TEST_P(ByValueStudyTest, AValueWithoutReportsGivesAModelOfPublicRowsIfNoMinimumIsSet) {
  StudySpec spec = ByPlan(GetParam());
  spec.settings.min_reports = 0;
  Open(spec);
  Send(kGold, 40);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo silver, Build("silver", kWhereSilver));
  EXPECT_EQ(silver.model->certificate().reports, 0u);
}

TEST_P(ByValueStudyTest, SumsByValueOutliveTheDaemon) {
  Open(ByPlan(GetParam()));
  Send(kGold, 300);
  Send(kSilver, 300);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo before, Build("before", kWhereGold));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo after, Build("after", kWhereGold));
  EXPECT_EQ(*after.model, *before.model);
  EXPECT_EQ(studies_->Get("one")->partition.by_feature, "plan");
}

TEST_P(ByValueStudyTest, AModelOfOneValueIsNotTheFinalOne) {
  Open(ByPlan(GetParam()));
  Send(kGold, 60);
  Send(kSilver, 60);
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK(Build("gold", kWhereGold));
  EXPECT_EQ(studies_->Get("one")->state, StudyState::kSealed);
  ASSERT_OK(Build("all"));
  EXPECT_EQ(studies_->Get("one")->final_model, "all");
  ASSERT_OK(Build("silver", kWhereSilver));
  EXPECT_EQ(studies_->Get("one")->final_model, "all");
  EXPECT_OK(studies_->Reconcile());
}

TEST_P(ByValueStudyTest, WhatTheStudyCannotTellIsRefusedInWords) {
  Open(ByPlan(GetParam()));
  Send(kGold, 10);
  EXPECT_THAT(Build("m", FeatureValue{.feature = "pet", .category = "cat"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("by pet, it is by plan"), HasSubstr("--by"))));
  EXPECT_THAT(Build("m", FeatureValue{.feature = "plan", .category = "tin"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gold, silver")));
  EXPECT_THAT(Build("m", FeatureValue{.feature = "x", .category = "1"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("where.feature")));
  EXPECT_THAT(Build("m", kWhereGold, Evidence::kPublic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("evidence public uses none")));
}

TEST_P(ByValueStudyTest, AStudyByNoFeatureRefusesValues) {
  Open(PlanSpec(GetParam()));
  Send(kGold, 10);
  EXPECT_THAT(Build("m", kWhereGold),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("it is by no feature")));
}

TEST_P(ByValueStudyTest, AFeatureThatIsNotPublicIsRefusedBeforeAnythingGrows) {
  Reopen();
  StudySpec spec = ByPlan(GetParam());
  spec.partition.by_feature = "pet";
  EXPECT_THAT(studies_->Create(spec),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("partition.by_feature"), HasSubstr("there are plan"))));
}

TEST_P(ByValueStudyTest, ARequestByAnotherFeatureIsAnotherRequest) {
  Open(ByPlan(GetParam()));
  EXPECT_OK(studies_->Create(ByPlan(GetParam())));
  EXPECT_THAT(studies_->Create(PlanSpec(GetParam())),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("request")));
}

TEST_P(ByValueStudyTest, ARecordWhoseTreesBeginOtherwiseIsDataLoss) {
  Open(PlanSpec(GetParam()));
  studies_.reset();
  v1::StudyRecord record;
  ASSERT_TRUE(record.ParseFromString(store_.Get(StudyKey("one"))->value()));
  record.mutable_partition()->set_by_feature("plan");
  storage::StoreBatch batch;
  batch.Put(StudyKey("one"), record.SerializeAsString());
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(OpenStudies(store_, models_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not begin with the values")));
}

TEST_P(ByValueStudyTest, WhereAllFeaturesArePublicNoFeatureNeedsToStandInFront) {
  StudySpec spec = PlanSpec(GetParam(), /*all_public=*/true);
  spec.settings.min_reports = 900;
  Open(spec);
  for (int i = 0; i < 3; ++i) {
    Send(kGold, 1000);
    Send(kSilver, 1000);
  }
  Send(kOther, 899);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo gold, Build("gold", kWhereGold));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo silver,
                       Build("silver", kWhereSilver, Evidence::kReports));
  EXPECT_GT(Hits(gold, kGold), 0.75);
  EXPECT_GT(Hits(silver, kSilver), 0.75);
  EXPECT_EQ(gold.model->certificate().reports, 3000u);
  EXPECT_EQ(gold.model->certificate().estimator, "pooled where plan = gold");
  EXPECT_EQ(Build("all")->model->certificate().reports, 6899u);
  EXPECT_THAT(Build("other", FeatureValue{.feature = "plan", .kind = FeatureValue::Kind::kOther}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("899 accepted reports where plan is not in the schema")));
}

}  // namespace
}  // namespace coppice::curator
