// coppice study: create, list, show, seal, delete.

#ifndef COPPICE_CLIENT_CLI_STUDIES_STUDY_H_
#define COPPICE_CLIENT_CLI_STUDIES_STUDY_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddStudyCommands(CLI::App& app, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_STUDY_H_
