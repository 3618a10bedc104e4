#include "common/predictor/public_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/common/predictor/rows.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::shared_ptr<const Schema> ClassSchema() {
  return std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 10)}, "label", {"a", "b", "c"}));
}
std::shared_ptr<const Schema> NumberSchema() {
  return std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 10)}, "number", {.min = -20, .max = 80}));
}

Tree CutAt(double threshold, const Schema& schema) {
  return *Tree::Create({{.kind = SplitKind::kNumeric,
                         .missing_left = true,
                         .threshold = threshold,
                         .left = 1,
                         .right = 2},
                        {},
                        {}},
                       schema);
}

PublicPredictor Classes() {
  const auto schema = ClassSchema();
  return *PublicPredictor::Create(schema, {0.5, 0, -0.5},
                                  {{.tree = CutAt(3, *schema), .values = {1, -1, 0, 0, 2, -2}},
                                   {.tree = CutAt(6, *schema), .values = {0, 0, 0, -1, 0, 1}}});
}
PublicPredictor Numbers() {
  const auto schema = NumberSchema();
  return *PublicPredictor::Create(schema, {30},
                                  {{.tree = CutAt(3, *schema), .values = {-10, 20}},
                                   {.tree = CutAt(6, *schema), .values = {0, 100}}});
}

std::vector<double> ScoresAt(const PublicPredictor& predictor, double x) {
  std::vector<double> scores(predictor.columns());
  predictor.Score({x}, absl::MakeSpan(scores));
  return scores;
}

TEST(PublicPredictorTest, AddsWhatTheLeavesHoldToTheBase) {
  EXPECT_THAT(ScoresAt(Classes(), 1), ElementsAre(1.5, -1, -0.5));
  EXPECT_THAT(ScoresAt(Classes(), 4), ElementsAre(0.5, 2, -2.5));
  EXPECT_THAT(ScoresAt(Classes(), 7), ElementsAre(-0.5, 2, -1.5));
  EXPECT_THAT(ScoresAt(Numbers(), 1), ElementsAre(20));
  EXPECT_THAT(ScoresAt(Numbers(), 4), ElementsAre(50));
}

TEST(PublicPredictorTest, ScoresATableRowAfterRow) {
  Table table(ClassSchema());
  for (const double x : {1.0, 4.0, kMissingValue}) table.Append(Row{x}, 0);
  EXPECT_THAT(Classes().ScoresOf(table), ElementsAre(1.5, -1, -0.5, 0.5, 2, -2.5, 1.5, -1, -0.5));
}

TEST(PublicPredictorTest, ItsModelPredictsTheSoftmaxOfTheScores) {
  ASSERT_OK_AND_ASSIGN(const Model model, Classes().ToModel({}));
  for (const double x : {0.0, 3.0, 5.0, 9.0, kMissingValue}) {
    std::vector<double> scores = ScoresAt(Classes(), x);
    Softmax(absl::MakeSpan(scores));
    EXPECT_THAT(model.Predict(Row{x}).probabilities, Pointwise(DoubleNear(1e-15), scores));
  }
}

TEST(PublicPredictorTest, ItsModelPredictsTheNumberWithinTheTargetsBounds) {
  ASSERT_OK_AND_ASSIGN(const Model model, Numbers().ToModel({}));
  EXPECT_NEAR(model.Predict(Row{1}).value, 20, 1e-12);
  EXPECT_NEAR(model.Predict(Row{4}).value, 50, 1e-12);
  EXPECT_EQ(model.Predict(Row{7}).value, 80) << "150 lies above the target's bounds";
}

TEST(PublicPredictorTest, WithoutTreesItsModelAnswersTheBase) {
  ASSERT_OK_AND_ASSIGN(const PublicPredictor level,
                       PublicPredictor::Create(NumberSchema(), {33}, {}));
  ASSERT_OK_AND_ASSIGN(const Model model, level.ToModel({}));
  EXPECT_NEAR(model.Predict(Row{1}).value, 33, 1e-12);
}

TEST(PublicPredictorTest, ACorrectionScalesAddsALevelAndAddsTrees) {
  const auto schema = ClassSchema();
  ASSERT_OK_AND_ASSIGN(
      const PublicPredictor corrected,
      Classes().Corrected(2, std::vector<double>{1, 2, -3},
                          {{.tree = CutAt(8, *schema), .values = {0.25, 0, 0, 0, 0, 0.25}}}));
  EXPECT_THAT(ScoresAt(corrected, 1), ElementsAre(4.25, 0, -4));
  EXPECT_THAT(ScoresAt(corrected, 9), ElementsAre(0, 6, -5.75));
  ASSERT_OK_AND_ASSIGN(const PublicPredictor same, Classes().Corrected(1, {}, {}));
  EXPECT_EQ(ScoresAt(same, 4), ScoresAt(Classes(), 4));
}

TEST(PublicPredictorTest, RefusesWhatDoesNotFit) {
  const auto schema = ClassSchema();
  const double infinite = std::numeric_limits<double>::infinity();
  const Tree tree = CutAt(3, *schema);
  EXPECT_THAT(PublicPredictor::Create(schema, {0, 0}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 scores, not 2")));
  EXPECT_THAT(PublicPredictor::Create(schema, {0, 0, infinite}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
  EXPECT_THAT(PublicPredictor::Create(schema, {0, 0, 0}, {{.tree = tree, .values = {1, 2}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tree 0: a tree of this size")));
  EXPECT_THAT(PublicPredictor::Create(schema, {0, 0, 0},
                                      {{.tree = tree, .values = {1, 2, 3, 4, 5, std::nan("")}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
  const Schema wider =
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", {"a", "b"});
  const Tree of_second = *Tree::Create(
      {{.kind = SplitKind::kNumeric, .feature = 1, .left = 1, .right = 2}, {}, {}}, wider);
  EXPECT_THAT(PublicPredictor::Create(schema, {0, 0, 0},
                                      {{.tree = of_second, .values = {0, 0, 0, 0, 0, 0}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("feature")));
  EXPECT_THAT(Classes().Corrected(1, std::vector<double>{1}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 scores, not 1")));
  EXPECT_THAT(Classes().Corrected(infinite, {}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
}

TEST(SoftmaxTest, IsStableForLargeScores) {
  std::vector<double> scores = {1000, 1000 + std::log(3), -1000};
  Softmax(absl::MakeSpan(scores));
  EXPECT_THAT(scores, Pointwise(DoubleNear(1e-12), {0.25, 0.75, 0.0}));
}

}  // namespace
}  // namespace coppice
