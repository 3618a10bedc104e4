// What a program's commands and flags are called and do, for whoever documents or completes them:
// made from the definitions that parse the line, so that it cannot differ from them.

#ifndef COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
#define COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coppice {

struct FlagReference {
  std::string name;                  // "--study"
  std::string value;                 // what help calls the value, "FILE"; empty for a switch
  std::vector<std::string> choices;  // the values, if these are all
  std::string description;
  std::string default_value;  // empty if help shows none
  std::string environment;    // the variable that gives it too; empty if none
  std::string heading;        // empty unless help lists it under one of its own
  bool required = false;
};

struct CommandReference {
  std::string path;  // "coppice study create"
  std::string description;
  std::string footer;  // examples, as help ends with them
  std::vector<FlagReference> flags;
  std::vector<CommandReference> commands;

  // "create"
  std::string name() const;
};

// `program` and all its commands.
CommandReference DescribeProgram(const CLI::App& program);

// "--server is required (...)", with the variable that gives it too.
std::string MissingFlagText(const CLI::Option& option);

// What is wrong with the first word of the line that `program`, having read it, has no use for, and
// the nearest word that it has; empty if all words are known.
std::string UnknownWordText(const CLI::App& program);

// What the line could have gone on with, if it ends before it names a command; empty if it names
// one.
std::string MissingWordText(const CLI::App& program);

// The one of `words` that `word` most likely is a misspelling of; empty if none is near.
std::string NearestWord(absl::string_view word, const std::vector<std::string>& words);

// The program's page for man(1), in roff.
std::string ManualPage(const CommandReference& program, const std::string& version);

// A script that completes the program's line. `shell` is one of CompletionShells().
std::string CompletionScript(const CommandReference& program, const std::string& shell);
std::vector<std::string> CompletionShells();

// For a program that reads its commands' lines itself: runs `name manual` and `name completion
// SHELL`, and answers any other first word with the nearest command that there is; the exit code.
// None if the line names no command. To be asked after all other commands. `describe` adds the
// program's flags and its other commands.
std::optional<int> RunReference(const std::string& name, int argc, const char* const* argv,
                                absl::FunctionRef<void(CLI::App&)> describe);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
