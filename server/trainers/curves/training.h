// Scores the models of a central trainer on rows that they did not see, over random splits of one
// table.

#ifndef COPPICE_SERVER_TRAINERS_CURVES_TRAINING_H_
#define COPPICE_SERVER_TRAINERS_CURVES_TRAINING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/evaluation/number_evaluation.h"
#include "common/model/model.h"
#include "common/table/table.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::curves {

// The rows of one repetition.
struct Split {
  std::shared_ptr<const Table> train;
  std::shared_ptr<const Table> test;
  std::shared_ptr<const Table> public_rows{};  // that training starts from; null: none
};

// Returns the rows for a seed, the same at every call. Safe to call from several threads.
using SplitSource = std::function<Split(uint64_t seed)>;

// Holds out a random `share` of the rows for the test, rounded up. InvalidArgument unless both
// parts get a row.
StatusOr<SplitSource> HoldOut(std::shared_ptr<const Table> rows, double share);

// How often to train, and on how many threads.
struct Runs {
  uint32_t repeats = 1;
  uint32_t threads = 1;
  uint64_t seed = 1;     // for the splits; never for noise or groups
  bool votes = false;    // render the votes of the first model
  CancelCheck cancel{};  // asked while models are trained
};

// Vectors have one entry per repetition.
struct TrainedScores {
  RepeatedClassScores classes;  // one of these two is filled
  RepeatedNumberScores numbers;
  std::vector<double> fit_seconds, fit_cpu_seconds, leaves;
  std::vector<double> questions;  // for models that are votes on questions
  std::string votes;              // of the first model
  double epsilon_spent = 0;
  std::string public_rows_sha256{};  // that the first model started from; empty: none
  size_t trees = 0;
};

// Scores the regression model's answers on `test`.
NumberScores EvaluateNumbers(const Model& model, const Table& test);

// Repetition r has the same rows for every algorithm and epsilon. `progress` gets the number of
// finished repetitions, one call at a time.
StatusOr<TrainedScores> TrainAndScore(const trainers::Trainer& trainer,
                                      const trainers::TrainOptions& options,
                                      const SplitSource& source, const Runs& runs,
                                      const std::function<void(uint32_t finished)>& progress);

}  // namespace coppice::curves

#endif  // COPPICE_SERVER_TRAINERS_CURVES_TRAINING_H_
