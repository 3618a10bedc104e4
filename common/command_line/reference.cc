#include "common/command_line/reference.h"

#include <CLI/CLI.hpp>

#include "common/base/text.h"

namespace coppice {
namespace {

// CLI11 lists flags without a heading under this one.
constexpr char kNoHeading[] = "Options";

// A type in braces, "{one,two}", lists all allowed values.
FlagReference DescribeFlag(const CLI::Option& option) {
  FlagReference flag;
  flag.name = option.get_name();
  flag.description = option.get_description();
  flag.environment = option.get_envname();
  flag.required = option.get_required();
  if (option.get_group() != kNoHeading) flag.heading = option.get_group();
  flag.default_value = option.get_default_str();
  const std::string type = option.get_type_name();  // a switch has none
  flag.value = type;
  if (type.empty() || type.front() != '{') return flag;
  flag.value = "NAME";
  flag.choices = std::vector<std::string>(StrSplit(type.substr(1, type.size() - 2), ','));
  return flag;
}

void AddFlagsOf(const CLI::App& app, std::vector<FlagReference>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) flags.push_back(DescribeFlag(*option));
  }
}

CommandReference Describe(const CLI::App& app, const std::string& before) {
  CommandReference command;
  command.path = before.empty() ? app.get_name() : StrCat(before, " ", app.get_name());
  command.description = app.get_description();
  // CLI11 hands a command the footer that its program had when the command was added.
  const CLI::App* program = app.get_parent();
  const bool inherited = program != nullptr && program->get_footer() == app.get_footer();
  if (!inherited) command.footer = app.get_footer();
  AddFlagsOf(app, command.flags);
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    // A heading whose flags exclude each other is an app without a name.
    if (part->get_name().empty()) {
      AddFlagsOf(*part, command.flags);
    } else {
      command.commands.push_back(Describe(*part, command.path));
    }
  }
  return command;
}

}  // namespace

std::string CommandReference::name() const { return path.substr(path.rfind(' ') + 1); }

CommandReference DescribeProgram(const CLI::App& program) { return Describe(program, ""); }

std::string MissingFlagText(const CLI::Option& option) {
  const std::string description(StripSuffix(option.get_description(), "."));
  const std::string variable = option.get_envname();
  return StrCat(option.get_name(), " is required",
                description.empty() ? "" : StrCat(" (", description, ")"),
                variable.empty() ? "" : StrCat("; ", variable, " can set it too"));
}

}  // namespace coppice
