#include "common/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "common/base/status.h"
#include "tests/common/model/trees.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IncomeSchema;
using ::coppice::testing::Leaf;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tree Stump(double age) {
  return *Tree::Create({NumericSplit(0, age, 1, 2), Node{}, Node{}}, IncomeSchema());
}

std::vector<LeafPrediction> TwoLeaves() {
  return {Leaf({0.75, 0.25}, 0.03, 0, 1), Leaf({0.5, 0.5}, 0.04, 1, 0)};
}

// A model of one stump whose left leaf is `leaf`.
StatusOr<Model> WithLeaf(LeafPrediction leaf) {
  return Model::Create(IncomeSchema(), {Stump(30)}, {{std::move(leaf), TwoLeaves()[1]}}, {});
}

TEST(ModelTest, OneTreeAnswersWithItsLeaf) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30)}, {TwoLeaves()}, {}));
  const Prediction young = model.Predict({20, 0});
  EXPECT_EQ(young.label, 0u);
  EXPECT_THAT(young.probabilities, ElementsAre(0.75, 0.25));
  EXPECT_EQ(young.standard_error, 0.03);
  // The label is the leaf's own, even if the probabilities tie.
  EXPECT_EQ(model.Predict({40, 0}).label, 1u);
}

TEST(ModelTest, ForestAveragesItsTrees) {
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                                        {TwoLeaves(), TwoLeaves()}, {}));
  const Prediction middle = model.Predict({40, 0});
  EXPECT_THAT(middle.probabilities, ElementsAre(0.625, 0.375));
  EXPECT_EQ(middle.label, 0u);
  EXPECT_THAT(middle.standard_error, DoubleNear(0.025, 1e-15));  // sqrt(.04^2 + .03^2) / 2
  EXPECT_EQ(model.Predict({60, 0}).label, 0u) << "the lower class on a tie";
}

TEST(ModelTest, OneUnknownTreeMakesTheForestUnknown) {
  auto unknown = TwoLeaves();
  unknown[0].standard_error = kInf;
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                                        {TwoLeaves(), unknown}, {}));
  EXPECT_EQ(model.Predict({20, 0}).standard_error, kInf);
}

TEST(ModelTest, AdditiveLeavesAreTermsOfAMeanCutToProbabilities) {
  const auto terms = [](double low) {
    return std::vector<LeafPrediction>{Leaf({1 - low, low}, 0.02, 0, 1), Leaf({-1, 2}, 0.04, 1, 2)};
  };
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                     {terms(-0.5), terms(-0.25)}, {}, LeafKind::kAdditive));
  const Prediction middle = model.Predict({40, 0});  // (-1, 2) and (1.25, -0.25)
  EXPECT_THAT(middle.probabilities, ElementsAre(0.125, 0.875));
  EXPECT_EQ(middle.label, 1u);
  EXPECT_THAT(middle.standard_error, DoubleNear(0.03, 1e-15)) << "trees are not independent";
  EXPECT_THAT(model.Predict({60, 0}).probabilities, ElementsAre(0, 1)) << "cut";
}

TEST(ModelTest, WeightsAreSummedOverTheTrees) {
  const auto counts = [](double low, double high) {
    return std::vector<LeafPrediction>{Leaf({low, high}, 2, 0, 1), Leaf({-1, 3}, 2, 1, 2)};
  };
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                     {counts(5, 0), counts(9, 1)}, {}, LeafKind::kWeights));
  const Prediction middle = model.Predict({40, 0});  // (-1, 3) and (9, 1)
  EXPECT_THAT(middle.probabilities, ElementsAre(8.0 / 12, 4.0 / 12));
  EXPECT_EQ(middle.label, 0u);
  // Noise of variance 8 on each of 8 and 4 counts, and 12 rows: p (1 - p) / 12.
  const double noise = 8 * (1.0 / 9 + 4.0 / 9) / 144, sampling = 2.0 / 9 / 12;
  EXPECT_NEAR(middle.standard_error, std::sqrt(noise + sampling), 1e-12);
  EXPECT_THAT(model.Predict({60, 0}).probabilities, ElementsAre(0, 1)) << "cut at 0";
}

TEST(ModelTest, WeightsThatAreAllNegativeSayNothing) {
  ASSERT_OK_AND_ASSIGN(
      const Model model,
      Model::Create(IncomeSchema(), {Stump(30)}, {{Leaf({-2, -1}, 2, 0, 1), Leaf({1, 2}, 2, 1, 2)}},
                    {}, LeafKind::kWeights));
  const Prediction nothing = model.Predict({20, 0});
  EXPECT_THAT(nothing.probabilities, ElementsAre(0.5, 0.5));
  EXPECT_EQ(nothing.label, 1u) << "the largest of them";
  EXPECT_EQ(nothing.standard_error, kInf);
}

TEST(ModelTest, WeightsMustBeFinite) {
  for (const double bad : {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(Model::Create(IncomeSchema(), {Tree::SingleLeaf()}, {{Leaf({1, bad}, 2, 0, 0)}}, {},
                              LeafKind::kWeights),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
  }
}

TEST(ModelTest, ANumberIsTheMeanOfTheEndsOfItsRange) {
  ASSERT_OK_AND_ASSIGN(
      const Schema schema,
      Schema::CreateRegression(IncomeSchema().features(), "wage", {.min = 100, .max = 300}));
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(schema, {Stump(30), Stump(50)},
                                                        {TwoLeaves(), TwoLeaves()}, {}));
  const Prediction middle = model.Predict({40, 0});  // p(max) = 0.375
  EXPECT_EQ(middle.value, 175);
  EXPECT_NEAR(middle.value_error, 200 * 0.025, 1e-12);
}

TEST(ModelTest, OneAdditiveTreeIsCutToo) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30)},
                                     {{Leaf({-0.5, 1.5}, 0.1, 1, 1), Leaf({0.5, 0.5}, 0.1, 0, 2)}},
                                     {}, LeafKind::kAdditive));
  EXPECT_THAT(model.Predict({20, 0}).probabilities, ElementsAre(0, 1));
}

TEST(ModelTest, AdditiveTermsMustBeFiniteAndAddUpToOne) {
  const auto with = [](std::vector<double> terms) {
    return Model::Create(IncomeSchema(), {Stump(30)},
                         {{Leaf(std::move(terms), 0.1, 1, 1), Leaf({0.5, 0.5}, 0.1, 0, 2)}}, {},
                         LeafKind::kAdditive);
  };
  EXPECT_OK(with({-3, 4}));
  EXPECT_THAT(with({-3, 4.5}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("add up")));
  for (const double bad : {kInf, std::numeric_limits<double>::quiet_NaN(), 1e10}) {
    EXPECT_THAT(with({1 - bad, bad}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
  }
}

TEST(ConfidenceTest, IsTheNormalProbabilityOfTheLead) {
  const auto two = [](double p, double error) {
    return Confidence({.label = 1, .probabilities = {1 - p, p}, .standard_error = error});
  };
  EXPECT_THAT(two(0.6, 0.1), DoubleNear(0.8413447, 1e-6)) << "one standard error";
  EXPECT_EQ(two(0.5, 0.1), 0.5);
  EXPECT_EQ(two(0.7, kInf), 0.5);
  EXPECT_EQ(two(0.7, 0), 1);
  const Prediction three = {
      .label = 2, .probabilities = {0.2, 0.3, 0.5}, .standard_error = 0.2 / std::sqrt(2.0)};
  EXPECT_THAT(Confidence(three), DoubleNear(0.8413447, 1e-6)) << "against the second";
}

// Opposite scores of the two classes, and their noise.
LeafPrediction Score(double score, OutputNoise noise, uint32_t node, double term = 0) {
  LeafPrediction leaf = Leaf({-score / 2, score / 2}, 0, score > 0 ? 1 : 0, node);
  leaf.noise = {{.mean = -noise.mean / 2, .variance = noise.variance / 4},
                {.mean = noise.mean / 2, .variance = noise.variance / 4}};
  leaf.term = term;
  return leaf;
}

StatusOr<Model> OfScores(std::vector<LeafPrediction> leaves, SharedNoise shared = {}) {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> by_tree;
  for (LeafPrediction& leaf : leaves) {
    forest.push_back(Tree::SingleLeaf());
    by_tree.push_back({std::move(leaf)});
  }
  return Model::Create(IncomeSchema(), std::move(forest), std::move(by_tree), {}, LeafKind::kScores,
                       {}, std::move(shared));
}

double Logit(double p) { return std::log(p / (1 - p)); }

TEST(ScoreNoiseTest, AddsUpOverTheTreesToAnInterval) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       OfScores({Score(1.5, {.mean = 0.25, .variance = 0.09}, 0),
                                 Score(0.5, {.mean = 0.25, .variance = 0.16}, 0)}));
  const Prediction prediction = model.Predict({20, 0});
  EXPECT_EQ(prediction.label, 1u);
  EXPECT_THAT(Logit(prediction.probabilities[1]), DoubleNear(2, 1e-12)) << "as it was released";
  ASSERT_TRUE(prediction.score.has_value());
  EXPECT_THAT(prediction.score->value, DoubleNear(1.5, 1e-12)) << "without what noise added";
  EXPECT_THAT(prediction.score->error, DoubleNear(0.5, 1e-12));
  EXPECT_THAT(Logit(prediction.low), DoubleNear(1.5 - 0.98, 1e-3));
  EXPECT_THAT(Logit(prediction.high), DoubleNear(1.5 + 0.98, 1e-3));
  EXPECT_THAT(Confidence(prediction), DoubleNear(0.99865, 1e-4)) << "three standard errors";
  const double p = prediction.probabilities[1];
  EXPECT_THAT(prediction.standard_error, DoubleNear(p * (1 - p) * 0.5, 1e-12));
}

// Two leaves below and above 50, in one tree behind a tree of one leaf.
StatusOr<Model> OfTwoTrees(LeafPrediction first, std::vector<LeafPrediction> second) {
  for (uint32_t leaf = 0; leaf < 2; ++leaf) second[leaf].source_node = 1 + leaf;
  return Model::Create(IncomeSchema(), {Tree::SingleLeaf(), Stump(50)},
                       {{std::move(first)}, std::move(second)}, {}, LeafKind::kScores);
}

// A tree without any noise was made from public data, if others have noise.
TEST(ScoreNoiseTest, PublicTreesAddNone) {
  LeafPrediction silent = Score(1, {}, 0);
  silent.noise.clear();
  ASSERT_OK_AND_ASSIGN(const Model model,
                       OfTwoTrees(Score(2, {.variance = 1}, 0), {silent, silent}));
  EXPECT_FALSE(model.is_public(0));
  EXPECT_TRUE(model.is_public(1));
  EXPECT_THAT(model.Predict({20, 0}).score->error, DoubleNear(1, 1e-12));
  ASSERT_OK_AND_ASSIGN(const Model quiet, OfTwoTrees(silent, {silent, silent}));
  EXPECT_FALSE(quiet.is_public(1));
  EXPECT_FALSE(quiet.Predict({20, 0}).score.has_value()) << "nothing is known of any tree";
}

TEST(ScoreNoiseTest, IsUnknownIfTheNoiseOfOneLeafIs) {
  LeafPrediction silent = Score(1, {}, 0);
  silent.noise.clear();
  ASSERT_OK_AND_ASSIGN(const Model model, OfTwoTrees(Score(2, {.variance = 1}, 0),
                                                     {silent, Score(1, {.variance = 1}, 0)}));
  EXPECT_TRUE(model.Predict({80, 0}).score.has_value());
  const Prediction prediction = model.Predict({20, 0});
  EXPECT_FALSE(prediction.score.has_value());
  EXPECT_EQ(prediction.standard_error, kInf);
  EXPECT_EQ(prediction.low, 0);
  EXPECT_EQ(prediction.high, 1);
  EXPECT_EQ(Confidence(prediction), 0.5);
}

TEST(ScoreNoiseTest, SharedNoiseIsOfTheTermsTogether) {
  // The slopes' errors are e and -e: where both terms are 1 they cancel.
  const SharedNoise shared = {.trees = {0, 1}, .factor = {0.3, -0.3, 0, 0}};
  const auto error = [&](double first, double second) {
    const Model model =
        *OfScores({Score(1, {}, 0, first), Score(1, {}, 0, second), Score(1, {}, 0)}, shared);
    return model.Predict({20, 0}).score->error;
  };
  EXPECT_THAT(error(1, 1), DoubleNear(0, 1e-12));
  EXPECT_THAT(error(1, -1), DoubleNear(1.2, 1e-12)) << "of the difference of two outputs";
  EXPECT_THAT(error(1, 0), DoubleNear(0.6, 1e-12));
}

TEST(ScoreNoiseTest, OfSeveralClassesEachHasItsOwn) {
  const std::vector<OutputNoise> noise = {
      {.mean = 0, .variance = 0.01}, {.mean = 0.5, .variance = 0.04}, {.mean = 0, .variance = 0}};
  const Prediction prediction = PredictFromScores({0, 2, 0}, noise, /*regression=*/false);
  EXPECT_EQ(prediction.label, 1u);
  EXPECT_THAT(prediction.score->value, DoubleNear(1.5 - std::log(2.0), 1e-12));
  EXPECT_THAT(prediction.score->error, DoubleNear(std::sqrt(0.04 + 0.01 / 4), 1e-12));
  EXPECT_THAT(prediction.score->lead, DoubleNear(1.5, 1e-12));
  EXPECT_THAT(prediction.score->lead_error, DoubleNear(std::sqrt(0.05), 1e-12));
}

TEST(ScoreNoiseTest, OfANumberIsInItsUnits) {
  const Schema schema =
      *Schema::CreateRegression(IncomeSchema().features(), "wage", {.min = -1, .max = 3});
  LeafPrediction leaf = Leaf({-0.5, 0.5}, 0, 1, 0);
  leaf.noise = {{.mean = -0.1, .variance = 0.0025}, {.mean = 0.1, .variance = 0.0025}};
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(schema, {Tree::SingleLeaf()}, {{leaf}}, {},
                                                        LeafKind::kScores));
  const Prediction prediction = model.Predict({20, 0});
  EXPECT_THAT(prediction.value, DoubleNear(1, 1e-12));
  EXPECT_THAT(prediction.value_error, DoubleNear(0.2, 1e-12));
  EXPECT_THAT(prediction.low, DoubleNear(0.6 - 0.392, 1e-3));
  EXPECT_THAT(prediction.high, DoubleNear(0.6 + 0.392, 1e-3));
}

TEST(ScoreNoiseTest, CreateRejectsInvalidNoise) {
  const auto refused = [](LeafPrediction leaf, SharedNoise shared, const char* why) {
    EXPECT_THAT(OfScores({std::move(leaf)}, std::move(shared)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  LeafPrediction short_of_one = Score(1, {}, 0);
  short_of_one.noise.pop_back();
  refused(short_of_one, {}, "2 outputs");
  refused(Score(1, {.mean = kInf}, 0), {}, "finite");
  refused(Score(1, {.variance = std::nan("")}, 0), {}, "finite");
  refused(Score(1, {}, 0, kInf), {}, "finite");
  refused(Score(1, {}, 0), {.trees = {1}, .factor = {1}}, "increasing");
  refused(Score(1, {}, 0), {.trees = {0}, .factor = {1, 2}}, "square");
  refused(Score(1, {}, 0), {.trees = {0}, .factor = {kInf}}, "finite");
  LeafPrediction probability = TwoLeaves()[0];
  probability.noise = {{}, {}};
  EXPECT_THAT(WithLeaf(probability), StatusIs(StatusCode::kInvalidArgument, HasSubstr("scores")));
  EXPECT_THAT(Model::Create(IncomeSchema(), {Stump(30)}, {TwoLeaves()}, {},
                            LeafKind::kProbabilities, {}, {.trees = {0}, .factor = {1}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("scores")));
}

TEST(ModelTest, ProbabilitiesHaveIntervalsInZeroToOne) {
  ASSERT_OK_AND_ASSIGN(const Model model, WithLeaf(Leaf({0.95, 0.05}, 0.03, 0, 1)));
  const Prediction prediction = model.Predict({20, 0});
  EXPECT_THAT(prediction.low, DoubleNear(0.95 - 0.0588, 1e-4));
  EXPECT_EQ(prediction.high, 1);
}

TEST(ModelTest, CreateRejectsShapesThatDoNotMatch) {
  EXPECT_THAT(Model::Create(IncomeSchema(), {}, {}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least one tree")));
  EXPECT_THAT(Model::Create(IncomeSchema(), {Stump(30)}, {}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("as many lists of leaves")));
  EXPECT_THAT(
      Model::Create(IncomeSchema(), {Stump(30)}, {{TwoLeaves()[0]}}, {}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("tree 0: needs 2 leaf predictions")));
}

TEST(ModelTest, CreateRejectsATreeOfAnotherSchema) {
  ASSERT_OK_AND_ASSIGN(Schema other,
                       Schema::Create({testing::Categorical("c", {"u", "v"})}, "y", {"a", "b"}));
  EXPECT_THAT(Model::Create(std::move(other), {Stump(30)}, {TwoLeaves()}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not numeric")));
}

TEST(ModelTest, CreateRejectsInvalidProbabilities) {
  EXPECT_THAT(WithLeaf(Leaf({1.0}, 0, 0, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leaf 0: needs 2")));
  for (const auto& p : {std::vector{1.1, -0.1}, {kMissingValue, 1.0}}) {
    EXPECT_THAT(WithLeaf(Leaf(p, 0, 0, 1)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("in [0, 1]")));
  }
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.4}, 0, 0, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("add up to 1")));
}

TEST(ModelTest, CreateRejectsBadErrorsLabelsAndSources) {
  for (const double error : {-0.1, kMissingValue}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, error, 0, 1)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("standard_error")));
  }
  EXPECT_OK(WithLeaf(Leaf({0.5, 0.5}, kInf, 0, 1)));
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 2, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("label must be below 2")));
  for (const uint32_t source : {2u, 3u, kNoParent}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 0, source)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("source_node")));
  }
}

}  // namespace
}  // namespace coppice
