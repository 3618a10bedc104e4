// The commands of coppice-relay: serving, making its key, making tokens of devices, and its manual.

#ifndef COPPICE_SERVER_RELAY_DAEMON_COMMANDS_H_
#define COPPICE_SERVER_RELAY_DAEMON_COMMANDS_H_

#include <functional>
#include <optional>

#include "common/base/status.h"
#include "server/process/log.h"
#include "server/relay/daemon/flags.h"

namespace CLI {
class App;
}

namespace coppice::relay {

// Reads the flags again, with their file.
using RelayFlagReader = std::function<StatusOr<RelayFlags>()>;

// Serves until SIGTERM or SIGINT. The error says what kept it from starting, or what ended it.
Status ServeRelay(const RelayFlags& flags, const RelayFlagReader& read_flags, Log& log);

// Reads every file that the flags name, as at the start, and changes nothing.
Status CheckRelayConfig(const RelayFlags& flags);

// Runs `coppice-relay keygen ...` or `coppice-relay token ...`, argv[0] being the command's name;
// returns the exit code.
int KeygenCommand(int argc, const char* const* argv);
int DeviceTokenCommand(int argc, const char* const* argv);

// Adds these commands to `program`, for the generated manual.
void DescribeRelayCommands(CLI::App& program);

// Runs `coppice-relay manual` and `coppice-relay completion SHELL`, and answers an unknown command
// with the nearest known one; returns the exit code. None if `argv` names no command. Call it last.
std::optional<int> RunRelayReference(int argc, const char* const* argv);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_COMMANDS_H_
