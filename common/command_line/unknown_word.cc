#include <algorithm>
#include <cstddef>

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

// How many insertions, deletions, replacements and swaps of neighbours lead from `a` to `b`.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

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

std::string DidYouMean(const std::string& near) {
  return near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?");
}

// Returns "study create" for "create" if the program has that command.
std::string WithItsNoun(const CommandReference& program, const std::string& word) {
  for (const CommandReference& noun : program.commands) {
    for (const CommandReference& verb : noun.commands) {
      if (verb.name() == word) return absl::StrCat(noun.name(), " ", word);
    }
  }
  return "";
}

std::string UnknownFlag(const CommandReference& command, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  return absl::StrCat("unknown flag \"", flag, "\"",
                      DidYouMean(NearestWord(flag, FlagNames(command))));
}

// Returns what the commands of `command` are called.
std::string KindOf(const CommandReference& command) {
  const bool of_program = !absl::StrContains(command.path, ' ');
  const bool has_verbs = !command.commands.empty() && !command.commands[0].commands.empty();
  return !of_program ? "verb" : has_verbs ? "noun" : "command";
}

std::string UnknownCommand(const CommandReference& command, const std::string& word) {
  const std::vector<std::string> names = CommandNames(command);
  std::string near = NearestWord(word, names);
  if (near.empty()) near = WithItsNoun(command, word);
  const std::string text = absl::StrCat("unknown ", KindOf(command), " \"", word, "\"");
  if (!near.empty()) return text + DidYouMean(near);
  return absl::StrCat(text, "; there are ", absl::StrJoin(names, ", "));
}

std::string StrayValue(const CommandReference& command, const std::string& word) {
  std::string example;
  for (const FlagReference& flag : command.flags) {
    if (example.empty() && flag.required && !flag.value.empty()) {
      example = absl::StrCat(", such as ", flag.name, " ", flag.value);
    }
  }
  return absl::StrCat("\"", word, "\" follows no flag; a value is given with one", example);
}

std::string DescribeWord(const CLI::App& app, const std::string& path, const std::string& word) {
  CommandReference command = DescribeProgram(app);
  command.path = path;
  if (absl::StartsWith(word, "-")) return UnknownFlag(command, word);
  return command.commands.empty() ? StrayValue(command, word) : UnknownCommand(command, word);
}

}  // namespace

std::string NearestWord(absl::string_view word, const std::vector<std::string>& words) {
  const auto bare = [](absl::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  std::string nearest;
  size_t least = std::max<size_t>(1, bare(word).size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = Distance(bare(word), bare(candidate));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty()) return nearest;
  for (const std::string& candidate : words) {
    if (bare(word).size() > 1 && absl::StartsWith(bare(candidate), bare(word))) return candidate;
  }
  return "";
}

std::string MissingWordText(const CLI::App& program) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  for (auto chosen = command->get_subcommands(); !chosen.empty();) {
    command = chosen.front();
    absl::StrAppend(&path, " ", command->get_name());
    chosen = command->get_subcommands();
  }
  CommandReference described = DescribeProgram(*command);
  described.path = path;
  if (described.commands.empty()) return "";
  return absl::StrCat("a ", KindOf(described),
                      " is required: ", absl::StrJoin(CommandNames(described), ", "));
}

std::string UnknownWordText(const CLI::App& program) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  while (true) {
    for (const std::string& word : command->remaining()) {
      if (word != "--") return DescribeWord(*command, path, word);
    }
    const std::vector<CLI::App*> chosen = command->get_subcommands();
    if (chosen.empty()) return "";
    command = chosen.front();
    absl::StrAppend(&path, " ", command->get_name());
  }
}

}  // namespace coppice
