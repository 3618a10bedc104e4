// The seven tree learners that the public predictor stacks.
//
// Four are forests, whose score is the mean of their trees' class shares (numbers: means): bagged
// trees with best cuts, once grown until every leaf is pure and once with larger leaves, and the
// same two sizes with random cuts on all rows. Three are gradient boosting: stumps, trees of 16
// leaves, and trees of 8 leaves with random cuts. They disagree where rows are few, which is what a
// stack needs.
//
// Boosting adds trees of a small rate to a start at the classes' odds. Each tree is grown on the
// residuals y - p of all classes at once, and a leaf moves a class by rate * sum(y - p) /
// (sum p (1 - p) + ridge), a Newton step on the log loss, which no leaf may take further than 1.
// Of two classes the residuals are opposite, so one is computed. For numbers the loss is the
// squared error, and a step is rate * sum(y - f) / (rows + ridge).
//
// More than kMostBoostedClasses classes are left to the forests: a round of boosting costs rows
// times features times classes, while a forest's rows cost the same however many classes there are.
//
// Source     Breiman, "Random forests" (2001); Geurts, Ernst, Wehenkel, "Extremely randomized
//            trees" (2006); Friedman, "Greedy function approximation: a gradient boosting machine"
//            (2001); docs/research/mechanisms.md#public-predictor.

#ifndef COPPICE_COMMON_PREDICTOR_LEARNERS_H_
#define COPPICE_COMMON_PREDICTOR_LEARNERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/predictor/tree_grower.h"

namespace coppice {

inline constexpr uint32_t kMostBoostedClasses = 64;

struct LearnerOptions {
  std::string_view name{};
  bool is_boosting = false;
  bool draws_bootstraps = false;
  uint32_t trees = 1;
  GrowOptions grow{};
};

// The learners for this many public rows of `features` features and `classes` classes (0: numbers).
// No forest tree has more leaves than `max_leaves`.
std::vector<LearnerOptions> StackedLearners(size_t rows, size_t features, uint32_t classes,
                                            uint32_t max_leaves);

// The public rows' answers: a label per row, or a number per row, with mean 0 and deviation 1.
struct LearnerAnswers {
  absl::Span<const uint32_t> labels{};
  uint32_t classes = 0;
  absl::Span<const double> numbers{};

  size_t columns() const { return classes > 0 ? classes : 1; }
};

// A tree with what it says at each node, so that it can be cut short. Of the columns' scores those
// that are 0 are left out: a pure leaf of a forest has one, whatever the number of classes.
struct LearnedTree {
  struct Score {
    uint32_t column = 0;
    double value = 0;
  };

  std::vector<Node> nodes{};            // as GrownTree::nodes
  std::vector<uint32_t> first_score{};  // by node, and the number of scores at the end
  std::vector<Score> scores{};

  uint32_t num_leaves() const { return static_cast<uint32_t>(nodes.size() + 1) / 2; }
  absl::Span<const Score> ScoresOf(uint32_t node) const {
    return absl::MakeConstSpan(scores).subspan(first_score[node],
                                               first_score[node + 1] - first_score[node]);
  }
};

// How much of a learner is used: its first trees, each with so many leaves at most.
struct LearnerSize {
  uint32_t trees = 0;
  uint32_t max_leaves = kNoLeafLimit;

  friend bool operator==(const LearnerSize&, const LearnerSize&) = default;
};

// Threads    immutable once fitted; safe to share.
struct FittedLearner {
  bool is_boosting = false;
  std::vector<double> base{};  // one per column
  std::vector<LearnedTree> trees{};

  // By what a tree's scores are multiplied: a forest is the mean of its trees.
  double TreeWeight(const LearnerSize& size) const {
    return is_boosting || size.trees == 0 ? 1 : 1.0 / size.trees;
  }
  // Writes the row's scores, one per column, to `scores`. They are not centred.
  void Score(RowView row, const LearnerSize& size, absl::Span<double> scores) const;
};

// Fits a learner to the rows in `subset`, of which there must be one.
FittedLearner FitLearner(const LearnerOptions& options, const LearnerAnswers& answers,
                         absl::Span<const uint32_t> subset, TreeGrower& grower,
                         PublicRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_LEARNERS_H_
