#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "common/base/nearest_word.h"
#include "common/base/text.h"
#include "common/command_line/complain.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

constexpr char kCompletion[] = "completion";
constexpr char kManual[] = "manual";

CommandReference DescribeAll(const std::string& name, absl::FunctionRef<void(CLI::App&)> describe) {
  CLI::App app("", name);
  describe(app);
  CLI::App* completion = app.add_subcommand(kCompletion, "Shell completion scripts");
  for (const std::string& shell : CompletionShells()) {
    completion->add_subcommand(shell, StrCat("Print the script for ", shell));
  }
  app.add_subcommand(kManual, "Print this program's manual page, for man");
  return DescribeProgram(app);
}

int ComplainOfCommand(const std::string& name, const std::string& word,
                      const CommandReference& program) {
  std::vector<std::string> names;
  for (const CommandReference& command : program.commands) names.push_back(command.name());
  const std::string meant = DidYouMean(word, names);
  return Complain(name,
                  StrCat("unknown command \"", word, "\"",
                         meant.empty() ? StrCat("; there are ", StrJoin(names, ", ")) : meant));
}

}  // namespace

std::optional<int> RunReference(const std::string& name, int argc, const char* const* argv,
                                absl::FunctionRef<void(CLI::App&)> describe) {
  if (argc < 2 || *argv[1] == '-') return std::nullopt;
  const std::string word = argv[1];
  const CommandReference program = DescribeAll(name, describe);
  if (word == kManual && argc == 2) {
    std::cout << ManualPage(program, StrCat(name, " " COPPICE_VERSION)) << std::flush;
    return kExitDone;
  }
  if (word != kCompletion && word != kManual) return ComplainOfCommand(name, word, program);
  const std::vector<std::string> shells = CompletionShells();
  const bool known = argc == 3 && std::find(shells.begin(), shells.end(), argv[2]) != shells.end();
  if (!known || word == kManual) {
    return Complain(name, StrCat("give `", name, " manual` alone, and `", name,
                                 " completion` one of ", StrJoin(shells, ", ")));
  }
  std::cout << CompletionScript(program, argv[2]) << std::flush;
  return kExitDone;
}

}  // namespace coppice
