// Central trainers on rows of files: their flags and their splits.

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
#include "common/privacy/budget.h"
#include "server/curves/training.h"
#include "server/lab/commands.h"
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

// How often, and on which threads, the flags say.
curves::Runs RunsOf(const CentralFlags& flags);
// Each repetition's rows to train on, and to score on.
curves::SplitSource SplitsOf(RowSource rows);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SCORES_H_
