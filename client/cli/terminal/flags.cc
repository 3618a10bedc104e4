#include "client/cli/terminal/flags.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "client/cli/terminal/output.h"
#include "client/device/grpc/server_call.h"
#include "common/base/file_permissions.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/ldp/local_mechanism.h"
#include "common/terms/public_key_file.h"
#include "common/terms/terms.h"

namespace coppice::cli {
namespace {

std::string CheckId(const std::string& id) {
  return IsValidId(id) ? "" : "needs 1 to 63 of a-z 0-9 - _, starting with a letter or digit";
}

std::string CheckEpsilon(const std::string& text) {
  const auto epsilon = Budget::Parse(text);
  const bool good = epsilon.ok() && epsilon->nanos() >= kMinEpsilonNanos &&
                    epsilon->nanos() <= kMaxStudyEpsilonNanos;
  return good ? "" : "needs a number from 0.01 to 20, such as 0.5 or 2";
}

std::string CheckPublicKey(const std::string& pin_or_file) {
  const Status status = ReadPublicKey(pin_or_file).status();
  if (status.ok()) return "";
  return StrCat("needs \"ed25519:...\" or a file of a public key (", status.message(), ")");
}

Status CopyError(int error) {
  return UnavailableError(StrCat("cannot copy stdin to a temporary file: ", std::strerror(error),
                                 "; save it to a file and name that instead of -"));
}

// Copies `from` to its end.
Status Copy(int from, int to) {
  char buffer[1 << 16];
  while (true) {
    const ssize_t bytes = read(from, buffer, sizeof buffer);
    if (bytes == 0) return OkStatus();
    if (bytes < 0) return CopyError(errno);
    for (ssize_t written = 0; written < bytes;) {
      const ssize_t more = write(to, buffer + written, static_cast<size_t>(bytes - written));
      if (more < 0) return CopyError(errno);
      written += more;
    }
  }
}

}  // namespace

ConnectOptions ServerFlags::Connection() const {
  ConnectOptions options = connect;
  if (options.insecure) options.ca_file.clear();
  return options;
}

absl::Duration ServerFlags::Wait(absl::Duration usual) const {
  return timeout_seconds.has_value() ? absl::Seconds(*timeout_seconds) : usual;
}

RetryOptions ServerFlags::Once() const {
  return {.deadline = Wait(),
          .give_up_after = absl::ZeroDuration(),
          .diagnose = [connect = Connection()] { return DiagnoseConnection(connect); }};
}

RetryOptions ServerFlags::Patient() const {
  const absl::Duration whole = Wait();
  return {.deadline = std::min(whole, absl::Seconds(20)),
          .give_up_after = whole,
          .diagnose = [connect = Connection()] { return DiagnoseConnection(connect); }};
}

void AddOutputFlags(const Command& command, OutputFlags& flags) {
  command.AddSwitch("--json", flags.json,
                    "Print one JSON object a line, and nothing else, on stdout");
}

void AddAcceptLeakFlag(const Command& command, bool& accept_leak) {
  command.AddSwitch("--accept-leak", accept_leak,
                    "Accept a schema whose bounds, values or classes are marked as read from "
                    "private rows. They leak whatever the epsilon, and certificates will say so");
}

Flag AddServerFlags(const Command& command, ServerFlags& flags) {
  const std::string group = "Connection";
  const Flag server = command.Add("--server", flags.connect.server, "Where coppiced listens")
                          .Takes("HOST:PORT")
                          .FromEnvironment("COPPICE_SERVER")
                          .Required()
                          .InGroup(group);
  command
      .Add("--ca", flags.connect.ca_file,
           "PEM file of the CA that signed the server's certificate (default: the system's)")
      .Takes("FILE")
      .FromEnvironment("COPPICE_CA")
      .InGroup(group);
  command.Add("--cert", flags.connect.cert_file, "PEM file of the client's own certificate")
      .Takes("FILE")
      .InGroup(group);
  command.Add("--key", flags.connect.key_file, "PEM file of the private key to --cert")
      .Takes("FILE")
      .InGroup(group);
  command
      .Add("--token-file", flags.connect.token_file,
           "File with the bearer token that the operator gave you")
      .Takes("FILE")
      .FromEnvironment("COPPICE_TOKEN_FILE")
      .InGroup(group);
  command.AddSwitch("--insecure", flags.connect.insecure, "No TLS; on loopback addresses only")
      .InGroup(group);
  command
      .Add("--timeout", flags.timeout_seconds,
           "Seconds to wait for an answer (default: 60, or longer for calls that compute)")
      .InRange(0.1, 86400.0)
      .InGroup(group);
  return server;
}

Status CheckServerFlags(const ServerFlags& flags) {
  // For commands that may work without a server; for others the flag is required.
  if (flags.connect.server.empty()) return OkStatus();
  const ConnectOptions connect = flags.Connection();
  const Status checked = CheckConnectOptions(connect);
  if (checked.ok()) return checked;
  const bool about_files = connect.cert_file.empty() != connect.key_file.empty();
  const std::string_view flag = connect.insecure ? "--insecure (--server)"
                                : about_files    ? "--cert, --key"
                                                 : "--server";
  return InvalidArgumentError(StrCat(flag, ": ", checked.message()));
}

void WarnOfOpenFiles(const ServerFlags& flags) {
  const std::pair<const char*, const std::string&> secrets[] = {
      {"--key", flags.connect.key_file}, {"--token-file", flags.connect.token_file}};
  for (const auto& [flag, path] : secrets) {
    if (path.empty() || !IsWorldAccessible(path)) continue;
    Note(StrCat("warning: anyone on this machine can read or change ", path, " (", flag,
                "): run chmod o-rwx on it, and replace it if others use the machine"));
  }
}

Flag AddIdFlag(const Command& command, const std::string& flag, std::string& id,
               const std::string& description, bool required) {
  return command.Add(flag, id, description).Check(CheckId, "ID").Required(required);
}

Flag AddPublicKeyFlag(const Command& command, const std::string& flag, std::string& key,
                      const std::string& description) {
  return command.Add(flag, key, description).Check(CheckPublicKey, "PIN|FILE");
}

Status CheckOutputFile(const std::string& path, const OutputFlags& output) {
  if (path != "-" || !output.json) return OkStatus();
  return InvalidArgumentError(
      "--output: - is stdout, which --json needs for itself; name a file, or leave --json out");
}

StatusOr<std::string> InputFile(const std::string& path, bool again) {
  constexpr char kStdin[] = "/dev/stdin";
  if (path != "-") return path;
  struct stat facts {};
  const bool can_be_read_again = fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode);
  if (!again || can_be_read_again) return kStdin;
  const char* folder = std::getenv("TMPDIR");
  std::string name =
      StrCat(folder == nullptr || *folder == 0 ? "/tmp" : folder, "/coppice-stdin-XXXXXX");
  const int copy = mkostemp(name.data(), O_CLOEXEC);
  if (copy < 0) return CopyError(errno);
  unlink(name.c_str());
  const Status copied = Copy(STDIN_FILENO, copy);
  // From now on opening /dev/stdin reads the copy, from its beginning.
  if (copied.ok()) dup2(copy, STDIN_FILENO);
  close(copy);
  COPPICE_RETURN_IF_ERROR(copied);
  return kStdin;
}

Status WithHint(const Status& status) {
  if (IsDeadlineExceeded(status) && StrContains(status.message(), kNotInTime)) {
    return DeadlineExceededError(
        StrCat(status.message(), "; allow more time with --timeout SECONDS"));
  }
  if (!IsNotFound(status)) return status;
  const std::pair<const char*, const char*> nouns[] = {{"study", "study list"},
                                                       {"model", "model list"},
                                                       {"dataset", "dataset list"},
                                                       {"job", "train list"},
                                                       {"endpoint", "endpoint list"}};
  for (const auto& [noun, list] : nouns) {
    if (!StrContains(status.message(), StrCat("there is no ", noun, " "))) continue;
    return NotFoundError(StrCat(status.message(), "; `coppice ", list, "` lists those there are"));
  }
  return status;
}

Flag AddYesFlag(const Command& command, const std::string& description) {
  return command
      .AddSwitch(
          "--yes", [] {}, description)
      .Required();
}

Flag AddEpsilonFlag(const Command& command, const std::string& flag, std::optional<Budget>& epsilon,
                    const std::string& description) {
  const auto take = [&epsilon](const std::string& text) { epsilon = *Budget::Parse(text); };
  return command.AddTaken<std::string>(flag, take, description).Check(CheckEpsilon, "NUMBER");
}

Flag AddEpsilonsFlag(const Command& command, const std::string& flag, std::vector<Budget>& epsilons,
                     const std::string& description) {
  const auto take = [&epsilons](const std::vector<std::string>& texts) {
    epsilons.clear();
    for (const std::string& text : texts) epsilons.push_back(*Budget::Parse(text));
  };
  return command.AddTaken<std::vector<std::string>>(flag, take, description)
      .SplitAt(',')
      .Check(CheckEpsilon, "NUMBER");
}

}  // namespace coppice::cli
