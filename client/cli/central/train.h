// coppice train: algorithms, preview, submit, watch, list, show, cancel.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_TRAIN_H_
#define COPPICE_CLIENT_CLI_CENTRAL_TRAIN_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddTrainCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_TRAIN_H_
