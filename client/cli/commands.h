// The program `coppice`: its command line, and the commands that belong to no room of their own.

#ifndef COPPICE_CLIENT_CLI_COMMANDS_H_
#define COPPICE_CLIENT_CLI_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// Parses the line, runs the command, and returns the exit code (CommandLine::Run).
int RunCommandLine(int argc, const char* const* argv);

// coppice admin: audit, backup.
void AddAdminCommands(CommandLine& line);
void AddAuditCommand(const Command& noun);
// coppice health: whether the daemon is fit to serve. For people and for probes of containers.
void AddHealthCommand(CommandLine& line);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_COMMANDS_H_
