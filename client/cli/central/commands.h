// coppice dataset and coppice train.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_COMMANDS_H_
#define COPPICE_CLIENT_CLI_CENTRAL_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// coppice dataset: create, upload, list, show, confirm, write-off, free-name, delete.
void AddDatasetCommands(CommandLine& line);
void AddDatasetCreate(const Command& dataset);
void AddDatasetUpload(const Command& dataset);

// coppice train: algorithms, curve, preview, submit, watch, list, show, cancel.
void AddTrainCommands(CommandLine& line);
void AddTrainCurve(const Command& train);
void AddTrainPreview(const Command& train);
void AddTrainSubmit(const Command& train);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_COMMANDS_H_
