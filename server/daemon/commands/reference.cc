#include "common/command_line/reference.h"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/config/flags.h"

namespace coppice::daemon {
namespace {

CommandReference DescribeAll() {
  CLI::App app;
  DaemonFlags flags;
  DescribeDaemon(app, flags);
  DescribeToken(app);
  DescribeKeyFile(app);
  DescribeOffline(app);
  CLI::App* completion =
      app.add_subcommand("completion", "Scripts that complete this program's line");
  for (const std::string& shell : CompletionShells()) {
    completion->add_subcommand(shell, absl::StrCat("Print the script for ", shell));
  }
  app.add_subcommand("manual", "Print this program's manual page, for man");
  return DescribeProgram(app);
}

std::vector<std::string> NamesOf(const std::vector<CommandReference>& commands) {
  std::vector<std::string> names;
  for (const CommandReference& command : commands) names.push_back(command.name());
  return names;
}

int UnknownCommand(const std::string& word, const CommandReference& program) {
  const std::vector<std::string> names = NamesOf(program.commands);
  const std::string near = NearestWord(word, names);
  return Complain("coppiced",
                  absl::StrCat("unknown command \"", word, "\"; ",
                               near.empty() ? absl::StrCat("there are ", absl::StrJoin(names, ", "))
                                            : absl::StrCat("did you mean \"", near, "\"?")));
}

}  // namespace

std::optional<int> RunReference(int argc, const char* const* argv) {
  if (argc < 2 || *argv[1] == '-') return std::nullopt;
  const std::string name = argv[1];
  const CommandReference program = DescribeAll();
  if (name == "manual" && argc == 2) {
    std::cout << ManualPage(program, "coppiced " COPPICE_VERSION) << std::flush;
    return kExitDone;
  }
  if (name != "completion" && name != "manual") return UnknownCommand(name, program);
  const std::vector<std::string> shells = CompletionShells();
  const bool known = argc == 3 && std::find(shells.begin(), shells.end(), argv[2]) != shells.end();
  if (!known || name == "manual") {
    return Complain("coppiced", absl::StrCat("give `coppiced manual` alone, and `coppiced "
                                             "completion` one of ",
                                             absl::StrJoin(shells, ", ")));
  }
  std::cout << CompletionScript(program, argv[2]) << std::flush;
  return kExitDone;
}

}  // namespace coppice::daemon
