// Explains a prediction: the row's path through each tree, and what each tree contributed.
//
// The base plus the contributions of all trees is the model's answer in its unit, before it is cut
// to its range: to [0, 1], or to the target's range. With one tree the answer is that tree's alone.
//
// The bias plus the contributions of all features is the same answer. A node's value is the
// unweighted mean of what the leaves below it contribute; a split contributes to its feature how
// far it moves the row from that mean. Other tools weight leaves by how many rows they cover: here
// that is private, and a weight that was never released cannot be used
// (docs/research/mechanisms.md#contributions-of-features).
//
// Guarantee  a row's path is the one that Model::Predict() takes.
// Source     Saabas, "Interpreting random forests" (2014), with leaves instead of covers.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_MODEL_EXPLAIN_H_
#define COPPICE_COMMON_MODEL_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/model/cuts.h"
#include "common/model/model.h"

namespace coppice {

// Unit of base and contributions. The numbers are those of the wire.
enum class ContributionUnit : uint8_t {
  kProbability = 1,  // of the label; without any tree it is 1 / number of classes
  kWeight = 2,       // of the label, minus the mean over all classes
  kScore = 3,        // of the label, minus the mean over all classes
  kValue = 4,        // regression: the number
};

// Whether a leaf holds a term of the answer, which no tree gives alone: scores, and the additive
// leaves of a model with several trees.
bool LeavesAreTerms(LeafKind kind, size_t trees);
inline bool LeavesAreTerms(const Model& model) {
  return LeavesAreTerms(model.leaf_kind(), model.forest().size());
}

// What the model answers if no tree contributes, in the model's unit.
double AnswerWithoutTrees(const Model& model);

// What a leaf adds to the answer `label`, in the model's unit.
double ContributionOf(const Model& model, const LeafPrediction& leaf, uint32_t label);

// One split on the path.
struct PathStep {
  // In words: "age < 37.5 years or missing". The cut is as in text (cuts.h), or exact if the row's
  // value would seem to go the other way.
  std::string condition;
  bool holds = false;  // the row goes left
  uint32_t node = 0;
  Node split{};
  double value = 0;  // the row's value of the split's feature
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
  uint32_t feature = 0;  // in the tree schema: a derived feature counts separately
  double value = 0;      // the row's value
  double contribution = 0;
};

struct Explanation {
  ContributionUnit unit = ContributionUnit::kProbability;
  double base = 0;
  std::vector<TreePath> trees{};  // ordered by absolute contribution, the largest first
  double bias = 0;  // the base, plus what all trees contribute before their first split
  // Features that the row's paths through all trees split, ordered by absolute contribution, the
  // largest first. All others contribute nothing.
  std::vector<FeatureContribution> features{};
};

// Explains rows by one model, and keeps what does not depend on the row.
//
// Threads    one call at a time.
class Explainer {
 public:
  // The model must outlive the explainer.
  explicit Explainer(const Model& model) : model_(model), cuts_(model) {}

  // At most `most_trees` trees, those that contribute most; 0: all. `row` must fit the schema.
  Explanation Explain(RowView row, size_t most_trees = 0);

 private:
  // By tree and node: the mean of what the leaves below contribute to the answer `label`.
  using NodeMeans = std::vector<std::vector<double>>;
  const NodeMeans& MeansFor(uint32_t label);
  void AddFeatures(RowView extended, uint32_t label, Explanation& explanation);

  const Model& model_;
  const ReadableCuts cuts_;
  std::map<uint32_t, NodeMeans> means_;  // by label
};

// As Explainer::Explain(), for one row.
Explanation Explain(const Model& model, RowView row, size_t most_trees = 0);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_EXPLAIN_H_
