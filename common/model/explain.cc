#include "common/model/explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/model/render_label.h"

namespace coppice {
namespace {

ContributionUnit UnitOf(const Model& model) {
  if (model.leaf_kind() == LeafKind::kWeights) return ContributionUnit::kWeight;
  if (model.schema().target()) return ContributionUnit::kValue;
  return model.leaf_kind() == LeafKind::kScores ? ContributionUnit::kScore
                                                : ContributionUnit::kProbability;
}

}  // namespace

bool LeavesAreTerms(LeafKind kind, size_t trees) {
  return kind == LeafKind::kScores || (kind == LeafKind::kAdditive && trees > 1);
}

double AnswerWithoutTrees(const Model& model) {
  switch (UnitOf(model)) {
    case ContributionUnit::kProbability:
      return 1.0 / model.schema().num_outputs();
    case ContributionUnit::kValue: {
      const Target& target = *model.schema().target();
      return model.leaf_kind() == LeafKind::kScores ? target.min : target.min + target.span() / 2;
    }
    case ContributionUnit::kWeight:
    case ContributionUnit::kScore:
      break;
  }
  return 0;
}

double ContributionOf(const Model& model, const LeafPrediction& leaf, uint32_t label) {
  const std::vector<double>& numbers = leaf.probabilities;
  const auto outputs = static_cast<double>(numbers.size());
  const auto trees = static_cast<double>(model.forest().size());
  switch (UnitOf(model)) {
    case ContributionUnit::kProbability:
      return (numbers[label] - 1 / outputs) / trees;
    case ContributionUnit::kWeight:
    case ContributionUnit::kScore:
      return numbers[label] - std::accumulate(numbers.begin(), numbers.end(), 0.0) / outputs;
    case ContributionUnit::kValue:
      break;
  }
  const double span = model.schema().target()->span();
  return model.leaf_kind() == LeafKind::kScores ? span * numbers[1]
                                                : span * (numbers[1] - 0.5) / trees;
}

namespace {

std::string ConditionFor(const render_internal::TreeView& view, uint32_t node, double value) {
  const Node& split = view.tree().nodes()[node];
  if (split.kind == SplitKind::kNumeric && !IsMissing(value) &&
      view.cuts.Of(split.feature, split.threshold).Holds(value) != GoesLeft(split, value)) {
    return Question(view, node, ExactCut(split.threshold));
  }
  return Question(view, node);
}

// The splits on the path of `row`, which has derived values too, to its leaf.
std::vector<PathStep> StepsOf(const render_internal::TreeView& view, RowView row) {
  std::vector<PathStep> steps;
  for (const uint32_t node : view.tree().Path(row)) {
    const Node& split = view.tree().nodes()[node];
    if (split.kind == SplitKind::kLeaf) break;
    const double value = row[split.feature];
    steps.push_back({.condition = ConditionFor(view, node, value),
                     .holds = GoesLeft(split, value),
                     .node = node,
                     .split = split,
                     .value = value});
  }
  return steps;
}

// By node. A mean is a convex sum of its children's, so it does not exceed the largest leaf.
std::vector<double> MeansOfLeavesBelow(const Model& model, uint32_t number, uint32_t label) {
  const Tree& tree = model.forest()[number];
  const auto leaves_below = [&](uint32_t node) {
    return static_cast<double>(tree.end_leaf(node) - tree.first_leaf(node));
  };
  std::vector<double> means(tree.nodes().size());
  for (auto node = static_cast<uint32_t>(means.size()); node-- > 0;) {  // children before parents
    const Node& split = tree.nodes()[node];
    if (split.kind == SplitKind::kLeaf) {
      means[node] = ContributionOf(model, model.leaves()[number][tree.first_leaf(node)], label);
      continue;
    }
    const double left = leaves_below(split.left) / leaves_below(node);
    means[node] = left * means[split.left] + (1 - left) * means[split.right];
  }
  return means;
}

template <typename Contribution>
void SortByContribution(std::vector<Contribution>& contributions) {
  std::stable_sort(contributions.begin(), contributions.end(),
                   [](const Contribution& a, const Contribution& b) {
                     return std::abs(a.contribution) > std::abs(b.contribution);
                   });
}

}  // namespace

const Explainer::NodeMeans& Explainer::MeansFor(uint32_t label) {
  const auto [found, is_new] = means_.try_emplace(label);
  if (!is_new) return found->second;
  for (uint32_t t = 0; t < model_.forest().size(); ++t) {
    found->second.push_back(MeansOfLeavesBelow(model_, t, label));
  }
  return found->second;
}

void Explainer::AddFeatures(RowView extended, uint32_t label, Explanation& explanation) {
  const NodeMeans& means = MeansFor(label);
  std::map<uint32_t, double> contributions;
  explanation.bias = explanation.base;
  for (size_t t = 0; t < means.size(); ++t) {
    const Tree& tree = model_.forest()[t];
    const std::vector<uint32_t> path = tree.Path(extended);
    explanation.bias += means[t][path.front()];
    for (size_t i = 1; i < path.size(); ++i) {
      contributions[tree.nodes()[path[i - 1]].feature] += means[t][path[i]] - means[t][path[i - 1]];
    }
  }
  for (const auto& [feature, contribution] : contributions) {
    explanation.features.push_back(
        {.feature = feature, .value = extended[feature], .contribution = contribution});
  }
  SortByContribution(explanation.features);
}

Explanation Explainer::Explain(RowView row, size_t most_trees) {
  const Row extended = ExtendRow(model_.schema(), model_.derived(), row);
  const uint32_t label = model_.Predict(row).label;
  Explanation explanation{.unit = UnitOf(model_), .base = AnswerWithoutTrees(model_)};
  AddFeatures(extended, label, explanation);
  std::vector<TreePath>& trees = explanation.trees;
  for (uint32_t t = 0; t < model_.forest().size(); ++t) {
    const uint32_t leaf = model_.forest()[t].FindLeaf(extended);
    trees.push_back({.tree = t,
                     .contribution = ContributionOf(model_, model_.leaves()[t][leaf], label),
                     .leaf = leaf});
  }
  SortByContribution(trees);
  if (most_trees > 0 && most_trees < trees.size()) trees.resize(most_trees);
  for (TreePath& path : trees) {
    path.steps = StepsOf({.model = model_, .number = path.tree, .cuts = cuts_}, extended);
    path.prediction = model_.leaves()[path.tree][path.leaf];
  }
  return explanation;
}

Explanation Explain(const Model& model, RowView row, size_t most_trees) {
  return Explainer(model).Explain(row, most_trees);
}

}  // namespace coppice
