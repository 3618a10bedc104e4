#include <CLI/CLI.hpp>

#include "common/base/nearest_word.h"
#include "common/base/text.h"
#include "common/command_line/help.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

std::vector<std::string> FlagNames(const CommandReference& command) {
  std::vector<std::string> names;
  for (const FlagReference& flag : command.flags) names.push_back(flag.name);
  return names;
}

std::vector<std::string> CommandNames(const CommandReference& command) {
  std::vector<std::string> names;
  for (const CommandReference& part : command.commands) names.push_back(part.name());
  return names;
}

// Returns "study create" for "create" if the program has that command.
std::string WithItsNoun(const CommandReference& program, const std::string& word) {
  for (const CommandReference& noun : program.commands) {
    for (const CommandReference& verb : noun.commands) {
      if (verb.name() == word) return StrCat(noun.name(), " ", word);
    }
  }
  return "";
}

std::string UnknownFlag(const CommandReference& command, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  return StrCat("unknown flag \"", flag, "\"", DidYouMean(flag, FlagNames(command)));
}

// Returns what the commands of `command` are called.
std::string KindOf(const CommandReference& command) {
  const bool of_program = !StrContains(command.path, ' ');
  const bool has_verbs = !command.commands.empty() && !command.commands[0].commands.empty();
  return !of_program ? "verb" : has_verbs ? "noun" : "command";
}

std::string UnknownCommand(const CommandReference& command, const std::string& word) {
  const std::vector<std::string> names = CommandNames(command);
  std::string meant = DidYouMean(word, names);
  const std::string whole = WithItsNoun(command, word);
  if (meant.empty() && !whole.empty()) meant = StrCat("; did you mean \"", whole, "\"?");
  if (meant.empty()) meant = StrCat("; there are ", StrJoin(names, ", "));
  return StrCat("unknown ", KindOf(command), " \"", word, "\"", meant);
}

std::string StrayValue(const CommandReference& command, const std::string& word) {
  std::string example;
  for (const FlagReference& flag : command.flags) {
    if (example.empty() && flag.required && !flag.value.empty()) {
      example = StrCat(", such as ", flag.name, " ", flag.value);
    }
  }
  return StrCat("\"", word, "\" does not follow a flag; give a value after its flag", example);
}

std::string DescribeWord(const CLI::App& app, const std::string& path, const std::string& word) {
  CommandReference command = DescribeProgram(app);
  command.path = path;
  if (StartsWith(word, "-")) return UnknownFlag(command, word);
  return command.commands.empty() ? StrayValue(command, word) : UnknownCommand(command, word);
}

}  // namespace

std::string MissingWordText(const CLI::App& program) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  for (auto chosen = command->get_subcommands(); !chosen.empty();) {
    command = chosen.front();
    StrAppend(&path, " ", command->get_name());
    chosen = command->get_subcommands();
  }
  CommandReference described = DescribeProgram(*command);
  described.path = path;
  if (described.commands.empty()) return "";
  return StrCat("a ", KindOf(described), " is required: ", StrJoin(CommandNames(described), ", "));
}

namespace {

bool HasCommands(const CLI::App& app) {
  return !app.get_subcommands([](const CLI::App* part) { return !part->get_name().empty(); })
              .empty();
}

// Describes the first unknown word, of groups alone or of the command they lead to as well.
std::string FirstUnknownWord(const CLI::App& program, bool of_groups_alone) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  while (!of_groups_alone || HasCommands(*command)) {
    for (const std::string& word : command->remaining()) {
      const bool is_of_help = of_groups_alone && word == kAllFlags;
      if (word != "--" && !is_of_help) return DescribeWord(*command, path, word);
    }
    const std::vector<CLI::App*> chosen = command->get_subcommands();
    if (chosen.empty()) return "";
    command = chosen.front();
    StrAppend(&path, " ", command->get_name());
  }
  return "";
}

}  // namespace

std::string UnknownWordText(const CLI::App& program) {
  return FirstUnknownWord(program, /*of_groups_alone=*/false);
}

std::string UnknownCommandText(const CLI::App& program) {
  return FirstUnknownWord(program, /*of_groups_alone=*/true);
}

}  // namespace coppice
