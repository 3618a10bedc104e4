// coppiced token: makes a bearer token and the line of the policy that admits it.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_TOKEN_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_TOKEN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/access/role.h"

namespace coppice::daemon {

// The first line is the token, which is nowhere else; the second the policy's entry for it, JSON.
struct NewToken {
  std::string token;
  std::string entry;
};
// `expires` is RFC 3339, or empty for never.
absl::StatusOr<NewToken> MakeNewToken(const std::string& name,
                                      const std::vector<std::string>& roles,
                                      const std::string& expires);

// Runs `coppiced token ...`, argv[0] being "token"; the exit code.
int TokenCommand(int argc, const char* const* argv);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_TOKEN_H_
