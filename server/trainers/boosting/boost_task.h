// The residuals of rows and the values of nodes in a boosted tree: one task for two classes, one
// for more, one for numbers.
//
// These are steps of gradient boosting (Friedman 2001): a residual is minus the gradient of the
// loss (logistic for classes, squared error cut at both ends for numbers), and a node's value is an
// estimate of the step that makes its rows' residuals cancel. With noise it is the log-ratio of the
// positive and the negative sum, to both of which 1.5 deviations of the noise are added: where
// noise rules they are alike and the step is near 0, where it does not they hardly matter.
//
// A row's scores are the sums of what the trees so far answered it. They follow from its features
// and from released values; together with its own label they give its residuals, which the next
// tree is grown on. No row's residuals depend on another row's label.
//
// For two classes y - p is held to 1/2, in one of two ways. Trees weight it, by w = 1/2 / max(p, 1
// - p). Cutting it does not leave a mean of 0 where p is right: what rows of the likelier class
// lack counts in full and the errors of the others in part, so that every round pushes scores
// towards certainty. Where nearly all rows are certain that push is welcome, and a small measured
// sum of all residuals turns the weight back into the cut (Observe()). Lines cut: they rely on a
// bound of the loss's second derivative that the weights would double.
//
// Residuals are whole multiples of 1 / unit, whatever floating point did before: for two classes at
// most half a unit; for more, an L1 norm of at most one unit; for numbers (1 + q) / 2 and (1 - q) /
// 2, together one unit.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int64_t kResidualUnit = int64_t{1} << 16;

// The range of residuals.
struct ResidualKind {
  uint32_t outputs = 1;
  // For numbers: a record adds `whole` to the sums of its child, (whole + r) / 2 to the positive
  // and (whole - r) / 2 to the negative part. 0: it adds |r| to the part of its sign.
  int64_t whole = 0;
  uint64_t range = 0;         // of selections
  Sensitivity sensitivity{};  // of measurements
  double multiway = 0;        // reduction of a split into B children, in (B - 2) noise scales
  // For lines: by how much a score has to move to take away a residual of one unit where the loss
  // curves most, and what is added to the moments' diagonal, in units of their noise.
  double line_step = 1;
  double line_ridge = 0.5;
};

// The measurement of a child: noisy sums of the positive and negative parts, one per output, and
// the scale of their noise (private_releaser.h).
struct ChildSums {
  absl::Span<const int64_t> positive, negative;
  double scale = 0;
  bool is_gaussian = false;

  NoiseLaw law() const { return {.scale = scale, .is_gaussian = is_gaussian}; }
};

// Errors     Internal for scores that are not finite: nothing would bound the residuals.
// Threads    not safe to share.
// Source     docs/research/mechanisms.md#boosting.
class BoostTask {
 public:
  virtual ~BoostTask() = default;

  virtual ResidualKind kind() const = 0;
  // Computes every row's current residuals.
  void Fill(Residuals& residuals) const;
  // From now on passes over all rows take so many threads; what they compute is the same.
  void UseThreads(uint32_t threads) { threads_ = threads; }
  uint32_t threads() const { return threads_; }
  // Residuals of two classes are cut until this is called, and weighted from then on. `rows` is the
  // released number.
  virtual void WeightResiduals(double /*rows*/) {}
  // Takes a measurement of the positive and negative parts of all rows' residuals, each row in one
  // cell: released sums, which decide how far the next residuals are weighted.
  virtual void Observe(const Measurement& /*of_all_rows*/) {}
  // Computes the scores that a node adds, one per output, from its measurement.
  virtual void Value(const ChildSums& measured, absl::Span<double> value) const = 0;
  // Computes the noise in these scores (noise_of_sums.h).
  virtual void ValueNoise(const ChildSums& measured, absl::Span<OutputNoise> noise) const = 0;
  // Do the same for the parts of one child, part after part. Parts of two classes are shrunk
  // towards the child's common value, in proportion to their noise; a single part gets Value().
  virtual void Values(absl::Span<const ChildSums> parts, absl::Span<double> values) const;
  virtual void ValuesNoise(absl::Span<const ChildSums> parts, absl::Span<OutputNoise> noise) const;
  // Returns the model's outputs of a leaf with these scores (LeafKind::kScores).
  virtual std::vector<double> Outputs(absl::Span<const double> scores) const = 0;
  // Returns the noise of these outputs, from that of the scores.
  std::vector<OutputNoise> OutputsNoise(absl::Span<const OutputNoise> scores) const;

  // Adds to every row's scores the values of its child. All scores of a run must stay below 2^24.
  Status Add(absl::Span<const uint32_t> child_of_row,
             const std::vector<std::vector<double>>& values);
  // Adds the same values to every row's scores.
  Status AddToAll(absl::Span<const double> value);
  // Replaces all scores, which are then as if trees had added them: scores[output][row].
  Status StartAt(std::vector<std::vector<double>> scores);
  absl::Span<const double> scores(size_t output) const { return scores_[output]; }
  const std::vector<std::vector<double>>& all_scores() const { return scores_; }

 protected:
  BoostTask(size_t outputs, size_t rows, int64_t unit)
      : unit_(unit), scores_(outputs, std::vector<double>(rows, 0.0)) {}

  // Computes the residuals of rows `first` to `end - 1`, each from its row alone.
  virtual void FillRows(size_t first, size_t end, Residuals& residuals) const = 0;

  int64_t half() const { return unit_ / 2; }
  uint64_t halves(uint64_t count) const { return count * static_cast<uint64_t>(half()); }

  const int64_t unit_;
  std::vector<std::vector<double>> scores_;  // scores_[output][row]

 private:
  uint32_t threads_ = 1;
};

// `labels` has a class or kUnlabelled per row. The spans must outlive the task. `unit` must be
// even; tests that walk through every sum use a coarser one.
std::unique_ptr<BoostTask> ClassTask(absl::Span<const uint32_t> labels, uint32_t num_classes,
                                     int64_t unit = kResidualUnit);

// `targets` are in steps (bins.h), one per row; a score of 1 is `reach` steps above `middle`. Both
// are released, and `reach` is above 0.
std::unique_ptr<BoostTask> NumberTask(absl::Span<const uint32_t> targets, double middle,
                                      double reach, int64_t unit = kResidualUnit);

// Numbers whose scores do not begin at one middle: a score is the answer itself, in multiples of
// `unit_of_scores` steps, and a residual is cut at one of these. What a node adds is not its task's
// to say: Value() is 0.
std::unique_ptr<BoostTask> WholeNumberTask(absl::Span<const uint32_t> targets,
                                           double unit_of_scores, int64_t unit = kResidualUnit);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_
