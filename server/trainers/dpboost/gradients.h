// The residuals of records for the next tree of a boosted model, and the scores that trees sum to.
//
// Noise is as large as the largest residual may be, so residuals need a bound that does not come
// from the data. At the start all scores are equal and the largest residual is known: g*. Later
// most residuals are smaller, since trees have explained a part of them; a larger one belongs to a
// record that the model has quite wrong.
//
// Residuals are minus the loss' gradient at the record's score, in units of g*, the largest at the
// start, on a grid of kResidualSteps: a function of the record and of released values alone. There
// is one output, or one per class if there are more than two. The losses:
//
//     square     (y - F) of y in [-1, 1]: a number's place in its range, or two classes'
//     logistic   1{y = k} - p_k of the classes' probabilities p
//
// With one output |residual| <= kResidualSteps. With several, the residuals of the other classes
// are at most 0, and that of the record's class is minus their sum, at most kResidualSteps: the L1
// norm is at most twice that, the squared Euclidean norm twice its square.
//
// A record whose residual exceeds g* is filtered: left out of the tree, or counted with g*. Both
// look at the record alone, after it was assigned to the tree. A run without privacy needs no
// filter: g* is then so large that no residual exceeds it, as in ordinary boosting.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENTS_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/dpboost/gradient_tree.h"

namespace coppice::trainers {

enum class GradientLoss : uint8_t { kSquare, kLogistic };
enum class Filtering : uint8_t { kDrop, kClamp, kNone };

// Errors     Internal for scores that are not finite: nothing would bound the residuals.
// Threads    not safe to share.
// Source     DPBoost, section 3.1; docs/research/mechanisms.md#dpboost.
class Gradients {
 public:
  // Starts with all scores 0. kSquare is for two classes and for numbers, kLogistic for classes.
  // `rows` must outlive the object.
  Gradients(const BinnedRows& rows, GradientLoss loss, Filtering filtering);

  uint32_t outputs() const { return static_cast<uint32_t>(scores_.size()); }
  // Returns the bound of the squared norm of a record's residuals, in squared steps.
  uint32_t squared_norm() const { return outputs() > 1 ? 2 : 1; }

  // Returns the residuals of those `rows` that have a label and are not left out.
  RowResiduals Of(absl::Span<const uint32_t> rows) const;

  // Moves the scores of `rows` by `value`, a mean residual of each output in units of g*.
  Status Add(absl::Span<const uint32_t> rows, absl::Span<const double> value);

  // Returns what that adds to a model's outputs (LeafKind::kScores).
  std::vector<double> ToOutputs(absl::Span<const double> value) const;
  // Returns the noise of these outputs, from that of the values.
  std::vector<OutputNoise> OutputsNoise(absl::Span<const OutputNoise> noise) const;

 private:
  // Both return false if the record is left out.
  bool FillOne(uint32_t row, int32_t& residual) const;
  bool FillClasses(uint32_t row, absl::Span<int32_t> residuals) const;

  const BinnedRows& rows_;
  GradientLoss loss_;
  Filtering filtering_;
  double bound_ = 1;                         // g*
  double step_ = 1;                          // how far a mean residual of g* moves a score
  std::vector<std::vector<double>> scores_;  // scores_[output][row]
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_GRADIENTS_H_
