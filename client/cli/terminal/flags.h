// The flags that commands share.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/command_line/command_line.h"
#include "common/privacy/budget.h"

namespace coppice::cli {

struct OutputFlags {
  bool json = false;
};

struct ServerFlags {
  ConnectOptions connect;
  std::optional<double> timeout_seconds{};  // of --timeout

  // The options to connect with. COPPICE_CA is a default for TLS, so --insecure ignores it.
  ConnectOptions Connection() const;

  // --timeout, or else `usual`.
  absl::Duration Wait(absl::Duration usual = absl::Minutes(1)) const;
  // For a command that a person waits for: one try.
  RetryOptions Once() const;
  // For delivery: retries until the time is up.
  RetryOptions Patient() const;
};

// Finds out why no connection can be made: an unknown name, nobody there, no TLS, a certificate
// that is not trusted (an unknown CA, expired, for other names) or is required. Unavailable with
// one line that says what, where and what to do; OK if nothing is wrong, or the reason is unknown.
// Connects once more, and sends neither a token nor a request.
Status DiagnoseConnection(const ConnectOptions& options);

void AddOutputFlags(const Command& command, OutputFlags& flags);
// Adds --server, --ca, --cert, --key, --token-file, --insecure, --timeout. Returns --server.
Flag AddServerFlags(const Command& command, ServerFlags& flags);
// InvalidArgument, naming the flag, unless the connection flags fit together.
Status CheckServerFlags(const ServerFlags& flags);
// Warns on stderr of each secret in a file that everybody may read, and says what to do.
void WarnOfOpenFiles(const ServerFlags& flags);

// Adds --accept-leak, for commands that send the schema of private rows.
void AddAcceptLeakFlag(const Command& command, bool& accept_leak);

// Adds --study, --model, --dataset or --job.
Flag AddIdFlag(const Command& command, const std::string& flag, std::string& id,
               const std::string& description, bool required = true);

// Adds a flag for a public key, as ReadPublicKey() takes it.
Flag AddPublicKeyFlag(const Command& command, const std::string& flag, std::string& key,
                      const std::string& description);

// InvalidArgument if a result would go to stdout ("-") where only JSON may.
Status CheckOutputFile(const std::string& path, const OutputFlags& output);

// The file to read for a flag's `path`: "-" is stdin. A pipe can be read once; with `again` it is
// first copied to a file without a name, which only this process can open. Unavailable if there is
// no room for it.
StatusOr<std::string> InputFile(const std::string& path, bool again = false);

// Adds --yes, without which the command does nothing.
Flag AddYesFlag(const Command& command,
                const std::string& description = "Confirm that you mean it");

// Adds a flag for the epsilon of one report, as a decimal number, or for several by commas. The
// text becomes a Budget here, and nowhere after: rounded down, so never more than was written.
Flag AddEpsilonFlag(const Command& command, const std::string& flag, std::optional<Budget>& epsilon,
                    const std::string& description);
Flag AddEpsilonsFlag(const Command& command, const std::string& flag, std::vector<Budget>& epsilons,
                     const std::string& description);

// Adds what to do: to NotFound the command that lists existing ids, to an answer that did not come
// in time the flag that waits longer. Returns other statuses unchanged.
Status WithHint(const Status& status);

// Makes `command` run `run` on `flags`, once its flags are checked: by their own Check(), too, if
// they have one.
template <typename Flags>
void SetAction(const Command& command, std::shared_ptr<Flags> flags, Status (*run)(const Flags&)) {
  const auto check = [flags]() -> Status {
    if constexpr (requires {
                    flags->output_file;
                    flags->output.json;
                  }) {
      COPPICE_RETURN_IF_ERROR(CheckOutputFile(flags->output_file, flags->output));
    }
    if constexpr (requires { flags->Check(); }) COPPICE_RETURN_IF_ERROR(flags->Check());
    if constexpr (requires { flags->server; }) return CheckServerFlags(flags->server);
    return OkStatus();
  };
  const auto act = [flags, run]() -> Status {
    if constexpr (requires { flags->server; }) WarnOfOpenFiles(flags->server);
    return WithHint(run(*flags));
  };
  command.Run(act, check);
}

// The same for a command that asks the curator and prints an answer: adds --json and the flags of
// the connection, after the command's own.
template <typename Flags>
void SetRemoteAction(const Command& command, std::shared_ptr<Flags> flags,
                     Status (*run)(const Flags&)) {
  AddOutputFlags(command, flags->output);
  AddServerFlags(command, flags->server);
  SetAction(command, std::move(flags), run);
}

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
