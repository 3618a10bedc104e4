// coppice model and coppice endpoint.

#ifndef COPPICE_CLIENT_CLI_MODELS_COMMANDS_H_
#define COPPICE_CLIENT_CLI_MODELS_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// coppice model: build, list, show, predict, evaluate, explain, export, delete, verify.
void AddModelCommands(CommandLine& line);
void AddPredict(const Command& model);
void AddEvaluate(const Command& model);
void AddShow(const Command& model);
void AddExplain(const Command& model);
void AddExport(const Command& model);

// coppice endpoint: set, rollback, show, list, delete.
void AddEndpointCommands(CommandLine& line);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_COMMANDS_H_
