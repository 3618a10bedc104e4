// coppice endpoint: set, rollback, show, list, delete.

#ifndef COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_
#define COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_

#include "client/cli/terminal/flags.h"

namespace coppice {

void AddEndpointCommands(CLI::App& app, Action& action);

}  // namespace coppice

#endif  // COPPICE_CLIENT_CLI_MODELS_ENDPOINT_H_
