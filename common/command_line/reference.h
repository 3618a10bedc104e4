// Describes a program's commands and flags, for documentation and completion. It is derived from
// the definitions that parse the line, so the two cannot differ.

#ifndef COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
#define COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coppice {

struct FlagReference {
  std::string name;                  // "--study"
  std::string value;                 // what help calls the value, "FILE"; empty for a switch
  std::vector<std::string> choices;  // the allowed values, if they are limited
  std::string description;
  std::string default_value;  // empty if help shows none
  std::string environment;    // the variable that may give it too; empty if none
  std::string heading;        // empty if help lists it under no heading
  bool required = false;
};

struct CommandReference {
  std::string path;  // "coppice study create"
  std::string description;
  std::string footer;  // examples, shown at the end of help
  std::vector<FlagReference> flags;
  std::vector<CommandReference> commands;

  // "create"
  std::string name() const;
};

// Describes `program` and all its commands.
CommandReference DescribeProgram(const CLI::App& program);

// Returns "--server is required (...)", with the variable that may give it too.
std::string MissingFlagText(const CLI::Option& option);

// After `program` has read its line: says what is wrong with the first word that it does not know,
// and names the nearest known word; empty if all words are known.
std::string UnknownWordText(const CLI::App& program);

// The same for words in the place of a command. Help must not answer those: it would be that of the
// group, as if the command existed.
std::string UnknownCommandText(const CLI::App& program);

// Lists how the line could continue, if it ends before it names a command; empty if it names one.
std::string MissingWordText(const CLI::App& program);

// Returns the program's page for man(1), in roff.
std::string ManualPage(const CommandReference& program, const std::string& version);

// Returns a script that completes the program's line. `shell` is one of CompletionShells().
std::string CompletionScript(const CommandReference& program, const std::string& shell);
std::vector<std::string> CompletionShells();

// For a program that parses its commands' lines itself, called after all its other commands: runs
// `name manual` and `name completion SHELL`, answers any other first word with the nearest command,
// and returns the exit code. nullopt if the line names no command. `describe` adds the program's
// flags and its other commands.
std::optional<int> RunReference(const std::string& name, int argc, const char* const* argv,
                                absl::FunctionRef<void(CLI::App&)> describe);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
