// A trained model: a forest with class probabilities and their standard errors at the leaves, and
// the certificate of what it cost in privacy.
//
// The outputs are the classes or, for regression, the two ends of the target's public range: a
// number is the mean of the ends weighted by their probabilities, so value = min + span * p(max).
// The model's LeafKind says what a leaf's numbers mean. Trees may split on features derived from
// the schema's (derived.h).

#ifndef COPPICE_COMMON_MODEL_MODEL_H_
#define COPPICE_COMMON_MODEL_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/certificate.h"
#include "common/model/tree.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"

namespace coppice {

// The format of models that this code reads and writes, and the earliest reader that understands
// what it writes (docs/protocol.md#versions-of-a-model).
inline constexpr uint32_t kModelVersion = 1;
inline constexpr uint32_t kModelMinReader = 1;

// What the noise of released sums has added to a score, as far as it is known.
struct OutputNoise {
  double mean = 0;  // expected addition
  // Its variance. Negative where a tree subtracts what another one added; never for a row's sum.
  double variance = 0;

  friend bool operator==(const OutputNoise&, const OutputNoise&) = default;
};

// What is known of one leaf after training.
struct LeafPrediction {
  std::vector<double> probabilities;  // one per output; see LeafKind
  // Standard error of the probability of the leaf's most probable class: sampling and privacy noise
  // together, at the point estimate; infinity if nothing is known. If the leaves hold weights: of
  // each weight, from its noise alone.
  double standard_error = 0;
  uint32_t label = 0;  // the class the leaf votes for
  // The node whose sums the leaf uses: the leaf's own, or the ancestor it was pruned to.
  uint32_t source_node = 0;
  // Scores only: what noise has added, one per output; empty if it is not known. A tree without any
  // noise adds none if other trees of the model have noise: it was made from public rows.
  std::vector<OutputNoise> noise{};
  double term = 0;  // the leaf's entry in the terms of its tree's shared noise

  friend bool operator==(const LeafPrediction&, const LeafPrediction&) = default;
};

// Noise that trees share because the numbers in their leaves were found together, as in straight
// lines. The variance of each output is |factor * terms|^2, where `terms` has the terms of a row's
// leaves in `trees`.
struct SharedNoise {
  std::vector<uint32_t> trees{};  // increasing
  std::vector<double> factor{};   // square, row by row

  friend bool operator==(const SharedNoise&, const SharedNoise&) = default;
};

// Estimates what a score would be without noise in its sums, with a standard error. The choice of
// splits is taken as given.
struct ScoreEstimate {
  double value = 0;
  double error = 0;
  double lead = 0;        // classes: lead over the runner-up
  double lead_error = 0;  // standard error of the lead
};

struct Prediction {
  uint32_t label = 0;
  std::vector<double> probabilities;  // one per output, sum 1
  // The standard error of the label's probability. Trees of probabilities and of weights count as
  // independent; for additive trees it is the mean of their leaves' errors, each of which is that
  // of the whole answer at its rows.
  double standard_error = 0;
  // Regression: the number, and its standard error.
  double value = 0;
  double value_error = 0;
  // A 95 % interval of the label's probability; regression: of the number. Scores: of what exact
  // sums would give on the same path, without sampling
  // (docs/research/mechanisms.md#noise-of-scores).
  double low = 0;
  double high = 1;
  // If the noise of scores is known: the score of the label, its log-odds against all other
  // classes, or the place in the target's range.
  std::optional<ScoreEstimate> score{};
};

// The prediction from a row's weights, summed over the trees; `variance` is the noise variance of
// each. See LeafKind::kWeights.
Prediction PredictFromWeights(std::vector<double> sums, double variance);

// The prediction from a row's scores, summed over the trees, and from what noise has added to them;
// `noise` is empty if that is not known. Of two outputs each is the negative of the other; with
// more, their noise is independent. See LeafKind::kScores.
Prediction PredictFromScores(const std::vector<double>& sums, absl::Span<const OutputNoise> noise,
                             bool regression);

// Maps means of terms, which may leave [0, 1], to the nearest values in it, scaled to sum to 1. If
// terms are so large that cancellation leaves nothing, nothing is known.
void CutToProbabilities(std::vector<double>& p);

// How likely it is that the label is the most probable class, from the lead of its probability and
// the standard error of that (a normal approximation): from 1/2, nothing is known, to 1.
double Confidence(const Prediction& prediction);

// What leaves hold. The numbers are stable.
enum class LeafKind : uint8_t {
  // Probabilities, in [0, 1] with sum 1. A row's probabilities are the mean over the trees.
  kProbabilities = 0,
  // Terms of a mean, with sum 1: only their mean over the trees, cut to [0, 1], is a probability.
  kAdditive = 1,
  // Weights, such as noisy counts; negative ones are allowed. A row's probabilities are its sums
  // over the trees, cut at 0, divided by their total.
  kWeights = 2,
  // Scores, summed over the trees. Classes: a row's probabilities are their softmax. Regression:
  // the second output's sum, cut to [0, 1], is the place in the target's range.
  kScores = 3,
};

// Guarantee  a model is post-processing of randomized sums and public rows, and holds nothing else.
// Errors     Create(): InvalidArgument if shapes do not match, a number is not allowed by the
//            LeafKind, a standard error is negative or NaN, or the certificate's epsilon is not the
//            cost of its releases.
// Threads    immutable after Create(); safe to share.
class Model {
 public:
  // leaves[t][l] belongs to leaf l of tree t.
  static StatusOr<Model> Create(Schema schema, Forest forest,
                                std::vector<std::vector<LeafPrediction>> leaves,
                                Certificate certificate,
                                LeafKind leaf_kind = LeafKind::kProbabilities,
                                std::vector<DerivedFeature> derived = {},
                                SharedNoise shared_noise = {});

  const Schema& schema() const { return schema_; }
  // The schema that the trees split on: the schema's features, then the derived ones.
  const Schema& tree_schema() const { return tree_schema_; }
  const std::vector<DerivedFeature>& derived() const { return derived_; }
  const SharedNoise& shared_noise() const { return shared_noise_; }
  const Forest& forest() const { return forest_; }
  const std::vector<std::vector<LeafPrediction>>& leaves() const { return leaves_; }
  const Certificate& certificate() const { return certificate_; }
  LeafKind leaf_kind() const { return leaf_kind_; }
  // Whether a tree adds no noise although others do: it was made from public rows alone.
  bool is_public(size_t tree) const { return is_public_[tree]; }

  // With one tree of probabilities, the label and probabilities of its leaf; otherwise the trees'
  // combined probabilities and the most probable class (the lower class on a tie). `row` must fit
  // the schema.
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
  std::vector<bool> is_public_;  // by tree
};

// A pruned tree in its smallest form: if all leaves below a node answer with the sums of the same
// ancestor, the node becomes a leaf. Every row gets the same prediction as before.
struct CollapsedTree {
  Tree tree;
  std::vector<LeafPrediction> leaves;  // source_node is a position in the new tree
};

// `leaves` has one prediction per leaf of `tree`, whose schema is `schema`.
StatusOr<CollapsedTree> Collapse(const Tree& tree, const std::vector<LeafPrediction>& leaves,
                                 const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_MODEL_H_
