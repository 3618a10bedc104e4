// The commands of coppiced other than serving: token, key-file, the offline commands, and the
// manual of them all.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/serving/access/role.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

// A bearer token and its policy entry, two lines. `token` is kept nowhere else; `entry` is the JSON
// line for the policy.
struct NewToken {
  std::string token;
  std::string entry;
};
// `expires` is RFC 3339, or empty for never. Without `resources` the token covers what its name
// owns.
StatusOr<NewToken> MakeNewToken(const std::string& name, const std::vector<std::string>& roles,
                                const std::string& expires,
                                const std::vector<std::string>& resources = {});

// Each adds its command or commands (`token`, `key-file`, the offline ones) to `program`, for
// documentation.
void DescribeToken(CLI::App& program);
void DescribeKeyFile(CLI::App& program);
void DescribeOffline(CLI::App& program);

// Runs `coppiced manual` and `coppiced completion SHELL`, generated from all flags and commands,
// and answers any other command with the nearest known one. Returns the exit code, or none if
// `argv` names no command. Call it last.
std::optional<int> RunReference(int argc, const char* const* argv);

// Runs `coppiced token ...` with argv[0] "token" and returns the exit code.
int TokenCommand(int argc, const char* const* argv);

// Runs `coppiced key-file ...` with argv[0] "key-file" and returns the exit code.
int KeyFileCommand(int argc, const char* const* argv);

// Runs the offline command that `argv` names (check, repair, backup, restore, copy, assign-owner,
// assign-datasets) and returns the exit code; none if it names no such command.
std::optional<int> RunOffline(int argc, const char* const* argv);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_
