#include <map>
#include <string_view>

#include "common/base/text.h"
#include "common/command_line/help.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

// Escapes text for roff: hyphens stay copyable, and no line starts with a macro.
std::string Escape(std::string_view text) {
  std::string escaped = StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\"", "\\(dq"}});
  if (StartsWith(escaped, ".") || StartsWith(escaped, "'")) escaped.insert(0, "\\&");
  return escaped;
}

// Formats lines to print unchanged, such as examples.
std::string Verbatim(std::string_view text) {
  std::string lines;
  for (const std::string_view line : StrSplit(text, '\n')) {
    StrAppend(&lines, line.empty() ? "\\&" : Escape(line), "\n");
  }
  return StrCat(".PP\n.nf\n", lines, ".fi\n");
}

std::string Sentence(std::string_view text) {
  if (text.empty()) return "";
  return StrCat(Escape(text), EndsWith(text, ".") ? "\n" : ".\n");
}

std::string FlagText(const FlagReference& flag) {
  std::string text = StrCat(".TP\n\\fB", Escape(flag.name), "\\fR");
  if (!flag.value.empty()) StrAppend(&text, " \\fI", Escape(flag.value), "\\fR");
  StrAppend(&text, "\n", Sentence(flag.description));
  if (!flag.choices.empty()) {
    StrAppend(&text, "One of ", Escape(StrJoin(flag.choices, ", ")), ".\n");
  }
  if (!flag.default_value.empty()) {
    StrAppend(&text, "Default: ", Escape(flag.default_value), ".\n");
  }
  if (!flag.environment.empty()) StrAppend(&text, "Or ", flag.environment, ".\n");
  if (flag.required) StrAppend(&text, "Required.\n");
  return text;
}

using FlagsByHeading = std::map<std::string, std::vector<FlagReference>>;

// Adds a flag to its heading's list once: a flag under a heading is the same in every command.
void Remember(const FlagReference& flag, FlagsByHeading& shared) {
  std::vector<FlagReference>& flags = shared[flag.heading];
  for (const FlagReference& known : flags) {
    if (known.name == flag.name) return;
  }
  flags.push_back(flag);
  flags.back().required = false;
}

// Describes the command's own flags, and lists the headings of those that it shares with others.
std::string FlagsText(const CommandReference& command, FlagsByHeading& shared) {
  std::string text, research;
  std::vector<std::string> headings;
  for (const FlagReference& flag : command.flags) {
    if (StartsWith(flag.name, "--help")) continue;
    if (flag.heading.empty() || flag.heading == kResearchHeading) {
      StrAppend(flag.heading.empty() ? &text : &research, FlagText(flag));
      continue;
    }
    if (headings.empty() || headings.back() != flag.heading) headings.push_back(flag.heading);
    Remember(flag, shared);
  }
  if (!research.empty()) StrAppend(&text, ".PP\n", kResearchHeading, ":\n", research);
  for (const std::string& heading : headings) {
    StrAppend(&text, ".PP\nAlso the flags under ", AsciiStrToUpper(heading), ".\n");
  }
  return text;
}

void AddCommandText(const CommandReference& command, FlagsByHeading& shared, std::string& text) {
  for (const CommandReference& part : command.commands) {
    if (part.commands.empty()) {
      StrAppend(&text, ".SS ", Escape(part.path), "\n", Sentence(part.description),
                FlagsText(part, shared));
      if (!part.footer.empty()) StrAppend(&text, Verbatim(part.footer));
    } else {
      StrAppend(&text, ".SS ", Escape(part.path), "\n", Sentence(part.description));
    }
    AddCommandText(part, shared, text);
  }
}

std::string Synopsis(const CommandReference& program) {
  std::string text;
  for (const CommandReference& command : program.commands) {
    const std::string verb = command.commands.empty() ? "" : " \\fIVERB\\fR";
    StrAppend(&text, ".PP\n\\fB", Escape(command.path), "\\fR", verb, " [\\fIFLAGS\\fR]\n");
  }
  return StrReplaceAll(text, {{".PP\n", text.empty() ? "" : ".br\n"}});
}

}  // namespace

std::string ManualPage(const CommandReference& program, const std::string& version) {
  const std::string summary(StripSuffix(program.description, "."));
  FlagsByHeading shared;
  std::string flags = FlagsText(program, shared);
  std::string commands;
  AddCommandText(program, shared, commands);
  std::string page =
      StrCat(".\\\" Made from the program's own commands: ", program.path, " manual\n.TH ",
             Escape(AsciiStrToUpper(program.path)), " 1 \"\" \"", Escape(version), "\"\n.SH NAME\n",
             Escape(program.path), " \\- ", Escape(summary), "\n.SH SYNOPSIS\n\\fB",
             Escape(program.path), "\\fR [\\fIFLAGS\\fR]\n", Synopsis(program), ".SH DESCRIPTION\n",
             Sentence(program.description));
  if (!program.footer.empty()) StrAppend(&page, Verbatim(program.footer));
  StrAppend(&page, ".SH OPTIONS\n", flags, ".SH COMMANDS\n", commands);
  for (const auto& [heading, of_heading] : shared) {
    StrAppend(&page, ".SH ", Escape(AsciiStrToUpper(heading)), "\n");
    for (const FlagReference& flag : of_heading) StrAppend(&page, FlagText(flag));
  }
  StrAppend(&page,
            ".SH \"EXIT STATUS\"\n0: done. 1: failed; a line on stderr says why. 2: wrong "
            "usage; a line on stderr names the flag and what it needs.\n");
  return page;
}

}  // namespace coppice
