#include <string_view>

#include "common/base/text.h"
#include "common/command_line/reference.h"

// Each script identifies a command by the words before the first flag, " study create". For each
// command it has the words that may follow, and for each flag its possible values.

namespace coppice {
namespace {

struct Words {
  std::vector<std::string> commands, flags;
};

bool IsFile(const FlagReference& flag) {
  return flag.value == "FILE" || flag.value == "DIR" || flag.value == "TEXT";
}

// Returns the words after the program's name, each preceded by a space.
std::string PathAfterProgram(const CommandReference& command) {
  const size_t space = command.path.find(' ');
  return space == std::string::npos ? "" : command.path.substr(space);
}

std::vector<const CommandReference*> AllCommands(const CommandReference& command) {
  std::vector<const CommandReference*> all = {&command};
  for (const CommandReference& part : command.commands) {
    for (const CommandReference* below : AllCommands(part)) all.push_back(below);
  }
  return all;
}

// Returns a name that shells accept for a function: "coppice-lab" becomes "coppice_lab".
std::string FunctionName(const CommandReference& program) {
  return StrReplaceAll(program.path, {{"-", "_"}});
}

std::string Header(const CommandReference& program, const std::string& shell) {
  return StrCat("# Completes ", program.path, "; made from its own commands: ", program.path,
                " completion ", shell, "\n");
}

Words WordsOf(const CommandReference& command) {
  Words words;
  for (const CommandReference& part : command.commands) words.commands.push_back(part.name());
  for (const FlagReference& flag : command.flags) words.flags.push_back(flag.name);
  return words;
}

// ---- bash

// What a flag's value may be: names, files (which bash completes by default) or nothing.
std::string BashValues(const CommandReference& command) {
  std::vector<std::string> files, others;
  std::string cases;
  for (const FlagReference& flag : command.flags) {
    if (flag.value.empty()) continue;
    if (!flag.choices.empty()) {
      StrAppend(&cases, "        ", flag.name, ") values=\"", StrJoin(flag.choices, " "),
                "\" ;;\n");
    } else {
      (IsFile(flag) ? files : others).push_back(flag.name);
    }
  }
  if (!files.empty()) {
    StrAppend(&cases, "        ", StrJoin(files, "|"), ") return ;;\n");
  }
  if (!others.empty()) {
    StrAppend(&cases, "        ", StrJoin(others, "|"),
              ") compopt +o default 2>/dev/null; return ;;\n");
  }
  if (cases.empty()) return "";
  return StrCat("      case \"$before\" in\n", cases, "      esac\n");
}

std::string BashScript(const CommandReference& program) {
  std::string script = StrCat(Header(program, "bash"), "_", FunctionName(program), R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command="" words="" values="" i
  [[ $current == "=" ]] && current=""
  [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD-2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] && break
    command+=" ${COMP_WORDS[i]}"
  done
  COMPREPLY=()
  case "$command" in
)");
  for (const CommandReference* command : AllCommands(program)) {
    const Words words = WordsOf(*command);
    StrAppend(&script, "    \"", PathAfterProgram(*command), "\")\n", BashValues(*command),
              "      words=\"", StrJoin(words.commands, " "), words.commands.empty() ? "" : " ",
              StrJoin(words.flags, " "), "\" ;;\n");
  }
  StrAppend(&script, R"(  esac
  COMPREPLY=($(compgen -W "${values:-$words}" -- "$current"))
}
complete -o default -F _)",
            FunctionName(program), " ", program.path, "\n");
  return script;
}

// ---- zsh

std::string QuotedForShell(std::string_view text) {
  return StrCat("'", StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Returns "name:what it does", as _describe expects it.
std::string ZshWord(const std::string& name, const std::string& description) {
  return StrCat(" ", QuotedForShell(StrCat(name, ":", description)));
}

std::string ZshValues(const CommandReference& command) {
  std::string cases;
  for (const FlagReference& flag : command.flags) {
    if (flag.value.empty()) continue;
    const std::string complete = !flag.choices.empty()
                                     ? StrCat("compadd -- ", StrJoin(flag.choices, " "))
                                 : IsFile(flag) ? "_files"
                                                : StrCat("_message ", flag.value);
    StrAppend(&cases, "        ", flag.name, ") ", complete, "; return ;;\n");
  }
  if (cases.empty()) return "";
  return StrCat("      case $words[CURRENT-1] in\n", cases, "      esac\n");
}

std::string ZshScript(const CommandReference& program) {
  const std::string name = FunctionName(program);
  std::string script =
      StrCat("#compdef ", program.path, "\n", Header(program, "zsh"), "_", name, R"(() {
  local command="" i
  local -a commands flags
  for ((i = 2; i < CURRENT; i++)); do
    [[ $words[i] == -* ]] && break
    command+=" $words[i]"
  done
  case $command in
)");
  for (const CommandReference* command : AllCommands(program)) {
    StrAppend(&script, "    '", PathAfterProgram(*command), "')\n", ZshValues(*command),
              "      commands=(");
    for (const CommandReference& part : command->commands) {
      StrAppend(&script, ZshWord(part.name(), part.description));
    }
    StrAppend(&script, ")\n      flags=(");
    for (const FlagReference& flag : command->flags) {
      StrAppend(&script, ZshWord(flag.name, flag.description));
    }
    StrAppend(&script, ") ;;\n");
  }
  // As a file on $fpath the script is the function itself; sourced, it only registers the function.
  StrAppend(&script, R"(  esac
  (($#commands)) && _describe command commands
  _describe -o flag flags
}
if [[ $funcstack[1] == _)",
            name, " ]]; then _", name, " \"$@\"; else compdef _", name, " ", program.path,
            "; fi\n");
  return script;
}

// ---- fish

std::string QuotedForFish(std::string_view text) {
  return StrCat("'", StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishValue(const FlagReference& flag) {
  if (flag.value.empty()) return "";
  if (IsFile(flag)) return " -r -F";
  if (flag.choices.empty()) return " -x";
  return StrCat(" -x -a ", QuotedForFish(StrJoin(flag.choices, " ")));
}

std::string FishScript(const CommandReference& program) {
  const std::string at = StrCat("__", FunctionName(program), "_at");
  std::string script = StrCat(Header(program, "fish"), "function ", at, R"(
    set -l words (commandline -opc)
    set -e words[1]
    set -l command
    for word in $words
        string match -q -- '-*' $word; and break
        set -a command $word
    end
    test "$command" = "$argv"
end
complete -c )",
                              program.path, " -f\n");
  for (const CommandReference* command : AllCommands(program)) {
    const std::string begin =
        StrCat("complete -c ", program.path, " -n '", at, PathAfterProgram(*command), "'");
    for (const CommandReference& part : command->commands) {
      StrAppend(&script, begin, " -a ", part.name(), " -d ", QuotedForFish(part.description), "\n");
    }
    for (const FlagReference& flag : command->flags) {
      StrAppend(&script, begin, " -l ", flag.name.substr(2), FishValue(flag), " -d ",
                QuotedForFish(flag.description), "\n");
    }
  }
  return script;
}

}  // namespace

std::vector<std::string> CompletionShells() { return {"bash", "zsh", "fish"}; }

std::string CompletionScript(const CommandReference& program, const std::string& shell) {
  if (shell == "zsh") return ZshScript(program);
  return shell == "fish" ? FishScript(program) : BashScript(program);
}

}  // namespace coppice
