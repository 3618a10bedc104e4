// coppice model: build, list, show, predict, evaluate, explain, export, verify.

#ifndef COPPICE_CLIENT_CLI_MODELS_MODEL_H_
#define COPPICE_CLIENT_CLI_MODELS_MODEL_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddModelCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_MODEL_H_
