// What the models of a central trainer score on rows that they did not see, over random splits of
// one table.

#ifndef COPPICE_SERVER_CURVES_TRAINING_H_
#define COPPICE_SERVER_CURVES_TRAINING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/evaluation/number_evaluation.h"
#include "common/tree/model.h"
#include "server/curves/repetitions.h"
#include "server/trainers/core/trainer.h"

namespace coppice::curves {

// The rows of one repetition.
struct Split {
  std::shared_ptr<const Table> train;
  std::shared_ptr<const Table> test;
};

// The rows for one seed: the same for the same seed. Safe to call from several threads.
using SplitSource = std::function<Split(uint64_t seed)>;

// Holds out `share` of the rows for the test, rounded up, at random. InvalidArgument unless both
// sides get a row.
absl::StatusOr<SplitSource> HoldOut(std::shared_ptr<const Table> rows, double share);

// How often models are trained, and by how many threads.
struct Runs {
  uint32_t repeats = 1;
  uint32_t threads = 1;
  uint64_t seed = 1;     // of the splits; never of noise or groups
  bool votes = false;    // renders those of the first model
  CancelCheck cancel{};  // asked while models are trained
};

// One entry per repetition where it is a vector.
struct TrainedScores {
  RepeatedClassScores classes;  // or
  RepeatedNumberScores numbers;
  std::vector<double> fit_seconds, fit_cpu_seconds, leaves;
  std::vector<double> questions;  // of models that are votes on questions
  std::string votes;              // of the first
  double epsilon_spent = 0;
  size_t trees = 0;
};

// What the model of numbers says of the rows.
NumberScores EvaluateNumbers(const Model& model, const Table& test);

// Repetition r has the same rows whatever the algorithm and the epsilon. `progress` is called one
// at a time, with how many have finished.
absl::StatusOr<TrainedScores> TrainAndScore(const trainers::Trainer& trainer,
                                            const trainers::TrainOptions& options,
                                            const SplitSource& source, const Runs& runs,
                                            const std::function<void(uint32_t finished)>& progress);

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_CURVES_TRAINING_H_
