#include "server/curator/estimation/counts/prune.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace coppice::curator {
namespace {

constexpr double kPublicOnly = std::numeric_limits<double>::infinity();
constexpr double kPrivateOnly = 0;
constexpr double kPaperVariance = 32;  // of a leaf's sum per report, at epsilon 1

// ln(rows) + k + 1, the union bound over the nodes of a level.
double LogBound(double rows, double level) { return std::log(std::max(rows, 1.0)) + level + 1; }

// The squared noise of a node's sum is below this with high probability (the paper's u).
double NoiseBound(const PruneSetting& setting, double height, double level, double log_bound) {
  const double root = 2 * std::log(2 * setting.reports) * setting.noise_scale +
                      std::exp2(-level / 2) * std::sqrt(log_bound);
  return setting.reports * std::exp2(height + 1) * root * root / log_bound;
}

PruneStatistic PublicStatistic(double log_bound, double rows, double label) {
  if (rows == 0) return {.value = 0, .lambda = kPublicOnly};
  return {.value = (label / rows - 0.5) * std::sqrt(rows / log_bound), .lambda = kPublicOnly};
}

// Takes the class with the best supported majority. Of two classes, the statistic's size decides.
PruneStatistic NodeStatistic(const PruneSetting& setting, uint32_t depth, uint32_t height,
                             const NodeEvidence& node) {
  const auto test = [&](size_t k) {
    return TestNode(setting, depth, height, node.private_rows, node.private_label[k],
                    node.public_rows, node.public_label[k]);
  };
  const size_t classes = node.private_label.size();
  PruneStatistic best = test(classes - 1);
  if (classes == 2) {
    best.value = std::abs(best.value);
    return best;
  }
  for (size_t k = classes - 1; k-- > 0;) {
    const PruneStatistic statistic = test(k);
    if (statistic.value >= best.value) best = statistic;
  }
  return best;
}

struct Choice {
  uint32_t node = 0;
  PruneStatistic statistic;
};

Choice WalkUp(const Tree& tree, const NodeTable& nodes, const PruneSetting& setting,
              const PruneDepths& depths, uint32_t leaf_node) {
  // The first parent is always tested, as in the authors' code.
  const uint32_t last_height =
      std::max(1u, depths.max_depth - std::min(depths.min_depth, depths.max_depth));
  Choice best;
  uint32_t node = leaf_node;
  for (uint32_t height = 0;; ++height) {
    const PruneStatistic statistic =
        NodeStatistic(setting, depths.max_depth, height, nodes.at(node));
    if (height == 0 || statistic.value > best.statistic.value) best = {node, statistic};
    if (statistic.value >= 1 || height >= last_height) return best;
    node = tree.parent(node);
    if (node == kNoParent) return best;
  }
}

// The node's estimate with its private labels clamped to its private rows.
LeafPrediction PredictCut(NodeEvidence node, const PrivateNoise& noise, double lambda) {
  std::vector<double> cut(node.private_label.begin(), node.private_label.end());
  for (double& count : cut) count = std::clamp(count, 0.0, std::max(node.private_rows, 0.0));
  node.private_label = cut;
  return PredictNode(node, noise, lambda);
}

}  // namespace

PruneStatistic TestNode(const PruneSetting& setting, uint32_t depth, uint32_t height,
                        double private_rows, double private_label, double public_rows,
                        double public_label) {
  const double level = static_cast<double>(depth) - height;
  const PruneStatistic of_public =
      PublicStatistic(LogBound(setting.public_rows, level), public_rows, public_label);
  if (setting.reports < 1 || private_rows <= 0 || private_label <= 0) return of_public;
  const double log_bound = LogBound(setting.reports + setting.public_rows, level);
  if (NoiseBound(setting, height, level, log_bound) > private_rows) return of_public;

  // From here on sampling dominates the noise, so the paper's max(u, U) is U.
  const double private_signal = std::min(private_label / private_rows, 1.0) - 0.5;
  const double public_signal = public_rows == 0 ? 0 : public_label / public_rows - 0.5;
  PruneStatistic best{.value = private_signal * std::sqrt(private_rows / log_bound),
                      .lambda = kPrivateOnly};
  if (private_signal * public_signal > 0) {
    const double lambda = public_signal / private_signal;
    const double signal = private_rows * private_signal + lambda * public_rows * public_signal;
    const double variance = private_rows + lambda * lambda * public_rows;
    best = {.value = signal / std::sqrt(log_bound * variance), .lambda = lambda};
  }
  return std::abs(best.value) < std::abs(of_public.value) ? of_public : best;
}

std::vector<LeafPrediction> PruneTree(const Tree& tree, const NodeTable& nodes,
                                      const PrivateNoise& noise, PruneDepths depths) {
  depths.max_depth = std::max(depths.max_depth, tree.depth());
  const PruneSetting setting = {
      .reports = noise.reports,
      .public_rows = nodes.at(0).public_rows,
      .noise_scale = std::sqrt(noise.variance.back().leaf / kPaperVariance)};
  std::vector<LeafPrediction> result;
  result.reserve(tree.num_leaves());
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    const Choice choice = WalkUp(tree, nodes, setting, depths, tree.leaf_node(leaf));
    result.push_back(PredictCut(nodes.at(choice.node), noise, choice.statistic.lambda));
    result.back().source_node = choice.node;
  }
  return result;
}

}  // namespace coppice::curator
