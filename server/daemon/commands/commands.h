// What coppiced does but serve: coppiced token and key-file, its offline commands, and what tells
// of them all.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/access/role.h"

namespace CLI {
class App;
}

namespace coppice::daemon {

// A bearer token and the line of the policy that admits it. The first line is the token, which is
// nowhere else; the second the policy's entry for it, JSON.
struct NewToken {
  std::string token;
  std::string entry;
};
// `expires` is RFC 3339, or empty for never. Without `resources` the token is for what its name
// owns.
absl::StatusOr<NewToken> MakeNewToken(const std::string& name,
                                      const std::vector<std::string>& roles,
                                      const std::string& expires,
                                      const std::vector<std::string>& resources = {});

// Adds the command `token`, `key-file`, or the offline commands, to `program`, for whoever
// documents them.
void DescribeToken(CLI::App& program);
void DescribeKeyFile(CLI::App& program);
void DescribeOffline(CLI::App& program);

// Runs `coppiced manual` and `coppiced completion SHELL`, which are made from all flags and
// commands, and answers any other command with the nearest that there is; the exit code. None if
// `argv` names no command. To be asked last.
std::optional<int> RunReference(int argc, const char* const* argv);

// Runs `coppiced token ...`, argv[0] being "token"; the exit code.
int TokenCommand(int argc, const char* const* argv);

// Runs `coppiced key-file ...`, argv[0] being "key-file"; the exit code.
int KeyFileCommand(int argc, const char* const* argv);

// For coppiced check, repair, backup, restore, copy, assign-owner. Runs the command that `argv`
// names and returns the exit code; none if it names no such command.
std::optional<int> RunOffline(int argc, const char* const* argv);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_COMMANDS_H_
