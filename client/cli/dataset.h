// coppice dataset: create, upload, list, show, delete.

#ifndef COPPICE_CLIENT_CLI_DATASET_H_
#define COPPICE_CLIENT_CLI_DATASET_H_

#include "client/cli/flags.h"

namespace coppice {

void AddDatasetCommands(CLI::App& app, Action& action);

}  // namespace coppice

#endif  // COPPICE_CLIENT_CLI_DATASET_H_
