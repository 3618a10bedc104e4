#include "common/predictor/learners.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coppice {
namespace {

// Customary values; what half or double of them would do was not measured.
constexpr uint32_t kForestSize = 64;
constexpr uint32_t kRounds = 100;
constexpr double kRate = 0.1;
constexpr double kRidge = 0.1;  // in rows, or in sums of p (1 - p)
constexpr double kMostStep = 1;

// Least rows of a leaf, where leaves are not grown to purity: at most these, and at most a
// twentieth of all rows.
constexpr size_t kLargerLeaf = 5;
constexpr size_t kLargestLeaf = 10;

uint32_t LeastRows(size_t rows, size_t most) {
  return static_cast<uint32_t>(std::max<size_t>(1, std::min(most, rows / 20)));
}

// A tree with the scores that are not 0; `values[node * columns + column]`.
LearnedTree RecordTree(const GrownTree& grown, absl::Span<const double> values) {
  LearnedTree tree{.nodes = grown.nodes};
  const size_t columns = values.size() / tree.nodes.size();
  tree.first_score.reserve(tree.nodes.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % columns == 0) tree.first_score.push_back(static_cast<uint32_t>(tree.scores.size()));
    if (values[i] != 0) tree.scores.push_back({static_cast<uint32_t>(i % columns), values[i]});
  }
  tree.first_score.push_back(static_cast<uint32_t>(tree.scores.size()));
  return tree;
}

// The mean answer of a forest tree's rows at every node.
class NodeMeans {
 public:
  explicit NodeMeans(const LearnerAnswers& answers)
      : answers_(answers), columns_(answers.columns()) {}

  absl::Span<const double> Of(const GrownTree& grown, absl::Span<const uint32_t> subset,
                              absl::Span<const uint32_t> drawn) {
    const size_t nodes = grown.nodes.size();
    means_.assign(nodes * columns_, 0);
    rows_.assign(nodes, 0);
    for (const uint32_t row : subset) {
      if (drawn[row] == 0) continue;
      const uint32_t leaf = grown.leaf_of_row[row];
      rows_[leaf] += drawn[row];
      Add(leaf, row, drawn[row]);
    }
    for (size_t node = nodes; node-- > 0;) {
      if (grown.nodes[node].kind == SplitKind::kLeaf) continue;
      for (const uint32_t child : {grown.nodes[node].left, grown.nodes[node].right}) {
        rows_[node] += rows_[child];
        for (size_t k = 0; k < columns_; ++k) {
          means_[node * columns_ + k] += means_[child * columns_ + k];
        }
      }
    }
    for (size_t i = 0; i < means_.size(); ++i) means_[i] /= rows_[i / columns_];
    return means_;
  }

 private:
  void Add(uint32_t leaf, uint32_t row, double count) {
    if (answers_.classes > 0) {
      means_[leaf * columns_ + answers_.labels[row]] += count;
    } else {
      means_[leaf] += count * answers_.numbers[row];
    }
  }

  const LearnerAnswers& answers_;
  const size_t columns_;
  std::vector<double> means_, rows_;
};

FittedLearner FitForest(const LearnerOptions& options, const LearnerAnswers& answers,
                        absl::Span<const uint32_t> subset, size_t table_rows, TreeGrower& grower,
                        PublicRandom& random) {
  FittedLearner learner{.base = std::vector<double>(answers.columns())};
  const TreeTargets targets = {.labels = answers.labels,
                               .classes = answers.classes,
                               .numbers = answers.numbers,
                               .columns = 1};
  std::vector<uint32_t> drawn(table_rows);
  for (const uint32_t row : subset) drawn[row] = 1;
  NodeMeans means(answers);
  GrownTree grown;
  for (uint32_t t = 0; t < options.trees; ++t) {
    if (options.draws_bootstraps) DrawBootstrap(subset, random, drawn);
    grower.Grow(targets, drawn, options.grow, random, grown);
    learner.trees.push_back(RecordTree(grown, means.Of(grown, subset, drawn)));
  }
  return learner;
}

// Gradient boosting, as the header describes it. Of two classes only the second one's residuals are
// kept: what the second gains the first loses.
class Boosting {
 public:
  Boosting(const LearnerOptions& options, const LearnerAnswers& answers,
           absl::Span<const uint32_t> subset, size_t table_rows)
      : options_(options),
        answers_(answers),
        subset_(subset),
        columns_(answers.classes == 2 ? 1 : answers.columns()),
        scores_(table_rows * columns_),
        residuals_(scores_.size()),
        hessians_(answers.classes > 0 ? scores_.size() : 0),
        drawn_(table_rows),
        learner_{.is_boosting = true, .base = std::vector<double>(answers.columns())} {
    for (const uint32_t row : subset) drawn_[row] = 1;
  }

  FittedLearner Fit(TreeGrower& grower, PublicRandom& random) {
    Start();
    GrownTree grown;
    for (uint32_t round = 0; round < options_.trees; ++round) {
      for (const uint32_t row : subset_) FindResiduals(row);
      grower.Grow({.numbers = residuals_, .columns = columns_}, drawn_, options_.grow, random,
                  grown);
      Step(grown);
    }
    return std::move(learner_);
  }

 private:
  // The classes' odds, with half a row more of each; the mean of numbers.
  void Start() {
    std::vector<double>& base = learner_.base;
    for (const uint32_t row : subset_) {
      base[answers_.classes > 0 ? answers_.labels[row] : 0] +=
          answers_.classes > 0 ? 1 : answers_.numbers[row];
    }
    const auto rows = static_cast<double>(subset_.size());
    for (double& start : base) {
      start = answers_.classes > 0
                  ? std::log((start + 0.5) / (rows + 0.5 * static_cast<double>(base.size())))
                  : start / rows;
    }
    for (const uint32_t row : subset_) {
      double* scores = &scores_[row * columns_];
      for (size_t k = 0; k < columns_; ++k) scores[k] = base[k];
      if (answers_.classes == 2) scores[0] = base[1] - base[0];
    }
  }

  void FindResiduals(uint32_t row) {
    const double* scores = &scores_[row * columns_];
    double* residuals = &residuals_[row * columns_];
    if (answers_.classes == 0) {
      residuals[0] = answers_.numbers[row] - scores[0];
      return;
    }
    double* hessians = &hessians_[row * columns_];
    if (answers_.classes == 2) {
      const double p = 1 / (1 + std::exp(-scores[0]));
      residuals[0] = (answers_.labels[row] == 1 ? 1 : 0) - p;
      hessians[0] = p * (1 - p);
      return;
    }
    const double largest = *std::max_element(scores, scores + columns_);
    double total = 0;
    for (size_t k = 0; k < columns_; ++k) total += residuals[k] = std::exp(scores[k] - largest);
    for (size_t k = 0; k < columns_; ++k) {
      const double p = residuals[k] / total;
      hessians[k] = p * (1 - p);
      residuals[k] = -p;
    }
    residuals[answers_.labels[row]] += 1;
  }

  // Takes the Newton step in every leaf. A tree that could not be cut moves all rows alike.
  void Step(const GrownTree& grown) {
    steps_.assign(grown.nodes.size() * columns_, 0);
    curvature_.assign(steps_.size(), 0);
    for (const uint32_t row : subset_) {
      const size_t leaf = grown.leaf_of_row[row] * columns_;
      for (size_t k = 0; k < columns_; ++k) {
        steps_[leaf + k] += residuals_[row * columns_ + k];
        curvature_[leaf + k] += hessians_.empty() ? 1 : hessians_[row * columns_ + k];
      }
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      steps_[i] *= kRate / (curvature_[i] + kRidge);
      if (!hessians_.empty()) steps_[i] = std::clamp(steps_[i], -kMostStep, kMostStep);
    }
    const double per_step = answers_.classes == 2 ? 2 : 1;  // the other class moves as far
    for (const uint32_t row : subset_) {
      const size_t leaf = grown.leaf_of_row[row] * columns_;
      for (size_t k = 0; k < columns_; ++k) {
        scores_[row * columns_ + k] += per_step * steps_[leaf + k];
      }
    }
    if (answers_.classes == 2) SpreadOverTwoClasses();
    if (grown.nodes.size() > 1) {
      learner_.trees.push_back(RecordTree(grown, steps_));
    } else {
      for (size_t k = 0; k < steps_.size(); ++k) learner_.base[k] += steps_[k];
    }
  }

  void SpreadOverTwoClasses() {
    curvature_.clear();
    for (const double step : steps_) curvature_.insert(curvature_.end(), {-step, step});
    steps_.swap(curvature_);
  }

  const LearnerOptions& options_;
  const LearnerAnswers& answers_;
  const absl::Span<const uint32_t> subset_;
  const size_t columns_;
  std::vector<double> scores_, residuals_, hessians_;  // by row, then column
  std::vector<uint32_t> drawn_;
  std::vector<double> steps_, curvature_;  // by node, then column
  FittedLearner learner_;
};

}  // namespace

std::vector<LearnerOptions> StackedLearners(size_t rows, size_t features, uint32_t classes,
                                            uint32_t max_leaves) {
  const auto all = static_cast<uint32_t>(features);
  const auto root = static_cast<uint32_t>(std::ceil(std::sqrt(static_cast<double>(features))));
  const uint32_t usual = classes > 0 ? root : all;
  const uint32_t few = LeastRows(rows, kLargerLeaf), more = LeastRows(rows, kLargestLeaf);
  const auto forest = [&](std::string_view name, CutRule rule, uint32_t tried, uint32_t least) {
    return LearnerOptions{
        .name = name,
        .draws_bootstraps = rule == CutRule::kBest,
        .trees = kForestSize,
        .grow = {
            .rule = rule, .features_per_cell = tried, .min_rows = least, .max_leaves = max_leaves}};
  };
  const auto boosting = [&](std::string_view name, CutRule rule, uint32_t least, uint32_t leaves) {
    return LearnerOptions{
        .name = name,
        .is_boosting = true,
        .trees = kRounds,
        .grow = {.rule = rule, .features_per_cell = all, .min_rows = least, .max_leaves = leaves}};
  };
  std::vector<LearnerOptions> learners = {
      forest("bagged trees", CutRule::kBest, usual, 1),
      forest("small bagged trees", CutRule::kBest, (all + 2) / 3, few),
      forest("random trees", CutRule::kRandom, usual, 1),
      forest("small random trees", CutRule::kRandom, all, few),
  };
  if (classes > kMostBoostedClasses) return learners;
  learners.push_back(boosting("boosted stumps", CutRule::kBest, few, 2));
  learners.push_back(boosting("boosted trees", CutRule::kBest, more, 16));
  learners.push_back(boosting("boosted random trees", CutRule::kRandom, std::min(few, 3u), 8));
  return learners;
}

void FittedLearner::Score(RowView row, const LearnerSize& size, absl::Span<double> scores) const {
  std::copy(base.begin(), base.end(), scores.begin());
  const double weight = TreeWeight(size);
  const size_t used = std::min<size_t>(size.trees, trees.size());
  for (size_t t = 0; t < used; ++t) {
    const LearnedTree& tree = trees[t];
    const uint64_t shown = NodesOfLeaves(size.max_leaves);
    uint32_t at = 0;
    while (tree.nodes[at].kind != SplitKind::kLeaf && tree.nodes[at].left < shown) {
      const Node& node = tree.nodes[at];
      at = GoesLeft(node, row[node.feature]) ? node.left : node.right;
    }
    for (const LearnedTree::Score& score : tree.ScoresOf(at)) {
      scores[score.column] += weight * score.value;
    }
  }
}

FittedLearner FitLearner(const LearnerOptions& options, const LearnerAnswers& answers,
                         absl::Span<const uint32_t> subset, TreeGrower& grower,
                         PublicRandom& random) {
  const size_t rows = answers.classes > 0 ? answers.labels.size() : answers.numbers.size();
  return options.is_boosting ? Boosting(options, answers, subset, rows).Fit(grower, random)
                             : FitForest(options, answers, subset, rows, grower, random);
}

}  // namespace coppice
