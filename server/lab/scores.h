// Central trainers on rows of files: their flags, their splits, and what their models score.

#ifndef COPPICE_SERVER_LAB_SCORES_H_
#define COPPICE_SERVER_LAB_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/command_line/command_line.h"
#include "common/data/schema_file.h"
#include "common/data/table.h"
#include "common/evaluation/number_evaluation.h"
#include "common/privacy/budget.h"
#include "common/tree/model.h"
#include "server/lab/commands.h"
#include "server/lab/repetitions.h"
#include "server/lab/rows.h"
#include "server/trainers/core/trainer.h"

namespace coppice::lab {

// Add the flags of `flags` but for the algorithm, the epsilon and what is printed: first those that
// name the rows, then the others.
void AddFileFlags(const Command& command, CentralFlags& flags);
void AddRunFlags(const Command& command, CentralFlags& flags);

// "auto, logistic, ...".
std::string TrainerNames();

absl::StatusOr<std::shared_ptr<const Table>> ReadLabRows(const std::string& path,
                                                         const SchemaFile& schema,
                                                         const CentralFlags& flags);

// The rows and the splits that the flags ask for.
absl::StatusOr<RowSource> ResolveTableRows(const CentralFlags& flags);

// With the flags' delta and settings. InvalidArgument if the algorithm takes no delta and one is
// given.
absl::StatusOr<trainers::TrainOptions> TrainOptionsOf(const trainers::Trainer& trainer,
                                                      const CentralFlags& flags,
                                                      std::optional<Budget> epsilon);

// What the model of numbers says of the rows.
NumberScores EvaluateNumbers(const Model& model, const Table& test);

// One entry per repetition where it is a vector.
struct Scores {
  RepeatedClassScores classes;  // or
  RepeatedNumberScores numbers;
  std::vector<double> fit_seconds, fit_cpu_seconds, leaves;
  std::vector<double> questions;  // of models that are votes on questions
  std::string votes;              // of the first
  double epsilon_spent = 0;
  size_t trees = 0;
};

// Trains and scores as often as the flags say. Repetition r has the same rows whatever the
// algorithm and the epsilon. `progress` is called one at a time, with how many have finished.
absl::StatusOr<Scores> TrainAndScore(const trainers::Trainer& trainer,
                                     const trainers::TrainOptions& options, const RowSource& source,
                                     const CentralFlags& flags,
                                     const std::function<void(uint32_t finished)>& progress);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SCORES_H_
