#include "common/model/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "common/base/printable.h"
#include "common/base/text.h"
#include "common/model/render_label.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

using Vector = std::vector<double>;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

double Sum(const Vector& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

void Centre(Vector& x) {
  const double mean = Sum(x) / static_cast<double>(x.size());
  for (double& value : x) value -= mean;
}

// The numbers that a leaf answers with: for weights, their shares of the total.
Vector LeafNumbers(const Model& model, const LeafPrediction& leaf) {
  Vector numbers = leaf.probabilities;
  if (model.leaf_kind() != LeafKind::kWeights) return numbers;
  for (double& x : numbers) x = std::max(x, 0.0);
  const double total = Sum(numbers);
  for (double& x : numbers) {
    x = total > 0 ? x / total : 1 / static_cast<double>(numbers.size());
  }
  return numbers;
}

// How much a step between answers changes the answer, as a linear form: the change is the product
// with the step, at least 0. For classes it is half the sum of the changes, without a change that
// all classes share; for numbers, the change of the second output.
Vector ChangeOf(const Model& model, Vector step) {
  if (model.schema().target()) return {0, step[1] < 0 ? -1.0 : 1.0};
  Centre(step);
  for (double& x : step) x = x < 0 ? -0.5 : (x > 0 ? 0.5 : 0);
  Centre(step);
  return step;
}

// The variance of `form`, a linear form, at one leaf's numbers; infinity if it is not known. Values
// in [0, 1] are never off by more than their range.
class LeafNoise {
 public:
  explicit LeafNoise(const Model& model)
      : model_(model), trees_(static_cast<double>(model.forest().size())) {}

  double Variance(const LeafPrediction& leaf, const Vector& form) const {
    const auto [min, max] = std::minmax_element(form.begin(), form.end());
    if (*min == 0 && *max == 0) return 0;
    const double range = *max - *min;
    switch (model_.leaf_kind()) {
      case LeafKind::kScores:
        return OfScores(leaf, form);
      case LeafKind::kAdditive:  // the leaf's error is that of the whole, a mean over the trees
        return trees_ * OfProbabilities(leaf, form);
      case LeafKind::kProbabilities:
        return std::min(OfProbabilities(leaf, form), range * range);
      case LeafKind::kWeights:
        return std::min(OfWeights(leaf, form), range * range);
    }
    return kUnknown;
  }

 private:
  // Each class is known at least as well as the label, however they correlate; they sum to 1.
  static double OfProbabilities(const LeafPrediction& leaf, Vector form) {
    Centre(form);
    double size = 0;
    for (const double x : form) size += std::abs(x);
    return size * size * leaf.standard_error * leaf.standard_error;
  }

  // With two classes, one's noise is the other's; with more, each class has noise of its own.
  static double OfScores(const LeafPrediction& leaf, const Vector& form) {
    if (leaf.noise.size() != form.size()) return kUnknown;
    double squares = 0, size = 0;
    for (size_t k = 0; k < form.size(); ++k) {
      squares += form[k] * form[k] * leaf.noise[k].variance;
      size += std::abs(form[k]) * std::sqrt(std::max(leaf.noise[k].variance, 0.0));
    }
    return form.size() == 2 ? size * size : squares;
  }

  double OfWeights(const LeafPrediction& leaf, const Vector& form) const {
    const Vector parts = LeafNumbers(model_, leaf);
    double total = 0;
    for (const double x : leaf.probabilities) total += std::max(x, 0.0);
    if (!(total > 0)) return kUnknown;
    const double middle = std::inner_product(form.begin(), form.end(), parts.begin(), 0.0);
    double squares = 0;
    for (const double x : form) squares += (x - middle) * (x - middle);
    return squares * std::pow(leaf.standard_error / total, 2);
  }

  const Model& model_;
  const double trees_;
};

// The changes that the splits of one tree cause.
class TreeEffects {
 public:
  TreeEffects(const Model& model, size_t number)
      : tree_(model.forest()[number]), outputs_(model.schema().num_outputs()) {
    const absl::Span<const Node> nodes = tree_.nodes();
    std::vector<Vector> means(nodes.size());
    changes_.resize(nodes.size());
    effects_.resize(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      if (nodes[i].kind == SplitKind::kLeaf) {
        const uint32_t leaf = tree_.first_leaf(static_cast<uint32_t>(i));
        means[i] = LeafNumbers(model, model.leaves()[number][leaf]);
        continue;
      }
      Vector step = means[nodes[i].left];
      means[i] = step;
      for (uint32_t k = 0; k < outputs_; ++k) {
        const double right = means[nodes[i].right][k];
        step[k] -= right;
        means[i][k] = (means[i][k] + right) / 2;
      }
      means[nodes[i].left] = means[nodes[i].right] = {};
      changes_[i] = ChangeOf(model, step);
      effects_[i] = std::inner_product(step.begin(), step.end(), changes_[i].begin(), 0.0) *
                    std::ldexp(1, -static_cast<int>(tree_.node_depth(static_cast<uint32_t>(i))));
    }
  }

  // Adds the effects to `sums`, indexed by feature.
  void AddTo(Vector& sums) const {
    for (size_t i = 0; i < effects_.size(); ++i) {
      if (tree_.nodes()[i].kind != SplitKind::kLeaf) sums[tree_.nodes()[i].feature] += effects_[i];
    }
  }

  // How each feature's sum depends on the numbers of one leaf, for the features on its path.
  std::map<uint32_t, Vector> FormsAt(uint32_t leaf) const {
    std::map<uint32_t, Vector> forms;
    uint32_t child = tree_.leaf_node(leaf);
    // A split's weight times the leaf's share of the mean below the split's child.
    const double part = std::ldexp(2, -static_cast<int>(tree_.node_depth(child)));
    for (uint32_t up = tree_.parent(child); up != kNoParent; child = up, up = tree_.parent(up)) {
      const Node& split = tree_.nodes()[up];
      Vector& form = forms.try_emplace(split.feature, outputs_, 0.0).first->second;
      for (uint32_t k = 0; k < outputs_; ++k) {
        form[k] += (split.left == child ? part : -part) * changes_[up][k];
      }
    }
    return forms;
  }

 private:
  const Tree& tree_;
  const uint32_t outputs_;
  std::vector<Vector> changes_;
  Vector effects_;
};

// What the noise of the slope in a tree of a line adds to the variance of the sum of the tree's
// changes: all its leaves move with it together, each by its term. The tree splits on one feature.
struct SlopeNoise {
  uint32_t feature = 0;
  double variance = 0;
};
std::vector<SlopeNoise> SlopeNoises(const Model& model) {
  std::vector<SlopeNoise> noises;
  const SharedNoise& shared = model.shared_noise();
  const size_t terms = shared.trees.size();
  for (size_t i = 0; i < terms; ++i) {
    const size_t number = shared.trees[i];
    const TreeEffects effects(model, number);
    Vector moves(model.schema().num_outputs(), 0.0);
    SlopeNoise& added = noises.emplace_back();
    for (uint32_t l = 0; l < model.forest()[number].num_leaves(); ++l) {
      for (const auto& [feature, form] : effects.FormsAt(l)) {
        added.feature = feature;
        for (size_t k = 0; k < moves.size(); ++k) {
          moves[k] += form[k] * model.leaves()[number][l].term;
        }
      }
    }
    double squares = 0, size = 0;
    for (const double move : moves) {
      squares += move * move;
      size += std::abs(move);
    }
    double of_slope = 0;
    for (size_t j = 0; j < terms; ++j) of_slope += std::pow(shared.factor[i * terms + j], 2);
    added.variance = of_slope * (moves.size() == 2 ? size * size : squares);
  }
  return noises;
}

// The variances of the features' shares, to first order: of (own - share * all) / total.
Vector VariancesOfShares(const Model& model, const Vector& shares, double total) {
  const LeafNoise noise(model);
  Vector variances(shares.size(), 0.0);
  double of_all = 0;
  for (size_t t = 0; t < model.forest().size(); ++t) {
    const TreeEffects effects(model, t);
    for (uint32_t l = 0; l < model.forest()[t].num_leaves(); ++l) {
      const LeafPrediction& leaf = model.leaves()[t][l];
      const std::map<uint32_t, Vector> forms = effects.FormsAt(l);
      Vector all(model.schema().num_outputs(), 0.0);
      for (const auto& [feature, form] : forms) {
        for (size_t k = 0; k < all.size(); ++k) all[k] += form[k];
      }
      const double variance_of_all = noise.Variance(leaf, all);
      of_all += variance_of_all;
      for (const auto& [feature, form] : forms) {
        Vector rest = form;
        for (size_t k = 0; k < all.size(); ++k) rest[k] -= shares[feature] * all[k];
        variances[feature] += noise.Variance(leaf, std::move(rest)) -
                              shares[feature] * shares[feature] * variance_of_all;
      }
    }
  }
  for (const SlopeNoise& slope : SlopeNoises(model)) {
    const double share = shares[slope.feature];
    of_all += slope.variance;
    variances[slope.feature] += (1 - 2 * share) * slope.variance;
  }
  for (size_t f = 0; f < shares.size(); ++f) {
    variances[f] = (variances[f] + shares[f] * shares[f] * of_all) / (total * total);
  }
  return variances;
}

// Whether a split uses the feature, indexed by feature.
std::vector<bool> SplitFeatures(const Model& model) {
  std::vector<bool> split(model.tree_schema().num_features(), false);
  for (const Tree& tree : model.forest()) {
    for (const Node& node : tree.nodes()) {
      if (node.kind != SplitKind::kLeaf) split[node.feature] = true;
    }
  }
  return split;
}

std::vector<Importance> ImportancesOf(const Model& model, const std::vector<bool>& split) {
  Vector shares(model.tree_schema().num_features(), 0.0);
  for (size_t t = 0; t < model.forest().size(); ++t) TreeEffects(model, t).AddTo(shares);
  const double total = Sum(shares);
  if (!(total > 0) || !std::isfinite(total)) return {};
  for (double& share : shares) share /= total;
  const Vector variances = VariancesOfShares(model, shares, total);
  const bool known = std::all_of(variances.begin(), variances.end(),
                                 [](double variance) { return std::isfinite(variance); });
  std::vector<Importance> importances;
  for (uint32_t f = 0; f < shares.size(); ++f) {
    if (!split[f]) continue;
    Importance& importance =
        importances.emplace_back(Importance{.feature = f, .importance = shares[f]});
    if (known) importance.standard_error = std::sqrt(std::max(variances[f], 0.0));
  }
  std::stable_sort(
      importances.begin(), importances.end(),
      [](const Importance& a, const Importance& b) { return a.importance > b.importance; });
  return importances;
}

}  // namespace

ForestSummary Summarize(const Model& model) {
  ForestSummary summary{.trees = model.forest().size(),
                        .min_leaves = std::numeric_limits<uint32_t>::max(),
                        .min_depth = std::numeric_limits<uint32_t>::max()};
  for (const Tree& tree : model.forest()) {
    summary.leaves += tree.num_leaves();
    summary.min_leaves = std::min(summary.min_leaves, tree.num_leaves());
    summary.max_leaves = std::max(summary.max_leaves, tree.num_leaves());
    summary.min_depth = std::min(summary.min_depth, tree.depth());
    summary.max_depth = std::max(summary.max_depth, tree.depth());
  }
  const std::vector<bool> split = SplitFeatures(model);
  summary.features = static_cast<uint32_t>(std::count(split.begin(), split.end(), true));
  summary.importances = ImportancesOf(model, split);
  return summary;
}

std::string InWords(const Schema& schema, const DerivedFeature& derived) {
  std::string words;
  for (const DerivedTerm& term : derived) {
    const Feature& feature = schema.features()[term.feature];
    const char* join = words.empty() ? "" : ", plus ";
    if (term.minus) join = words.empty() ? "less " : ", less ";
    StrAppend(&words, join, "where ", Printable(feature.name), " lies from ",
              ReadableNumber(feature.min), " (0) to ",
              render_internal::WithUnit(ReadableNumber(feature.max), feature.unit), " (1)");
  }
  return words;
}

}  // namespace coppice
