// What public rows alone predict, in the form that is served: trees whose leaves hold scores.
//
// A row's scores are the base plus what its leaf of each tree holds. For classes they are log odds:
// their softmax gives the probabilities, and their mean over the classes is 0. For numbers there is
// one score, which is the number itself, in the target's unit. Everything that was learned about
// the learners' weights is multiplied into the leaves, so scores can be added to: a correction
// learned from reports is more trees of the same kind.
//
// Guarantee  a function of public rows only; it costs no privacy. It discloses these rows: some of
//            its trees are grown down to single rows.
// Threads    immutable after Create(); safe to share.

#ifndef COPPICE_COMMON_PREDICTOR_PUBLIC_PREDICTOR_H_
#define COPPICE_COMMON_PREDICTOR_PUBLIC_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/table/table.h"

namespace coppice {

// One tree and the scores of its leaves: values[leaf * columns + column].
struct ScoreTree {
  Tree tree = Tree::SingleLeaf();
  std::vector<double> values;
};

// The number of scores of a row: one per class, or one for a number.
inline size_t ScoreColumns(const Schema& schema) {
  return schema.target() ? 1 : schema.num_classes();
}

// Turns the log odds of one row into probabilities, in place.
void Softmax(absl::Span<double> scores);

// A forest whose leaves hold scores, as a model with LeafKind::kScores wants it.
struct ScoreForest {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;  // by tree; without standard errors
};

// The most bytes that the first `shown` of these nodes take as a tree of a model with LeafKind::
// kScores, on the wire. A node whose children are not shown counts as a leaf.
size_t ModelBytes(absl::Span<const Node> nodes, uint64_t shown, const Schema& schema);

class PublicPredictor {
 public:
  // InvalidArgument if a tree does not fit the schema, sizes differ, or a number is not finite.
  static StatusOr<PublicPredictor> Create(std::shared_ptr<const Schema> schema,
                                          std::vector<double> base, std::vector<ScoreTree> trees);

  const Schema& schema() const { return *schema_; }
  size_t columns() const { return base_.size(); }
  bool predicts_number() const { return schema_->target().has_value(); }
  // What all rows score before any tree.
  absl::Span<const double> base() const { return base_; }
  absl::Span<const ScoreTree> trees() const { return trees_; }

  // Writes the scores of a row, which must fit the schema, to `scores`, of columns() entries.
  void Score(RowView row, absl::Span<double> scores) const;
  // The scores of all rows, one row after another.
  std::vector<double> ScoresOf(const Table& rows) const;

  // This predictor with all its scores multiplied by `scale`, `level` added to each row's (one
  // entry per column, or none), and more trees. InvalidArgument as Create().
  StatusOr<PublicPredictor> Corrected(double scale, absl::Span<const double> level,
                                      std::vector<ScoreTree> more) const;

  // The most bytes that a model of these trees takes on the wire, apart from schema and
  // certificate.
  size_t model_bytes() const;

  // The base, as a tree of a single leaf, and the trees. A number's scores become those of the two
  // ends of the target's range.
  ScoreForest ToForest() const;
  // The same predictions as a model with LeafKind::kScores. A number's model cuts its answer to
  // the target's bounds.
  StatusOr<Model> ToModel(Certificate certificate) const;

 private:
  PublicPredictor(std::shared_ptr<const Schema> schema, std::vector<double> base,
                  std::vector<ScoreTree> trees);

  std::shared_ptr<const Schema> schema_;
  std::vector<double> base_;
  std::vector<ScoreTree> trees_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_PUBLIC_PREDICTOR_H_
