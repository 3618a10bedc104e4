// coppice collect: simulate, resume, history.

#ifndef COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
#define COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddCollectCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
