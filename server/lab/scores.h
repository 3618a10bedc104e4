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

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/privacy/budget.h"
#include "common/table/schema_file.h"
#include "common/table/table.h"
#include "server/lab/commands.h"
#include "server/lab/rows.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {

// Add the flags of `flags`, except the algorithm, the epsilon and the output: the first function
// adds those that name the rows, the second the others.
void AddFileFlags(const Command& command, CentralFlags& flags);
void AddRunFlags(const Command& command, CentralFlags& flags);

// "auto, logistic, ...".
std::string TrainerNames();

StatusOr<std::shared_ptr<const Table>> ReadLabRows(const std::string& path,
                                                   const SchemaFile& schema,
                                                   const CentralFlags& flags);

// Returns the rows and the splits that the flags ask for.
StatusOr<RowSource> ResolveTableRows(const CentralFlags& flags);

// Returns options with the flags' delta and settings. InvalidArgument for a delta that the
// algorithm cannot use.
StatusOr<trainers::TrainOptions> TrainOptionsOf(const trainers::Trainer& trainer,
                                                const CentralFlags& flags,
                                                std::optional<Budget> epsilon);

// Returns the repetitions and threads of the flags.
curves::Runs RunsOf(const CentralFlags& flags);
// Returns each repetition's rows for training and for scoring.
curves::SplitSource SplitsOf(RowSource rows);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SCORES_H_
