// coppice endpoint: set, rollback, show, list, delete.

#ifndef COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_
#define COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddEndpointCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_
