// The decision path of a prediction: which way a row went in each tree, and what each tree
// contributed to the answer.
//
// The base plus the contributions of all trees is the model's answer in the unit that it has,
// before it is cut to where it belongs: to [0, 1], or to the target's range. Where there is one
// tree the answer is that tree's alone.
//
// Guarantee  a row's path is the one that Model::Predict() takes.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_TREE_EXPLAIN_H_
#define COPPICE_COMMON_TREE_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/tree/model.h"

namespace coppice {

// What base and contributions are. The numbers are those of the wire.
enum class ContributionUnit : uint8_t {
  kProbability = 1,  // of the label; one of all classes is what no tree says anything about
  kWeight = 2,       // of the label, less the mean over all classes
  kScore = 3,        // of the label, less the mean over all classes
  kValue = 4,        // regression: the number
};

// One split on the way.
struct PathStep {
  std::string condition;  // in words: "age < 37.5 or missing"
  bool holds = false;     // then the row goes left
  uint32_t node = 0;
  Node split{};
  double value = 0;  // the row's of the split's feature
};

struct TreePath {
  uint32_t tree = 0;
  double contribution = 0;
  uint32_t leaf = 0;
  std::vector<PathStep> steps{};  // from the root
  LeafPrediction prediction{};
};

struct Explanation {
  ContributionUnit unit = ContributionUnit::kProbability;
  double base = 0;
  std::vector<TreePath> trees{};  // the largest contribution, either way, first
};

// At most `most_trees` trees, those that contribute most; 0: all. `row` must fit the schema.
Explanation Explain(const Model& model, RowView row, size_t most_trees = 0);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_EXPLAIN_H_
