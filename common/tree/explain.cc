#include "common/tree/explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/tree/render_label.h"

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

// The splits on the way of `row`, which has derived values too, to its leaf.
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

}  // namespace

Explanation Explain(const Model& model, const ReadableCuts& cuts, RowView row, size_t most_trees) {
  const Row extended = ExtendRow(model.schema(), model.derived(), row);
  const uint32_t label = model.Predict(row).label;
  Explanation explanation{.unit = UnitOf(model), .base = AnswerWithoutTrees(model)};
  std::vector<TreePath>& trees = explanation.trees;
  for (uint32_t t = 0; t < model.forest().size(); ++t) {
    const uint32_t leaf = model.forest()[t].FindLeaf(extended);
    trees.push_back({.tree = t,
                     .contribution = ContributionOf(model, model.leaves()[t][leaf], label),
                     .leaf = leaf});
  }
  std::stable_sort(trees.begin(), trees.end(), [](const TreePath& a, const TreePath& b) {
    return std::abs(a.contribution) > std::abs(b.contribution);
  });
  if (most_trees > 0 && most_trees < trees.size()) trees.resize(most_trees);
  for (TreePath& path : trees) {
    path.steps = StepsOf({.model = model, .number = path.tree, .cuts = cuts}, extended);
    path.prediction = model.leaves()[path.tree][path.leaf];
  }
  return explanation;
}

Explanation Explain(const Model& model, RowView row, size_t most_trees) {
  return Explain(model, ReadableCuts(model), row, most_trees);
}

}  // namespace coppice
