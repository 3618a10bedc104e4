#include "common/command_line/reference.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/complain.h"
#include "server/relay/daemon/commands.h"
#include "server/relay/daemon/flags.h"

namespace coppice::relay {
namespace {

constexpr char kProgram[] = "coppice-relay";

CommandReference DescribeEverything() {
  CLI::App app;
  RelayFlags flags;
  DescribeRelay(app, flags);
  DescribeRelayCommands(app);
  CLI::App* completion =
      app.add_subcommand("completion", "Scripts that complete this program's line");
  for (const std::string& shell : CompletionShells()) {
    completion->add_subcommand(shell, absl::StrCat("Print the script for ", shell));
  }
  app.add_subcommand("manual", "Print this program's manual page, for man");
  return DescribeProgram(app);
}

int UnknownRelayCommand(const std::string& word, const CommandReference& program) {
  std::vector<std::string> names;
  for (const CommandReference& command : program.commands) names.push_back(command.name());
  const std::string near = NearestWord(word, names);
  return Complain(kProgram,
                  absl::StrCat("unknown command \"", word, "\"; ",
                               near.empty() ? absl::StrCat("there are ", absl::StrJoin(names, ", "))
                                            : absl::StrCat("did you mean \"", near, "\"?")));
}

}  // namespace

std::optional<int> RunRelayReference(int argc, const char* const* argv) {
  if (argc < 2 || *argv[1] == '-') return std::nullopt;
  const std::string name = argv[1];
  const CommandReference program = DescribeEverything();
  if (name == "manual" && argc == 2) {
    std::cout << ManualPage(program, "coppice-relay " COPPICE_VERSION) << std::flush;
    return kExitDone;
  }
  if (name != "completion" && name != "manual") return UnknownRelayCommand(name, program);
  const std::vector<std::string> shells = CompletionShells();
  const bool known = argc == 3 && std::find(shells.begin(), shells.end(), argv[2]) != shells.end();
  if (!known || name == "manual") {
    return Complain(kProgram, absl::StrCat("give `coppice-relay manual` alone, and `coppice-relay "
                                           "completion` one of ",
                                           absl::StrJoin(shells, ", ")));
  }
  std::cout << CompletionScript(program, argv[2]) << std::flush;
  return kExitDone;
}

}  // namespace coppice::relay
