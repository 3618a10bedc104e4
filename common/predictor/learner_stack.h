// The stack of fitted learners: calibrated, weighed, and made small enough to serve.
//
// A learner may be used in part. Forests may have fewer trees, each with fewer leaves; boosting may
// stop after fewer rounds. Every size has held-out scores of its own, so the stack can tell what a
// smaller model loses before anything is served. While the model is too large, the step is taken
// that costs the least held-out loss for each byte that it saves: half of a learner's trees, half
// of its trees' leaves, or the whole learner. After each step the learner's calibration and all
// weights are fitted anew.
//
// Guarantee  follows from the rows and the fits alone.
// Threads    for one thread.
// Source     docs/research/mechanisms.md#public-predictor.

#ifndef COPPICE_COMMON_PREDICTOR_LEARNER_STACK_H_
#define COPPICE_COMMON_PREDICTOR_LEARNER_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/predictor/learners.h"
#include "common/predictor/public_predictor.h"
#include "common/predictor/stack.h"
#include "common/table/table.h"

namespace coppice {

// One learner's fits: by fold, without the fold's rows; and to all rows.
struct LearnerFits {
  std::vector<FittedLearner> without_fold;
  FittedLearner to_all;
};

class LearnerStack {
 public:
  // All must outlive the stack. There must be a row and a learner.
  LearnerStack(const Table& rows, const LearnerAnswers& answers,
               const std::vector<uint32_t>& fold_of_row, const std::vector<LearnerFits>& fits);

  // Makes learners smaller until the model takes at most `max_bytes`. InvalidArgument if even the
  // smallest takes more.
  Status ShrinkTo(size_t max_bytes);

  // Held-out scores and their loss, of the stack as it is.
  const RowScores& held_out() const { return held_out_; }
  double held_out_loss() const { return loss_; }

  // What is served for numbers with mean `mean` and deviation `deviation`; for classes 0 and 1.
  StatusOr<PublicPredictor> Served(double mean, double deviation) const;

  // By learner.
  double weight(size_t learner) const { return members_[learner].weight; }
  double temperature(size_t learner) const {
    return members_[learner].used.calibration.temperature;
  }
  double loss(size_t learner) const { return members_[learner].used.loss; }
  const LearnerSize& size(size_t learner) const { return members_[learner].used.size; }

 private:
  // A learner at some size.
  struct SizedLearner {
    LearnerSize size{};
    Calibration calibration{};
    RowScores held_out{};  // calibrated
    double loss = 0;
    size_t bytes = 0;
  };
  struct Member {
    SizedLearner used{};
    std::vector<SizedLearner> smaller{};  // the sizes that the next step may choose
    double weight = 0;
    bool is_dropped = false;

    bool is_served() const { return weight > 0 && used.calibration.temperature > 0; }
    size_t bytes() const { return is_served() ? used.bytes : 0; }
  };
  struct Shrinking {
    double cost = 0;  // in held-out loss, for each byte saved
    size_t learner = 0;
    size_t smaller = 0;  // position, or the number of these to drop the learner
  };

  SizedLearner MakeSized(size_t learner, const LearnerSize& size) const;
  RowScores HeldOutScores(size_t learner, const LearnerSize& size) const;
  void FindSmaller(size_t learner);
  void Weigh();
  double LossOf(const RowScores& scores) const;
  size_t Bytes() const;
  // The loss if a learner's share of the scores were `replacement`, or if it were dropped and the
  // others took its weight.
  double LossWith(size_t learner, const RowScores* replacement) const;
  bool FindShrinking(Shrinking& best) const;

  const Table& rows_;
  const LearnerAnswers& answers_;
  const std::vector<uint32_t>& fold_of_row_;
  const std::vector<LearnerFits>& fits_;
  std::vector<Member> members_;
  std::vector<double> level_;
  RowScores held_out_;
  double loss_ = 0;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_LEARNER_STACK_H_
