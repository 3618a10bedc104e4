#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/describe/describe.h"
#include "coppice/v1/training.pb.h"

namespace coppice {
namespace {

using ::testing::HasSubstr;

v1::Evaluation SampleEvaluation() {
  v1::Evaluation evaluation;
  evaluation.set_name("evaluations/e");
  evaluation.mutable_spec()->set_model("models/m");
  evaluation.mutable_spec()->set_dataset("datasets/d");
  evaluation.set_state(v1::EVALUATION_STATE_DONE);
  evaluation.set_account(v1::ACCOUNT_KIND_RESERVE);
  evaluation.mutable_cost()->set_epsilon_nanos(50'000'000);
  v1::Estimate& accuracy = *evaluation.mutable_scores()->mutable_accuracy();
  accuracy.set_value(0.8);
  accuracy.set_low(0.75);
  accuracy.set_high(0.85);
  evaluation.mutable_scores()->mutable_auc()->set_value(0.9);
  return evaluation;
}

TEST(DescribeEvaluationTest, IsFlatAndNamesTheAccount) {
  const Description json = DescribeEvaluation(SampleEvaluation());
  EXPECT_EQ(json["accuracy"], 0.8);
  EXPECT_EQ(json["interval"], Description::array({0.75, 0.85}));
  EXPECT_EQ(json["auc"], 0.9);
  EXPECT_EQ(json["epsilon"], 0.05);
  EXPECT_EQ(json["account"], "reserve");
  EXPECT_EQ(json["covers"], true);
  EXPECT_FALSE(json.contains("caveat"));
  EXPECT_FALSE(json.contains("groups"));
}

TEST(DescribeEvaluationTest, SaysWhatNoIntervalCovers) {
  v1::Evaluation evaluation = SampleEvaluation();
  evaluation.set_after_earlier_results(true);
  EXPECT_THAT(DescribeEvaluation(evaluation)["caveat"].get<std::string>(), HasSubstr("shaped"));
  evaluation.set_trained_on_these_rows(true);
  const Description json = DescribeEvaluation(evaluation);
  EXPECT_EQ(json["covers"], false);
  EXPECT_THAT(json["caveat"].get<std::string>(), HasSubstr("trained on these rows"));
}

TEST(DescribeEvaluationTest, HasNumbersAndGroups) {
  v1::Evaluation evaluation = SampleEvaluation();
  evaluation.clear_scores();
  evaluation.mutable_spec()->set_by("town");
  evaluation.mutable_scores()->mutable_rmse()->set_value(3);
  v1::PrivateScores& group = *evaluation.add_groups();
  group.set_group("a");
  group.mutable_mae()->set_value(2);
  const Description json = DescribeEvaluation(evaluation);
  EXPECT_EQ(json["rmse"], 3.0);
  EXPECT_EQ(json["groups"][0]["group"], "a");
  EXPECT_EQ(json["groups"][0]["mae"], 2.0);
}

TEST(DescribeEvaluationTest, ByNameToo) {
  EXPECT_TRUE(DescribeBytes("evaluation", SampleEvaluation().SerializeAsString()).ok());
  EXPECT_TRUE(
      DescribeBytes("evaluation_preview", v1::PreviewEvaluationResponse().SerializeAsString())
          .ok());
}

}  // namespace
}  // namespace coppice
