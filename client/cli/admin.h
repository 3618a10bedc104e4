// `coppice admin`: for whoever runs the curator.

#ifndef COPPICE_CLIENT_CLI_ADMIN_H_
#define COPPICE_CLIENT_CLI_ADMIN_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddAdminCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_ADMIN_H_
