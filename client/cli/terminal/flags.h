// The flags that commands share.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/collector/collector.h"
#include "common/command_line/command_line.h"
#include "common/privacy/budget.h"

namespace coppice::cli {

struct OutputFlags {
  bool json = false;
};

struct ServerFlags {
  ConnectOptions connect;
  double timeout_seconds = 60;

  // What to connect with. COPPICE_CA is a default for TLS, so --insecure leaves it aside.
  ConnectOptions Connection() const;

  // For a command that a person waits for: one try.
  RetryOptions Once() const;
  // For delivery: again and again until the time is up.
  RetryOptions Patient() const;
};

void AddOutputFlags(const Command& command, OutputFlags& flags);
// --server, --ca, --cert, --key, --token-file, --insecure, --timeout. Returns --server.
Flag AddServerFlags(const Command& command, ServerFlags& flags);
// InvalidArgument, naming the flag, unless the connection flags make sense together.
absl::Status CheckServerFlags(const ServerFlags& flags);
// Warns on stderr of each secret of `flags` in a file that everybody may read, and says what to do.
void WarnOfOpenFiles(const ServerFlags& flags);

// --study, --model, --dataset or --job.
Flag AddIdFlag(const Command& command, const std::string& flag, std::string& id,
               const std::string& description, bool required = true);

// --yes, without which the command does nothing.
Flag AddYesFlag(const Command& command, const std::string& description = "Say that you mean it");

// The epsilon of one report, as a decimal number.
Flag AddEpsilonFlag(const Command& command, const std::string& flag, std::string& epsilon,
                    const std::string& description);
// `text` has passed the flag's check.
Budget EpsilonOf(const std::string& text);

// Makes `command` run `run` on `flags`, once its flags are checked.
template <typename Flags>
void SetAction(const Command& command, std::shared_ptr<Flags> flags,
               absl::Status (*run)(const Flags&)) {
  if constexpr (requires { flags->server; }) {
    command.Run(
        [flags, run] {
          WarnOfOpenFiles(flags->server);
          return run(*flags);
        },
        [flags] { return CheckServerFlags(flags->server); });
  } else {
    command.Run([flags, run] { return run(*flags); });
  }
}

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
