// coppice dataset: create, upload, list, show, delete.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DATASET_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DATASET_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddDatasetCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DATASET_H_
