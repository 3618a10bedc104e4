// What rows ask of a boosted tree, and what a tree answers: one task for two classes, one for more,
// one for numbers.
//
// The scores of a row are what the trees so far answered it, summed. They follow from its features
// and from released values; with its own label, so does what it asks for next, its residuals. No
// row's residuals depend on another row's label.
//
// Residuals are whole multiples of 1 / unit, whatever floating point did before: with two classes
// |y - p|, at most half a unit; with more, an L1 norm of at most one unit; for numbers (1 + q) / 2
// and (1 - q) / 2, one unit together.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/tree/model.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int64_t kResidualUnit = int64_t{1} << 16;

// What residuals can be.
struct ResidualKind {
  uint32_t outputs = 1;
  // Numbers: a record counts `whole` in the sums of its child, (whole + r) / 2 to the positive and
  // (whole - r) / 2 to the negative part; 0: |r| to the part of its sign.
  int64_t whole = 0;
  uint64_t range = 0;         // of selections
  Sensitivity sensitivity{};  // of measurements
  double multiway = 0;        // reduction of a split into B children, in (B - 2) noise scales
};

// What was measured in a child: noisy sums of the positive and negative parts, one per output, and
// the scale of their noise (releaser.h).
struct ChildSums {
  absl::Span<const int64_t> positive, negative;
  double scale = 0;
  bool is_gaussian = false;

  NoiseLaw law() const { return {.scale = scale, .is_gaussian = is_gaussian}; }
};

// Errors     Internal for scores that are no finite numbers: what rows ask for would have no
//            bounds.
// Threads    not safe to share.
// Source     docs/research/mechanisms.md#boosting.
class BoostTask {
 public:
  virtual ~BoostTask() = default;

  virtual ResidualKind kind() const = 0;
  // What every row asks for now.
  virtual void Fill(Residuals& residuals) const = 0;
  // The scores that a node adds, from what was measured there, one per output.
  virtual void Value(const ChildSums& measured, absl::Span<double> value) const = 0;
  // What noise has added to them (noise_of_sums.h).
  virtual void ValueNoise(const ChildSums& measured, absl::Span<OutputNoise> noise) const = 0;
  // The same of the parts of one child, part after part. Those of two classes are drawn to what all
  // of them say together, as far as their noise is; one part has Value().
  virtual void Values(absl::Span<const ChildSums> parts, absl::Span<double> values) const;
  virtual void ValuesNoise(absl::Span<const ChildSums> parts, absl::Span<OutputNoise> noise) const;
  // The model's outputs of a leaf with these scores (LeafKind::kScores).
  virtual std::vector<double> Outputs(absl::Span<const double> scores) const = 0;
  // The noise of these outputs, of that of the scores.
  std::vector<OutputNoise> OutputsNoise(absl::Span<const OutputNoise> scores) const;

  // Adds to every row's scores the values of its child. All scores of a run are below 2^24.
  absl::Status Add(absl::Span<const uint32_t> child_of_row,
                   const std::vector<std::vector<double>>& values);
  // To those of every row the same.
  absl::Status AddToAll(absl::Span<const double> value);
  absl::Span<const double> scores(size_t output) const { return scores_[output]; }

 protected:
  BoostTask(size_t outputs, size_t rows, int64_t unit)
      : unit_(unit), scores_(outputs, std::vector<double>(rows, 0.0)) {}

  int64_t half() const { return unit_ / 2; }
  uint64_t halves(uint64_t count) const { return count * static_cast<uint64_t>(half()); }

  const int64_t unit_;
  std::vector<std::vector<double>> scores_;  // scores_[output][row]
};

// Classes, or kUnlabelled, one per row. The spans must outlive the task. `unit` is even; a coarser
// one than usual is for tests that walk through every sum.
std::unique_ptr<BoostTask> ClassTask(absl::Span<const uint32_t> labels, uint32_t num_classes,
                                     int64_t unit = kResidualUnit);

// Steps (bins.h), one per row; a score of 1 is `reach` steps above `middle`, both of them released,
// and `reach` above 0.
std::unique_ptr<BoostTask> NumberTask(absl::Span<const uint32_t> targets, double middle,
                                      double reach, int64_t unit = kResidualUnit);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_TASK_H_
