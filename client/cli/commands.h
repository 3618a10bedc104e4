// The program `coppice`: its command line, and the commands that are no room's own.

#ifndef COPPICE_CLIENT_CLI_COMMANDS_H_
#define COPPICE_CLIENT_CLI_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// Reads the line, runs what it asks for, and returns the exit code (CommandLine::Run).
int RunCommandLine(int argc, const char* const* argv);

// coppice admin: audit, backup.
void AddAdminCommands(CommandLine& line);
void AddAuditCommand(const Command& noun);
// coppice health: is the daemon fit to serve? For people and for probes of containers.
void AddHealthCommand(CommandLine& line);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_COMMANDS_H_
