// The decision path of a prediction: which way a row went in each tree, and what each tree
// contributed to the answer.
//
// The base plus the contributions of all trees is the model's answer in the unit that it has,
// before it is cut to where it belongs: to [0, 1], or to the target's range. Where there is one
// tree the answer is that tree's alone.
//
// The bias plus the contributions of all features is the same answer. A node stands for the mean of
// what the leaves below it contribute, each leaf counted alike; a split contributes to its feature
// how far it moves the row from that mean. How many rows a leaf covers would be the weight
// elsewhere: here it is private, and a weight that was never released cannot be used
// (docs/research/mechanisms.md#contributions-of-features).
//
// Guarantee  a row's path is the one that Model::Predict() takes.
// Source     Saabas, "Interpreting random forests" (2014), with leaves in place of covers.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_TREE_EXPLAIN_H_
#define COPPICE_COMMON_TREE_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <map>
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

// What the splits of one feature contribute, over all trees.
struct FeatureContribution {
  uint32_t feature = 0;  // of the tree schema: a derived feature counts as one of its own
  double value = 0;      // the row's
  double contribution = 0;
};

struct Explanation {
  ContributionUnit unit = ContributionUnit::kProbability;
  double base = 0;
  std::vector<TreePath> trees{};  // the largest contribution, either way, first
  double bias = 0;  // the base, and what all trees contribute before their first split
  // Those that the row's ways through all trees split, the largest contribution, either way, first.
  // All others contribute nothing.
  std::vector<FeatureContribution> features{};
};

// Explains rows by one model, and keeps what does not depend on the row.
//
// Threads    one call at a time.
class Explainer {
 public:
  // The model must outlive it.
  explicit Explainer(const Model& model) : model_(model), cuts_(model) {}

  // At most `most_trees` trees, those that contribute most; 0: all. `row` must fit the schema.
  Explanation Explain(RowView row, size_t most_trees = 0);

 private:
  // By tree and node: what the leaves below contribute to the answer `label`, in the mean.
  using NodeMeans = std::vector<std::vector<double>>;
  const NodeMeans& MeansFor(uint32_t label);
  void AddFeatures(RowView extended, uint32_t label, Explanation& explanation);

  const Model& model_;
  const ReadableCuts cuts_;
  std::map<uint32_t, NodeMeans> means_;  // by label
};

// The same for one row alone.
Explanation Explain(const Model& model, RowView row, size_t most_trees = 0);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_EXPLAIN_H_
