#include "common/tree/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tests/common/tree/trees.h"
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
absl::StatusOr<Model> WithLeaf(LeafPrediction leaf) {
  return Model::Create(IncomeSchema(), {Stump(30)}, {{std::move(leaf), TwoLeaves()[1]}}, {});
}

TEST(ModelTest, OneTreeAnswersWithItsLeaf) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30)}, {TwoLeaves()}, {}));
  const Prediction young = model.Predict({20, 0});
  EXPECT_EQ(young.label, 0u);
  EXPECT_THAT(young.probabilities, ElementsAre(0.75, 0.25));
  EXPECT_EQ(young.standard_error, 0.03);
  // The leaf's own label, even where the probabilities are level.
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
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite")));
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
  EXPECT_THAT(with({-3, 4.5}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("add up")));
  for (const double bad : {kInf, std::numeric_limits<double>::quiet_NaN(), 1e10}) {
    EXPECT_THAT(with({1 - bad, bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite")));
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

TEST(ModelTest, CreateRejectsShapesThatDoNotMatch) {
  EXPECT_THAT(Model::Create(IncomeSchema(), {}, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least one tree")));
  EXPECT_THAT(Model::Create(IncomeSchema(), {Stump(30)}, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as many lists of leaves")));
  EXPECT_THAT(
      Model::Create(IncomeSchema(), {Stump(30)}, {{TwoLeaves()[0]}}, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tree 0: needs 2 leaf predictions")));
}

TEST(ModelTest, CreateRejectsATreeOfAnotherSchema) {
  ASSERT_OK_AND_ASSIGN(Schema other,
                       Schema::Create({testing::Categorical("c", {"u", "v"})}, "y", {"a", "b"}));
  EXPECT_THAT(Model::Create(std::move(other), {Stump(30)}, {TwoLeaves()}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not numeric")));
}

TEST(ModelTest, CreateRejectsProbabilitiesThatAreNone) {
  EXPECT_THAT(WithLeaf(Leaf({1.0}, 0, 0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leaf 0: needs 2")));
  for (const auto& p : {std::vector{1.1, -0.1}, {kMissingValue, 1.0}}) {
    EXPECT_THAT(WithLeaf(Leaf(p, 0, 0, 1)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in [0, 1]")));
  }
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.4}, 0, 0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("add up to 1")));
}

TEST(ModelTest, CreateRejectsBadErrorsLabelsAndSources) {
  for (const double error : {-0.1, kMissingValue}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, error, 0, 1)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("standard_error")));
  }
  EXPECT_OK(WithLeaf(Leaf({0.5, 0.5}, kInf, 0, 1)));
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 2, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label must be below 2")));
  for (const uint32_t source : {2u, 3u, kNoParent}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 0, source)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("source_node")));
  }
}

}  // namespace
}  // namespace coppice
