// coppice schema and coppice data: commands on the user's own tables, without a curator.

#ifndef COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_
#define COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// coppice schema: infer, check, generate.
void AddSchemaCommands(CommandLine& line);
void AddGenerate(const Command& noun);

// coppice data: split.
void AddDataCommands(CommandLine& line);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TABLES_COMMANDS_H_
