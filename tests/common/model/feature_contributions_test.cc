// Features' contributions, on random forests of every kind of leaf: they sum to the answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "common/model/explain.h"
#include "tests/support/schemas.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;

std::vector<Feature> FiveFeatures() {
  return {Numeric("a", -5, 5), Categorical("b", {"x", "y", "z"}), Numeric("c", 0, 100),
          Numeric("d", 0, 1), Categorical("e", {"p", "q"})};
}

class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : random_(seed) {}

  Model Make(LeafKind kind, bool number, size_t outputs, bool derived) {
    const Schema schema = SchemaOf(number, outputs);
    const std::vector<DerivedFeature> extra =
        derived ? std::vector<DerivedFeature>{{{.feature = 0}, {.feature = 2, .minus = true}},
                                              {{.feature = 2}, {.feature = 3}}}
                : std::vector<DerivedFeature>{};
    const Schema tree_schema = *ExtendSchema(schema, extra);
    Forest forest;
    std::vector<std::vector<LeafPrediction>> leaves;
    for (size_t trees = 1 + Below(5); trees > 0; --trees) {
      forest.push_back(MakeTree(tree_schema));
      std::vector<LeafPrediction>& of_tree = leaves.emplace_back();
      for (uint32_t leaf = 0; leaf < forest.back().num_leaves(); ++leaf) {
        of_tree.push_back(MakeLeaf(kind, schema.num_outputs(), forest.back().leaf_node(leaf)));
      }
    }
    return *Model::Create(schema, std::move(forest), std::move(leaves), Certificate(), kind, extra);
  }

  Row MakeRow(const Schema& schema) {
    Row row;
    for (const Feature& feature : schema.features()) {
      if (Below(6) == 0) {
        row.push_back(kMissingValue);
      } else if (feature.type == FeatureType::kCategorical) {
        row.push_back(static_cast<double>(Below(feature.values.size() + 1)));
      } else {
        row.push_back(feature.min + (feature.max - feature.min) * Uniform());
      }
    }
    return row;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  double Uniform() { return std::uniform_real_distribution<double>()(random_); }

  static Schema SchemaOf(bool number, size_t outputs) {
    if (number) return *Schema::CreateRegression(FiveFeatures(), "t", {.min = -3, .max = 9});
    std::vector<std::string> classes;
    for (size_t k = 0; k < outputs; ++k)
      classes.push_back(std::string(1, 'A' + static_cast<char>(k)));
    return *Schema::Create(FiveFeatures(), "t", classes);
  }

  Tree MakeTree(const Schema& schema) {
    std::vector<Node> nodes;
    AddNode(schema, 0, nodes);
    return *Tree::Create(std::move(nodes), schema);
  }

  // Never splits on "e", the last of the schema's own features.
  void AddNode(const Schema& schema, int depth, std::vector<Node>& nodes) {
    const size_t at = nodes.size();
    nodes.emplace_back();
    if (depth == 6 || Below(4) == 0) return;
    Node split;
    do {
      split.feature = static_cast<uint32_t>(Below(schema.num_features()));
    } while (split.feature == 4);
    const Feature& feature = schema.features()[split.feature];
    split.missing_left = Below(2) == 0;
    if (Below(5) == 0) {
      split.kind = SplitKind::kMissing;
      split.missing_left = false;
    } else if (feature.type == FeatureType::kCategorical) {
      split.kind = SplitKind::kCategory;
      split.threshold = static_cast<double>(Below(feature.values.size()));
    } else {
      split.kind = SplitKind::kNumeric;
      split.threshold = feature.min + (feature.max - feature.min) * Uniform();
    }
    split.left = static_cast<uint32_t>(nodes.size());
    AddNode(schema, depth + 1, nodes);
    split.right = static_cast<uint32_t>(nodes.size());
    AddNode(schema, depth + 1, nodes);
    nodes[at] = split;
  }

  LeafPrediction MakeLeaf(LeafKind kind, size_t outputs, uint32_t node) {
    std::vector<double> numbers(outputs);
    for (double& x : numbers) x = kind == LeafKind::kProbabilities ? Uniform() : 4 * Uniform() - 1;
    if (kind == LeafKind::kProbabilities || kind == LeafKind::kAdditive) {
      const double total = std::accumulate(numbers.begin(), numbers.end(), 0.0);
      if (kind == LeafKind::kAdditive) {
        numbers[0] += 1 - total;
      } else {
        for (double& x : numbers) x /= total;
      }
    }
    const auto most = std::max_element(numbers.begin(), numbers.end());
    return {.probabilities = numbers,
            .standard_error = 0.1,
            .label = static_cast<uint32_t>(most - numbers.begin()),
            .source_node = node};
  }

  std::mt19937 random_;
};

double AnswerOf(const Explanation& explanation) {
  double sum = explanation.base;
  for (const TreePath& path : explanation.trees) sum += path.contribution;
  return sum;
}

double SumOfFeatures(const Explanation& explanation) {
  double sum = explanation.bias;
  for (const FeatureContribution& one : explanation.features) sum += one.contribution;
  return sum;
}

struct Case {
  LeafKind kind;
  bool number;
  size_t outputs;
};
constexpr Case kCases[] = {
    {LeafKind::kProbabilities, false, 2}, {LeafKind::kProbabilities, false, 4},
    {LeafKind::kProbabilities, true, 2},  {LeafKind::kAdditive, false, 3},
    {LeafKind::kAdditive, true, 2},       {LeafKind::kWeights, false, 3},
    {LeafKind::kWeights, true, 2},        {LeafKind::kScores, false, 2},
    {LeafKind::kScores, false, 5},        {LeafKind::kScores, true, 2}};

TEST(FeatureContributionsTest, AddUpToTheAnswerOnRandomForests) {
  RandomModel random(11);
  for (const Case& of : kCases) {
    for (int i = 0; i < 60; ++i) {
      const Model model = random.Make(of.kind, of.number, of.outputs, i % 2 == 1);
      Explainer explainer(model);
      for (int r = 0; r < 10; ++r) {
        const Row row = random.MakeRow(model.schema());
        const Explanation explanation = explainer.Explain(row);
        const double answer = AnswerOf(explanation);
        ASSERT_NEAR(SumOfFeatures(explanation), answer, 1e-9 * (1 + std::abs(answer)));
        ASSERT_TRUE(std::is_sorted(explanation.features.begin(), explanation.features.end(),
                                   [](const auto& a, const auto& b) {
                                     return std::abs(a.contribution) > std::abs(b.contribution);
                                   }));
      }
    }
  }
}

// The other features contribute nothing, as the sum is complete without them.
TEST(FeatureContributionsTest, BelongToTheFeaturesOnTheRowsPaths) {
  RandomModel random(12);
  for (const Case& of : kCases) {
    const Model model = random.Make(of.kind, of.number, of.outputs, /*derived=*/true);
    Explainer explainer(model);
    for (int r = 0; r < 20; ++r) {
      const Row row = random.MakeRow(model.schema());
      const Explanation explanation = explainer.Explain(row);
      std::set<uint32_t> on_the_way, told;
      std::map<uint32_t, double> values;
      for (const TreePath& path : explanation.trees) {
        for (const PathStep& step : path.steps) {
          on_the_way.insert(step.split.feature);
          values[step.split.feature] = step.value;
        }
      }
      for (const FeatureContribution& one : explanation.features) {
        EXPECT_TRUE(told.insert(one.feature).second);
        EXPECT_TRUE(one.value == values[one.feature] || std::isnan(one.value));
      }
      EXPECT_EQ(told, on_the_way);
      EXPECT_FALSE(told.contains(4));
      // The number of trees shown changes nothing.
      EXPECT_EQ(explainer.Explain(row, 1).bias, explanation.bias);
      EXPECT_EQ(explainer.Explain(row, 1).features.size(), explanation.features.size());
    }
  }
}

// Computed by hand: every leaf counts alike, even if one side of a split has more of them.
TEST(FeatureContributionsTest, ANodeIsTheMeanOfItsLeaves) {
  const Schema schema = *Schema::CreateRegression({Numeric("a", 0, 10), Numeric("b", 0, 10)}, "y",
                                                  {.min = 0, .max = 1});
  // a < 5 ? 0.9 : (b < 5 ? 0.3 : 0)
  const Tree tree = *Tree::Create(
      {{.kind = SplitKind::kNumeric, .feature = 0, .threshold = 5, .left = 1, .right = 2},
       {},
       {.kind = SplitKind::kNumeric, .feature = 1, .threshold = 5, .left = 3, .right = 4},
       {},
       {}},
      schema);
  const std::vector<LeafPrediction> leaves = {{.probabilities = {0, 0.9}, .source_node = 1},
                                              {.probabilities = {0, 0.3}, .source_node = 3},
                                              {.probabilities = {0, 0.0}, .source_node = 4}};
  const Model model =
      *Model::Create(schema, {tree, tree}, {leaves, leaves}, Certificate(), LeafKind::kScores);
  const Explanation explanation = Explain(model, {7, 2});
  EXPECT_NEAR(explanation.bias, 2 * 0.4, 1e-12);
  ASSERT_EQ(explanation.features.size(), 2u);
  EXPECT_EQ(explanation.features[0].feature, 0u);
  EXPECT_NEAR(explanation.features[0].contribution, 2 * (0.15 - 0.4), 1e-12);
  EXPECT_EQ(explanation.features[0].value, 7);
  EXPECT_NEAR(explanation.features[1].contribution, 2 * (0.3 - 0.15), 1e-12);
}

TEST(FeatureContributionsTest, ATreeOfOneLeafIsAllBias) {
  const Schema schema = *Schema::Create({Numeric("a", 0, 1)}, "y", {"no", "yes"});
  const Model model =
      *Model::Create(schema, {Tree::SingleLeaf()},
                     {{{.probabilities = {0.25, 0.75}, .label = 1, .source_node = 0}}}, {});
  const Explanation explanation = Explain(model, {0.5});
  EXPECT_EQ(explanation.bias, 0.75);
  EXPECT_TRUE(explanation.features.empty());
}

}  // namespace
}  // namespace coppice
