// A trained model: a forest with class probabilities and their standard errors at the leaves, and
// the certificate that says what it cost in privacy.
//
// The outputs are the classes; or, for regression, the two ends of the target's public range: a
// number is the mean of the ends by their probabilities, so value = min + span * p(max). What the
// numbers of a leaf mean is the model's LeafKind. Trees may split features that follow from the
// schema's (derived.h).

#ifndef COPPICE_COMMON_TREE_MODEL_H_
#define COPPICE_COMMON_TREE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "common/tree/certificate.h"
#include "common/tree/tree.h"

namespace coppice {

// The format of models that is written and read here, and the earliest reader that understands what
// is written (docs/protocol.md#versions-of-a-model).
inline constexpr uint32_t kModelVersion = 1;
inline constexpr uint32_t kModelMinReader = 1;

// What the noise of released sums has added to a score, as far as that is known.
struct OutputNoise {
  double mean = 0;  // what it is expected to have added
  // Around that. Negative where a tree takes away what another one added; a row's sum is not.
  double variance = 0;

  friend bool operator==(const OutputNoise&, const OutputNoise&) = default;
};

// What is known of one leaf after training.
struct LeafPrediction {
  std::vector<double> probabilities;  // one per output; see LeafKind
  // Standard error of the probability of the leaf's most probable class: sampling and privacy noise
  // together, at the point estimate; infinity where nothing is known. Of each weight, by its noise
  // alone, if the leaves hold weights.
  double standard_error = 0;
  uint32_t label = 0;  // the class the leaf votes for
  // The node whose sums the leaf uses: the leaf's own, or the ancestor it was pruned to.
  uint32_t source_node = 0;
  // Scores alone: what noise has added, one per output; empty if nothing is known of it.
  std::vector<OutputNoise> noise{};
  double term = 0;  // in its tree's shared noise

  friend bool operator==(const LeafPrediction&, const LeafPrediction&) = default;
};

// Noise that trees share, because the numbers in their leaves were found together: straight lines.
// With the terms that a row's leaves have in `trees`, the variance of each output is the squared
// length of factor * terms.
struct SharedNoise {
  std::vector<uint32_t> trees{};  // increasing
  std::vector<double> factor{};   // square, row by row

  friend bool operator==(const SharedNoise&, const SharedNoise&) = default;
};

// What a score would be without noise in the sums that it is made of, and the standard error of
// that. Which splits were chosen is taken as it is.
struct ScoreEstimate {
  double value = 0;
  double error = 0;
  double lead = 0;        // classes: over the runner-up
  double lead_error = 0;  // of this
};

struct Prediction {
  uint32_t label = 0;
  std::vector<double> probabilities;  // one per output, sum 1
  // The standard error of the label's probability. Trees of probabilities and of weights count as
  // independent; of additive ones it is the mean of their leaves', where each is that of the whole
  // at its rows.
  double standard_error = 0;
  // Regression: the number, and its standard error.
  double value = 0;
  double value_error = 0;
  // A 95 % interval of the label's probability; regression: of the number. Scores: of what exact
  // sums would give on the same path, without sampling
  // (docs/research/mechanisms.md#noise-of-scores).
  double low = 0;
  double high = 1;
  // Scores whose noise is known: that of the label, its log-odds against all other classes, or the
  // place in the target's range.
  std::optional<ScoreEstimate> score{};
};

// The prediction that a row's weights make, summed over the trees; `variance` is that of each by
// its noise. See LeafKind::kWeights.
Prediction PredictFromWeights(std::vector<double> sums, double variance);

// The prediction that a row's scores make, summed over the trees, with what noise has added to
// them; `noise` is empty if that is not known. Of two outputs each is the other with its sign
// changed; of more the noise is independent. See LeafKind::kScores.
Prediction PredictFromScores(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
                             bool regression);

// Means of terms may leave [0, 1]: the nearest in it, scaled to add up to 1. Of terms so large that
// they cancel nothing is left: then nothing is known.
void CutToProbabilities(std::vector<double>& p);

// How likely it is that the label is the most probable class, by the lead that its probability has
// and the standard error of that (a normal approximation): from 1/2, nothing is known, to 1.
double Confidence(const Prediction& prediction);

// What leaves hold. The numbers are stable.
enum class LeafKind : uint8_t {
  // Probabilities, in [0, 1] with sum 1. A row's are the mean over the trees.
  kProbabilities = 0,
  // Terms of a mean, with sum 1: only their mean over the trees, cut to [0, 1], is a probability.
  kAdditive = 1,
  // Weights, such as noisy counts; negative ones are allowed. A row's probabilities are its sums
  // over the trees, cut at 0, as parts of their total.
  kWeights = 2,
  // Scores, summed over the trees. Classes: a row's probabilities are their softmax. Regression:
  // the
  // second output's sum, cut to [0, 1], is the place in the target's range.
  kScores = 3,
};

// Guarantee  a model is post-processing of randomized sums and public rows, and holds nothing else.
// Errors     Create(): InvalidArgument when shapes do not match, a number is not what the LeafKind
//            asks for, a standard error is negative or NaN, or the certificate's epsilon is not
//            what its releases cost.
// Threads    immutable after Create(); safe to share.
class Model {
 public:
  // leaves[t][l] belongs to leaf l of tree t.
  static absl::StatusOr<Model> Create(Schema schema, Forest forest,
                                      std::vector<std::vector<LeafPrediction>> leaves,
                                      Certificate certificate,
                                      LeafKind leaf_kind = LeafKind::kProbabilities,
                                      std::vector<DerivedFeature> derived = {},
                                      SharedNoise shared_noise = {});

  const Schema& schema() const { return schema_; }
  // The schema that the trees split: with the derived features after its own.
  const Schema& tree_schema() const { return tree_schema_; }
  const std::vector<DerivedFeature>& derived() const { return derived_; }
  const SharedNoise& shared_noise() const { return shared_noise_; }
  const Forest& forest() const { return forest_; }
  const std::vector<std::vector<LeafPrediction>>& leaves() const { return leaves_; }
  const Certificate& certificate() const { return certificate_; }
  LeafKind leaf_kind() const { return leaf_kind_; }

  // With one tree of probabilities its leaf's label and probabilities; else the trees'
  // probabilities and the most probable class (the lower class on a tie). `row` must fit the
  // schema.
  Prediction Predict(RowView row) const;

  friend bool operator==(const Model&, const Model&) = default;

 private:
  Model(Schema schema, Schema tree_schema, Forest forest,
        std::vector<std::vector<LeafPrediction>> leaves, Certificate certificate,
        LeafKind leaf_kind, std::vector<DerivedFeature> derived, SharedNoise shared_noise);

  Prediction PredictOutputs(RowView row) const;
  Prediction PredictByScores(RowView row) const;

  Schema schema_;
  Schema tree_schema_;
  Forest forest_;
  std::vector<std::vector<LeafPrediction>> leaves_;
  Certificate certificate_;
  LeafKind leaf_kind_;
  std::vector<DerivedFeature> derived_;
  SharedNoise shared_noise_;
};

// A pruned tree drawn together: where all leaves below a node answer with the sums of one and the
// same ancestor, the node becomes a leaf. Every row gets the same prediction as before.
struct CollapsedTree {
  Tree tree;
  std::vector<LeafPrediction> leaves;  // source_node is a position in the new tree
};

// `leaves` has one prediction a leaf of `tree`, whose schema is `schema`.
absl::StatusOr<CollapsedTree> Collapse(const Tree& tree, const std::vector<LeafPrediction>& leaves,
                                       const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_MODEL_H_
