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

#include "common/tree/cuts.h"
#include "common/tree/model.h"

namespace coppice {

// What base and contributions are. The numbers are those of the wire.
enum class ContributionUnit : uint8_t {
  kProbability = 1,  // of the label; one of all classes is what no tree says anything about
  kWeight = 2,       // of the label, less the mean over all classes
  kScore = 3,        // of the label, less the mean over all classes
  kValue = 4,        // regression: the number
};

// Whether a leaf holds a term of the answer, which no tree has alone: scores, and the additive
// leaves of a model of several trees.
bool LeavesAreTerms(LeafKind kind, size_t trees);
inline bool LeavesAreTerms(const Model& model) {
  return LeavesAreTerms(model.leaf_kind(), model.forest().size());
}

// What the model answers if no tree contributes, in the model's unit.
double AnswerWithoutTrees(const Model& model);

// What a leaf adds to the answer `label`, in the model's unit.
double ContributionOf(const Model& model, const LeafPrediction& leaf, uint32_t label);

// One split on the way.
struct PathStep {
  // In words: "age < 37.5 years or missing". The cut is as text says it (cuts.h), or exact where
  // the row's value would seem to go the other way.
  std::string condition;
  bool holds = false;  // then the row goes left
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

// At most `most_trees` trees, those that contribute most; 0: all. `row` must fit the schema, and
// `cuts` be the model's.
Explanation Explain(const Model& model, const ReadableCuts& cuts, RowView row,
                    size_t most_trees = 0);
// The same for one row, with the cuts of its model found for it alone.
Explanation Explain(const Model& model, RowView row, size_t most_trees = 0);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_EXPLAIN_H_
