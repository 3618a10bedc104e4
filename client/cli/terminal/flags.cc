#include "client/cli/terminal/flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal/output.h"
#include "common/base/file_permissions.h"
#include "common/ldp/local_mechanism.h"
#include "common/study/terms.h"

namespace coppice::cli {
namespace {

std::string CheckId(const std::string& id) {
  return IsValidId(id) ? "" : "wants 1 to 63 of a-z 0-9 - _, starting with a letter or digit";
}

std::string CheckEpsilon(const std::string& text) {
  const auto epsilon = Budget::Parse(text);
  const bool good = epsilon.ok() && epsilon->nanos() >= kMinEpsilonNanos &&
                    epsilon->nanos() <= kMaxStudyEpsilonNanos;
  return good ? "" : "wants a number from 0.01 to 20, such as 0.5 or 2";
}

}  // namespace

ConnectOptions ServerFlags::Connection() const {
  ConnectOptions options = connect;
  if (options.insecure) options.ca_file.clear();
  return options;
}

RetryOptions ServerFlags::Once() const {
  return {.deadline = absl::Seconds(timeout_seconds), .give_up_after = absl::ZeroDuration()};
}

RetryOptions ServerFlags::Patient() const {
  const absl::Duration whole = absl::Seconds(timeout_seconds);
  return {.deadline = std::min(whole, absl::Seconds(20)), .give_up_after = whole};
}

CLI::App* AddVerb(CLI::App& noun, const std::string& name, const std::string& description,
                  const std::string& example) {
  CLI::App* verb = noun.add_subcommand(name, description);
  verb->footer("Example:\n  " + example);
  return verb;
}

void AddOutputFlags(CLI::App& verb, OutputFlags& flags) {
  verb.add_flag("--json", flags.json, "Print one JSON object a line, and nothing else, on stdout");
}

void AddServerFlags(CLI::App& verb, ServerFlags& flags) {
  const std::string group = "Connection";
  verb.add_option("--server", flags.connect.server, "Where coppiced listens, HOST:PORT")
      ->envname("COPPICE_SERVER")
      ->required()
      ->group(group);
  verb.add_option("--ca", flags.connect.ca_file,
                  "PEM file of the CA that signed the server's certificate (default: the system's)")
      ->envname("COPPICE_CA")
      ->group(group);
  verb.add_option("--cert", flags.connect.cert_file, "PEM file of the client's own certificate")
      ->group(group);
  verb.add_option("--key", flags.connect.key_file, "PEM file of the private key to --cert")
      ->group(group);
  verb.add_option("--token-file", flags.connect.token_file,
                  "File with the bearer token that the operator gave you")
      ->envname("COPPICE_TOKEN_FILE")
      ->group(group);
  verb.add_flag("--insecure", flags.connect.insecure, "No TLS; on loopback addresses only")
      ->group(group);
  verb.add_option("--timeout", flags.timeout_seconds, "Seconds to wait for an answer")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->group(group);
}

void CheckServerFlags(const ServerFlags& flags) {
  if (flags.connect.server.empty()) return;  // a verb that needs none; else the flag is required
  const ConnectOptions connect = flags.Connection();
  const absl::Status checked = CheckConnectOptions(connect);
  if (checked.ok()) return;
  const bool about_files = connect.cert_file.empty() != connect.key_file.empty();
  const std::string flag = connect.insecure ? "--insecure (--server)"
                           : about_files    ? "--cert, --key"
                                            : "--server";
  throw CLI::ValidationError(flag, std::string(checked.message()));
}

void WarnOfOpenFiles(const ServerFlags& flags) {
  const std::pair<const char*, const std::string&> secrets[] = {
      {"--key", flags.connect.key_file}, {"--token-file", flags.connect.token_file}};
  for (const auto& [flag, path] : secrets) {
    if (path.empty() || !IsWorldAccessible(path)) continue;
    Note(absl::StrCat("warning: everybody on this machine may read or change ", path, " (", flag,
                      "): chmod o-rwx it, and have it replaced if others use the machine"));
  }
}

void AddIdFlag(CLI::App& verb, const std::string& flag, std::string& id,
               const std::string& description, bool required) {
  verb.add_option(flag, id, description)->check(CLI::Validator(CheckId, "ID"))->required(required);
}

CLI::Option* AddEpsilonFlag(CLI::App& verb, const std::string& flag, std::string& epsilon,
                            const std::string& description) {
  return verb.add_option(flag, epsilon, description)->check(CLI::Validator(CheckEpsilon, "NUMBER"));
}

Budget EpsilonOf(const std::string& text) { return *Budget::Parse(text); }

}  // namespace coppice::cli
