#include "common/model/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "common/model/render.h"
#include "tests/common/model/trees.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::IncomeSchema;
using ::coppice::testing::Leaf;
using ::coppice::testing::Numeric;
using ::coppice::testing::NumericSplit;
using ::testing::HasSubstr;

// age < 30? If not, sex = Male? Three leaves have the second output's numbers and their errors.
struct ThreeLeaves {
  double young, male, other;
};

Tree AgeThenSex(const Schema& schema) {
  return *Tree::Create(
      {NumericSplit(0, 30, 1, 2),
       Node{},
       {.kind = SplitKind::kCategory, .feature = 1, .threshold = 1, .left = 3, .right = 4},
       Node{},
       Node{}},
      schema);
}

std::vector<LeafPrediction> LeavesOf(const ThreeLeaves& values, const ThreeLeaves& errors) {
  return {Leaf({1 - values.young, values.young}, errors.young, 0, 1),
          Leaf({1 - values.male, values.male}, errors.male, 0, 3),
          Leaf({1 - values.other, values.other}, errors.other, 0, 4)};
}

Model OneTree(const ThreeLeaves& values, const ThreeLeaves& errors,
              LeafKind kind = LeafKind::kProbabilities) {
  const Schema schema = IncomeSchema();
  return *Model::Create(schema, {AgeThenSex(schema)}, {LeavesOf(values, errors)}, {}, kind);
}

// Returns importances by feature, as fractions.
std::vector<double> SharesOf(const Model& model) {
  std::vector<double> shares(model.tree_schema().num_features(), 0.0);
  for (const Importance& one : Summarize(model).importances) shares[one.feature] = one.importance;
  return shares;
}

TEST(SummaryTest, ASplitCountsByWhatItDecidesAndHowOften) {
  // age decides |.2 - (.6 + .8) / 2| = .5; sex decides .2, half the time.
  const ForestSummary summary = Summarize(OneTree({.2, .6, .8}, {0, 0, 0}));
  ASSERT_EQ(summary.importances.size(), 2u);
  EXPECT_EQ(summary.importances[0].feature, 0u);
  EXPECT_NEAR(summary.importances[0].importance, .5 / .6, 1e-12);
  EXPECT_EQ(summary.importances[0].standard_error, 0.0);
  EXPECT_NEAR(summary.importances[1].importance, .1 / .6, 1e-12);
}

TEST(SummaryTest, SizesAreOfTheSmallestAndTheLargestTree) {
  const Schema schema = IncomeSchema();
  const Model model =
      *Model::Create(schema, {AgeThenSex(schema), Tree::SingleLeaf()},
                     {LeavesOf({.2, .6, .8}, {0, 0, 0}), {Leaf({.5, .5}, 0, 0, 0)}}, {});
  const ForestSummary summary = Summarize(model);
  EXPECT_EQ(summary.trees, 2u);
  EXPECT_EQ(summary.leaves, 4u);
  EXPECT_EQ(summary.min_leaves, 1u);
  EXPECT_EQ(summary.max_leaves, 3u);
  EXPECT_EQ(summary.min_depth, 0u);
  EXPECT_EQ(summary.max_depth, 2u);
}

TEST(SummaryTest, NothingIsImportantWhereNothingIsDecided) {
  const ForestSummary level = Summarize(OneTree({.5, .5, .5}, {0, 0, 0}));
  EXPECT_TRUE(level.importances.empty());
  EXPECT_EQ(level.features, 2u);
  EXPECT_THAT(RenderSummary(OneTree({.5, .5, .5}, {0, 0, 0})),
              HasSubstr("\nno split decides anything\n"));
  const Model leaf =
      *Model::Create(IncomeSchema(), {Tree::SingleLeaf()}, {{Leaf({.5, .5}, 0, 0, 0)}}, {});
  EXPECT_TRUE(Summarize(leaf).importances.empty());
}

TEST(SummaryTest, AnUnknownLeafIsOffByItsRangeOrMakesAllUnknown) {
  const double inf = std::numeric_limits<double>::infinity();
  // age's part is ((male + other) / 2 - young) / (other - young), and male may be off by 1.
  const ForestSummary summary = Summarize(OneTree({.2, .6, .8}, {0, inf, 0}));
  for (const Importance& one : summary.importances) {
    ASSERT_TRUE(one.standard_error.has_value());
    EXPECT_NEAR(*one.standard_error, .5 / .6, 1e-12) << one.feature;
  }
  const Model additive = OneTree({.2, .6, .8}, {.1, inf, .1}, LeafKind::kAdditive);
  for (const Importance& one : Summarize(additive).importances) {
    EXPECT_FALSE(one.standard_error.has_value());
  }
}

// Simulates the spread of the shares of `draw()`'s models, against the errors stated for `model`.
template <typename Draw>
void ExpectErrorsAsDrawn(const Model& model, Draw draw) {
  constexpr int kDraws = 20'000;
  std::vector<double> sums(model.tree_schema().num_features(), 0.0), squares = sums;
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<double> shares = SharesOf(draw());
    for (size_t f = 0; f < shares.size(); ++f) {
      sums[f] += shares[f];
      squares[f] += shares[f] * shares[f];
    }
  }
  for (const Importance& one : Summarize(model).importances) {
    const double mean = sums[one.feature] / kDraws;
    const double spread = std::sqrt(squares[one.feature] / kDraws - mean * mean);
    ASSERT_TRUE(one.standard_error.has_value());
    EXPECT_NEAR(*one.standard_error / spread, 1, 0.05) << one.feature;
  }
}

TEST(SummaryTest, ErrorsAreThoseOfSmallNoiseAtTheLeaves) {
  const ThreeLeaves values{.2, .6, .8}, errors{.01, .02, .03};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  ExpectErrorsAsDrawn(OneTree(values, errors), [&] {
    return OneTree(
        {values.young + errors.young * normal(random), values.male + errors.male * normal(random),
         values.other + errors.other * normal(random)},
        errors);
  });
}

// With two trees of additive leaves each leaf's error is that of the mean of two.
TEST(SummaryTest, AdditiveLeavesHaveTheErrorOfTheWhole) {
  const Schema schema = IncomeSchema();
  const auto two = [&](const ThreeLeaves& a, const ThreeLeaves& b) {
    return *Model::Create(schema, {AgeThenSex(schema), AgeThenSex(schema)},
                          {LeavesOf(a, {.01, .01, .01}), LeavesOf(b, {.01, .01, .01})}, {},
                          LeafKind::kAdditive);
  };
  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, .01 * std::sqrt(2));
  ExpectErrorsAsDrawn(two({.2, .6, .8}, {.1, .7, .3}), [&] {
    return two({.2 + normal(random), .6 + normal(random), .8 + normal(random)},
               {.1 + normal(random), .7 + normal(random), .3 + normal(random)});
  });
}

TEST(SummaryTest, WeightsCountByTheirParts) {
  const Schema schema = IncomeSchema();
  const auto weights = [&](const std::vector<double>& w) {
    return *Model::Create(
        schema, {AgeThenSex(schema)},
        {{Leaf({w[0], w[1]}, 1, 0, 1), Leaf({w[2], w[3]}, 1, 0, 3), Leaf({w[4], w[5]}, 1, 0, 4)}},
        {}, LeafKind::kWeights);
  };
  const std::vector<double> counts = {80, 20, 40, 60, 10, 90};
  EXPECT_NEAR(SharesOf(weights(counts))[0], .55 / .70, 1e-12);
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  ExpectErrorsAsDrawn(weights(counts), [&] {
    std::vector<double> noisy = counts;
    for (double& w : noisy) w += normal(random);
    return weights(noisy);
  });
}

Model Scores(const std::vector<std::vector<double>>& scores, double variance) {
  std::vector<std::string> classes;
  for (size_t k = 0; k < scores[0].size(); ++k) classes.push_back(std::to_string(k));
  const Schema schema = *Schema::Create(
      {Numeric("age", 17, 90), Categorical("sex", {"Female", "Male"})}, "y", classes);
  std::vector<LeafPrediction> leaves;
  for (size_t l = 0; l < scores.size(); ++l) {
    leaves.push_back(Leaf(scores[l], 0, 0, l == 0 ? 1 : static_cast<uint32_t>(l) + 2));
    if (variance > 0) leaves.back().noise.assign(classes.size(), {.mean = 0, .variance = variance});
  }
  return *Model::Create(schema, {AgeThenSex(schema)}, {std::move(leaves)}, {}, LeafKind::kScores);
}

TEST(SummaryTest, ScoresHaveTheirOwnNoise) {
  EXPECT_FALSE(
      Summarize(Scores({{-1, 1}, {2, -2}, {3, -3}}, 0)).importances[0].standard_error.has_value());
  std::mt19937 random(4);
  std::normal_distribution<double> normal(0, .1);
  ExpectErrorsAsDrawn(Scores({{-1, 1}, {2, -2}, {3, -3}}, .01), [&] {
    const double a = -1 + normal(random), b = 2 + normal(random), c = 3 + normal(random);
    return Scores({{a, -a}, {b, -b}, {c, -c}}, 0);
  });
  const std::vector<std::vector<double>> three = {{-1, 1, 4}, {2, -2, 1}, {3, -5, 0}};
  ExpectErrorsAsDrawn(Scores(three, .01), [&] {
    std::vector<std::vector<double>> noisy = three;
    for (std::vector<double>& leaf : noisy) {
      for (double& score : leaf) score += normal(random);
    }
    return Scores(noisy, 0);
  });
}

TEST(SummaryTest, ASlopesNoiseMovesAllLeavesOfItsTreeTogether) {
  const auto leaf = [](double score, double term, uint32_t node) {
    LeafPrediction made = Leaf({-score, score}, 0, score > 0 ? 1 : 0, node);
    made.noise = {{}, {}};
    made.term = term;
    return made;
  };
  const Schema schema = IncomeSchema();
  const Tree by_age = *Tree::Create({NumericSplit(0, 30, 1, 2), Node{}, Node{}}, schema);
  const Tree by_sex = *Tree::Create(
      {{.kind = SplitKind::kCategory, .feature = 1, .threshold = 1, .left = 1, .right = 2},
       Node{},
       Node{}},
      schema);
  const Model model =
      *Model::Create(schema, {by_age, by_sex},
                     {{leaf(0.5, 1, 1), leaf(-0.5, -1, 2)}, {leaf(0.5, 0, 1), leaf(-0.5, 0, 2)}},
                     {}, LeafKind::kScores, {}, {.trees = {0}, .factor = {0.1}});
  // Each feature decides half. The slope's error of .1 moves what age decides, 1, by twice that.
  const std::vector<Importance> importances = Summarize(model).importances;
  ASSERT_EQ(importances.size(), 2u);
  for (const Importance& one : importances) {
    EXPECT_DOUBLE_EQ(one.importance, 0.5);
    EXPECT_NEAR(*one.standard_error, 0.05, 1e-12);
  }
}

TEST(SummaryTest, WhatAllClassesShareDecidesNothing) {
  EXPECT_NEAR(SharesOf(Scores({{5, 5, 5}, {0, 0, 0}, {2, 0, 0}}, 0))[1],
              SharesOf(Scores({{0, 0, 0}, {0, 0, 0}, {2, 0, 0}}, 0))[1], 1e-12);
}

TEST(SummaryTest, NumbersCountByTheirOwnChange) {
  const Schema schema =
      *Schema::CreateRegression({Numeric("age", 17, 90), Categorical("sex", {"Female", "Male"})},
                                "wage", {.min = 0, .max = 10});
  for (const LeafKind kind : {LeafKind::kProbabilities, LeafKind::kScores}) {
    const Model model =
        *Model::Create(schema, {AgeThenSex(schema)}, {LeavesOf({.2, .6, .8}, {0, 0, 0})}, {}, kind);
    EXPECT_NEAR(SharesOf(model)[0], .5 / .6, 1e-12);
  }
}

TEST(SummaryTest, IsShownAtAGlance) {
  const Schema schema = IncomeSchema();
  Certificate certificate;
  certificate.mechanism = "forest";
  certificate.estimator = "forest depth=2";
  certificate.neighbouring = "one row more or less";
  const auto forest = [&](const Certificate& of, double error) {
    return *Model::Create(
        schema, {AgeThenSex(schema), Tree::SingleLeaf()},
        {LeavesOf({.2, .6, .8}, {error, error, error}), {Leaf({.5, .5}, error, 0, 0)}}, of,
        LeafKind::kAdditive);
  };
  EXPECT_EQ(RenderSummary(forest(certificate, 0)),
            "income by 2 trees\n"
            "  predicts   income: low, high\n"
            "  mechanism  forest\n"
            "  estimator  forest depth=2\n"
            "  privacy    ε = 0; one row more or less, protected from whoever sees the model, but "
            "not from the curator\n"
            "  trees      2\n"
            "  leaves     4, 1 to 3 per tree\n"
            "  depth      0 to 2\n"
            "  features   2 of 2 are in a split\n"
            "  note       leaves add to the probability of the class that they name, which is 0.5 "
            "without any tree\n"
            "\n"
            "importance, as a part of all that splits decide, ± one standard error\n"
            "  age  0.833 ± 0.000\n"
            "  sex  0.167 ± 0.000\n");
  EXPECT_THAT(RenderSummary(forest(certificate, std::numeric_limits<double>::infinity())),
              HasSubstr("decide; its noise is not known\n  age  0.833\n"));
}

// Thirty features are equally important.
TEST(SummaryTest, ManyFeaturesAreShownInPart) {
  std::vector<Feature> features;
  for (int i = 0; i < 30; ++i) features.push_back(Numeric("f" + std::to_string(i), 0, 1));
  const Schema schema = *Schema::Create(features, "y", {"a", "b"});
  Forest forest;
  for (uint32_t f = 0; f < 30; ++f) {
    forest.push_back(*Tree::Create({NumericSplit(f, .5, 1, 2), Node{}, Node{}}, schema));
  }
  const Model model = *Model::Create(
      schema, forest, std::vector(30, std::vector{Leaf({1, 0}, 0, 0, 1), Leaf({0, 1}, 0, 1, 2)}),
      {});
  EXPECT_THAT(RenderSummary(model), HasSubstr("  10 more  0.333\n"));
}

TEST(SummaryTest, DerivedFeaturesAreSaidInWords) {
  Feature age = Numeric("age", 17, 90);
  age.unit = "years";
  const Schema schema = *Schema::Create({age, Numeric("wage", 0, 9)}, "y", {"a", "b"});
  EXPECT_EQ(InWords(schema, {{.feature = 0}, {.feature = 1, .minus = true}}),
            "where age lies from 17 (0) to 90 years (1), less where wage lies from 0 (0) to 9 (1)");
  const Schema extended = *ExtendSchema(schema, {{{.feature = 0}, {.feature = 1, .minus = true}}});
  const Model model =
      *Model::Create(schema, {*Tree::Create({NumericSplit(2, .5, 1, 2), Node{}, Node{}}, extended)},
                     {{Leaf({1, 0}, 0, 0, 1), Leaf({0, 1}, 0, 1, 2)}}, {}, LeafKind::kProbabilities,
                     {{{.feature = 0}, {.feature = 1, .minus = true}}});
  EXPECT_THAT(RenderSummary(model),
              HasSubstr("\nderived features\n  scaled age - wage  where age lies from 17 (0)"));
}

// The noise of votes without their weights is bounded, not unknown.
TEST(SummaryTest, WeightsThatAreGoneAreOffByTheirRange) {
  const Schema schema = IncomeSchema();
  const Model model =
      *Model::Create(schema, {AgeThenSex(schema)},
                     {{Leaf({80, 20}, 1, 0, 1), Leaf({-3, -1}, 1, 0, 3), Leaf({10, 90}, 1, 0, 4)}},
                     {}, LeafKind::kWeights);
  for (const Importance& one : Summarize(model).importances) {
    ASSERT_TRUE(one.standard_error.has_value());
    EXPECT_GT(*one.standard_error, .1);
    EXPECT_LE(*one.standard_error, 1);
  }
}

}  // namespace
}  // namespace coppice
