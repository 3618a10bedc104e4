// The daemon's offline commands: coppiced check, repair, backup, restore.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_OFFLINE_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_OFFLINE_H_

#include <optional>

namespace coppice::daemon {

// Runs the command that `argv` names and returns the exit code; none if it names no such command.
std::optional<int> RunOffline(int argc, const char* const* argv);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_OFFLINE_H_
