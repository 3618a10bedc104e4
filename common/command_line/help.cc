#include "common/command_line/help.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/text.h"

namespace coppice {
namespace {

// "coppice study create". A heading whose flags exclude each other is an app without a name.
std::string PathOf(const CLI::App& app) {
  const std::string before = app.get_parent() == nullptr ? "" : PathOf(*app.get_parent());
  if (before.empty() || app.get_name().empty()) return before + app.get_name();
  return StrCat(before, " ", app.get_name());
}

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(bool all) : all_(all) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    // A group that is left out leaves the empty lines around it.
    return StrReplaceAll(Formatter::make_help(app, std::move(name), mode), {{"\n\n\n", "\n\n"}});
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kResearchHeading && !all_) return "";
    return Formatter::make_group(std::move(group), is_positional, std::move(options));
  }

  // A flag's former names, which stand behind its present one, are accepted but not shown.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional || option->get_lnames().empty()) {
      return Formatter::make_option_name(option, is_positional);
    }
    std::vector<std::string> names;
    for (const std::string& letter : option->get_snames()) names.push_back("-" + letter);
    names.push_back("--" + option->get_lnames().front());
    return StrJoin(names, ",");
  }

  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = Formatter::make_footer(app);
    if (all_ || app->get_options([](const CLI::Option* option) {
                     return option->get_group() == kResearchHeading;
                   })
                    .empty()) {
      return footer;
    }
    return StrCat("`", PathOf(*app), " --help ", kAllFlags,
                  "` also shows the flags for research.\n", footer.empty() ? "" : "\n", footer);
  }

 private:
  const bool all_;
};

void SetFormatter(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& formatter) {
  app.formatter(formatter);
  for (CLI::App* part : app.get_subcommands({})) SetFormatter(*part, formatter);
}

}  // namespace

void SetHelp(CLI::App& program, int argc, const char* const* argv) {
  bool all = false;
  for (int i = 1; i < argc; ++i) all = all || std::strcmp(argv[i], kAllFlags) == 0;
  SetFormatter(program, std::make_shared<HelpFormatter>(all));
}

}  // namespace coppice
