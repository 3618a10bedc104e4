// The flags that verbs share, and what a verb becomes once the command line is understood.
//
// Wrong usage is found while the line is parsed: CLI11 throws, main() prints the line that names
// the flag and exits with 2. What fails later is a status, and exits with 1.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "client/collector/collector.h"
#include "common/privacy/budget.h"

namespace coppice::cli {

using Action = std::function<absl::Status()>;

struct OutputFlags {
  bool json = false;
};

struct ServerFlags {
  ConnectOptions connect;
  double timeout_seconds = 60;

  // What to connect with. COPPICE_CA is a default for TLS, so --insecure leaves it aside.
  ConnectOptions Connection() const;

  // A command that a person waits for: one try.
  RetryOptions Once() const;
  // Delivery: again and again until the time is up.
  RetryOptions Patient() const;
};

// "coppice NOUN VERB" with a worked example at the end of its help.
CLI::App* AddVerb(CLI::App& noun, const std::string& name, const std::string& description,
                  const std::string& example);

void AddOutputFlags(CLI::App& verb, OutputFlags& flags);
// --server, --ca, --cert, --key, --token-file, --insecure, --timeout.
void AddServerFlags(CLI::App& verb, ServerFlags& flags);
// Throws CLI::ValidationError, naming the flag, unless the connection flags make sense together.
void CheckServerFlags(const ServerFlags& flags);
// A warning on stderr for each secret of `flags` in a file that is open to others, with what to do.
void WarnOfOpenFiles(const ServerFlags& flags);

// --study, --model, --dataset or --job.
void AddIdFlag(CLI::App& verb, const std::string& flag, std::string& id,
               const std::string& description, bool required = true);

// An epsilon, as a decimal number.
CLI::Option* AddEpsilonFlag(CLI::App& verb, const std::string& flag, std::string& epsilon,
                            const std::string& description);
// Of text that passed the flag's check.
Budget EpsilonOf(const std::string& text);

// A flag that takes one of a few names.
template <typename Value, typename Target>
CLI::Option* AddChoice(CLI::App& verb, const std::string& flag, Target& value,
                       const std::map<std::string, Value>& choices,
                       const std::string& description) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) names.push_back(name);
  return verb
      .add_option_function<std::string>(
          flag, [&value, choices](const std::string& name) { value = choices.at(name); },
          description)
      ->type_name("NAME")
      ->check(CLI::IsMember(names));
}

// Makes `verb` run `run` on `flags`, once its flags are checked.
template <typename Flags>
void OnParsed(CLI::App& verb, Action& action, std::shared_ptr<Flags> flags,
              absl::Status (*run)(const Flags&)) {
  verb.callback([&action, flags, run] {
    if constexpr (requires { flags->server; }) CheckServerFlags(flags->server);
    action = [flags, run] {
      if constexpr (requires { flags->server; }) WarnOfOpenFiles(flags->server);
      return run(*flags);
    };
  });
}

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_FLAGS_H_
