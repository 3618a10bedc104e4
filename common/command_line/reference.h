// What a program's commands and flags are called and do, for whoever documents or completes them:
// made from the definitions that parse the line, so that it cannot differ from them.

#ifndef COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
#define COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_

#include <string>
#include <vector>

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

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_REFERENCE_H_
