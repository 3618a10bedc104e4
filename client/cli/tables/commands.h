// coppice schema and coppice data: one's own tables, before any curator is asked.

#ifndef COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_
#define COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// coppice schema: infer, check.
void AddSchemaCommands(CommandLine& line);

// coppice data: split.
void AddDataCommands(CommandLine& line);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_
