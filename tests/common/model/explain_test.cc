#include "common/model/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/schemas.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;

constexpr double kNan = kMissingValue;

std::vector<Feature> Features() {
  return {Numeric("age", 0, 100), Categorical("odor", {"a", "n"}), Numeric("cap", 0, 10)};
}
Schema Classes() { return *Schema::Create(Features(), "edible", {"no", "yes"}); }
Schema Number() { return *Schema::CreateRegression(Features(), "price", {.min = 10, .max = 30}); }

// The first tree asks odor = n, the second age < 40 (or missing).
Forest TwoTrees(const Schema& schema) {
  return {
      *Tree::Create(
          {{.kind = SplitKind::kCategory, .feature = 1, .threshold = 1, .left = 1, .right = 4},
           {.kind = SplitKind::kNumeric,
            .missing_left = true,
            .feature = 0,
            .threshold = 40,
            .left = 2,
            .right = 3},
           {},
           {},
           {}},
          schema),
      *Tree::Create({{.kind = SplitKind::kMissing, .feature = 2, .left = 1, .right = 2}, {}, {}},
                    schema)};
}

std::vector<std::vector<LeafPrediction>> Leaves(const std::vector<std::vector<double>>& first,
                                                const std::vector<std::vector<double>>& second) {
  std::vector<std::vector<LeafPrediction>> leaves(2);
  const uint32_t nodes_of_first[] = {2, 3, 4};
  for (uint32_t l = 0; l < first.size(); ++l) {
    leaves[0].push_back(
        {.probabilities = first[l], .standard_error = 0.1, .source_node = nodes_of_first[l]});
  }
  for (uint32_t l = 0; l < second.size(); ++l) {
    leaves[1].push_back({.probabilities = second[l], .standard_error = 0.2, .source_node = l + 1});
  }
  return leaves;
}

Model ModelOf(const Schema& schema, LeafKind kind, const std::vector<std::vector<double>>& first,
              const std::vector<std::vector<double>>& second) {
  return *Model::Create(schema, TwoTrees(schema), Leaves(first, second), Certificate(), kind);
}

double SumOf(const Explanation& explanation) {
  return std::accumulate(explanation.trees.begin(), explanation.trees.end(), explanation.base,
                         [](double sum, const TreePath& path) { return sum + path.contribution; });
}

const std::vector<Row> kRows = {{30, 1, 5}, {70, 1, kNan}, {kNan, 1, 5}, {30, 0, 5}, {30, 2, kNan}};

TEST(ExplainTest, ThePathIsInWordsAndInNumbers) {
  const Model model = ModelOf(Classes(), LeafKind::kProbabilities,
                              {{0.5, 0.5}, {0.25, 0.75}, {1, 0}}, {{0, 1}, {0.5, 0.5}});
  const Explanation explanation = Explain(model, {70, 1, kNan});
  ASSERT_EQ(explanation.trees.size(), 2u);
  // The second tree is surer, so it comes first.
  EXPECT_EQ(explanation.trees[0].tree, 1u);
  EXPECT_EQ(explanation.trees[0].contribution, 0.25);
  const TreePath& path = explanation.trees[1];
  EXPECT_EQ(path.contribution, 0.125);
  EXPECT_EQ(path.leaf, 1u);
  EXPECT_EQ(path.prediction.standard_error, 0.1);
  ASSERT_EQ(path.steps.size(), 2u);
  EXPECT_EQ(path.steps[0].condition, "odor = n");
  EXPECT_TRUE(path.steps[0].holds);
  EXPECT_EQ(path.steps[0].value, 1);
  EXPECT_EQ(path.steps[1].condition, "age < 40 or missing");
  EXPECT_FALSE(path.steps[1].holds);
  EXPECT_EQ(path.steps[1].node, 1u);
  EXPECT_EQ(path.steps[1].split.threshold, 40);
  EXPECT_EQ(explanation.trees[0].steps[0].condition, "cap is missing");
  EXPECT_EQ(Explain(model, {70, 1, kNan}, 1).trees.size(), 1u);
}

// The cut reads "< 36.9", which would say the opposite about a value in between.
TEST(ExplainTest, ACutIsExactWhereTheValueWouldSeemToGoTheOtherWay) {
  const Schema schema = Classes();
  const Model model = *Model::Create(
      schema,
      {*Tree::Create(
          {{.kind = SplitKind::kNumeric, .threshold = 36.83870967741935, .left = 1, .right = 2},
           {},
           {}},
          schema)},
      {{{.probabilities = {1, 0}, .source_node = 1}, {.probabilities = {0, 1}, .source_node = 2}}},
      {});
  const auto step = [&](double age) { return Explain(model, {age, 0, 0}).trees[0].steps[0]; };
  EXPECT_EQ(step(36).condition, "age < 36.9");
  EXPECT_TRUE(step(36).holds);
  EXPECT_EQ(step(36.85).condition, "age < 36.83870967741935");
  EXPECT_FALSE(step(36.85).holds);
  EXPECT_EQ(step(37).condition, "age < 36.9");
  EXPECT_EQ(step(kNan).condition, "age < 36.9");
}

TEST(ExplainTest, ContributionsOfProbabilitiesAddUpToTheLabels) {
  const Model model = ModelOf(Classes(), LeafKind::kProbabilities,
                              {{0.5, 0.5}, {0.25, 0.75}, {1, 0}}, {{0, 1}, {0.5, 0.5}});
  for (const Row& row : kRows) {
    const Prediction prediction = model.Predict(row);
    EXPECT_NEAR(SumOf(Explain(model, row)), prediction.probabilities[prediction.label], 1e-12);
  }
}

TEST(ExplainTest, ContributionsOfScoresAddUpToTheLeadOfTheLabel) {
  const Model model =
      ModelOf(Classes(), LeafKind::kScores, {{-1, 1}, {0.5, -0.5}, {2, 0}}, {{0, 3}, {-0.25, 0}});
  for (const Row& row : kRows) {
    const Prediction prediction = model.Predict(row);
    const Explanation explanation = Explain(model, row);
    EXPECT_EQ(explanation.unit, ContributionUnit::kScore);
    // With two classes the label's score minus the mean is half of the log odds.
    const double odds =
        prediction.probabilities[prediction.label] / prediction.probabilities[1 - prediction.label];
    EXPECT_NEAR(SumOf(explanation), std::log(odds) / 2, 1e-9);
    EXPECT_EQ(explanation.base, 0);
  }
}

TEST(ExplainTest, ContributionsToANumberAddUpToIt) {
  const Model means = ModelOf(Number(), LeafKind::kProbabilities,
                              {{0.5, 0.5}, {0.25, 0.75}, {1, 0}}, {{0, 1}, {0.5, 0.5}});
  const Model scores = ModelOf(Number(), LeafKind::kScores, {{0, 0.25}, {0, 0.5}, {0, 0.375}},
                               {{0, -0.125}, {0, 0.25}});
  for (const Model& model : {means, scores}) {
    for (const Row& row : kRows) {
      const Explanation explanation = Explain(model, row);
      EXPECT_EQ(explanation.unit, ContributionUnit::kValue);
      EXPECT_NEAR(SumOf(explanation), model.Predict(row).value, 1e-9);
    }
  }
}

TEST(ExplainTest, ContributionsOfWeightsAreTheLabelsLead) {
  const Model model =
      ModelOf(Classes(), LeafKind::kWeights, {{10, 20}, {5, -1}, {0, 0}}, {{1, 3}, {4, 0}});
  const Explanation explanation = Explain(model, {30, 1, kNan});
  EXPECT_EQ(explanation.unit, ContributionUnit::kWeight);
  ASSERT_EQ(explanation.trees.size(), 2u);
  EXPECT_EQ(explanation.trees[0].contribution, 5);
  EXPECT_EQ(explanation.trees[1].contribution, 1);
}

}  // namespace
}  // namespace coppice
