#include "common/command_line/config_file.h"

#include <istream>
#include <memory>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/nearest_word.h"
#include "common/base/read_file.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// CLI11's reader, which would take a byte order mark for a part of the first name.
class SettingsReader final : public CLI::ConfigBase {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const int first = input.peek();
    if (first == 0xFF || first == 0xFE) {  // its mark, in either order of bytes
      throw CLI::ConfigError("the file is text in UTF-16; save it as UTF-8");
    }
    for (const char byte : kByteOrderMark) {
      if (input.peek() != static_cast<unsigned char>(byte)) break;
      input.get();
    }
    return ConfigBase::from_config(input);
  }
};

std::vector<std::string> SettingNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_configurable() && !option->get_lnames().empty()) {
      names.push_back(option->get_lnames().front());
    }
  }
  return names;
}

}  // namespace

void AddConfigFile(CLI::App& app) {
  app.config_formatter(std::make_shared<SettingsReader>());
  app.set_config("--config", "", "Read settings from this file; flags go before it")
      ->check(CLI::ExistingFile.description(""))
      ->type_name("FILE");
  app.allow_config_extras(false);
}

std::string ConfigErrorText(const CLI::App& app, const CLI::ConfigError& error) {
  // CLI11 has the setting in its message alone.
  const std::string what = error.what();
  std::string_view name = what;
  if (!ConsumePrefix(&name, "INI was not able to parse ")) {
    return StrCat("--config: ", what);
  }
  // A section begins with an item of this name.
  if (ConsumeSuffix(&name, ".++")) {
    return StrCat("--config: settings files have no sections such as [", name,
                  "]: leave that line out");
  }
  const std::string meant = DidYouMean(name, SettingNames(app));
  return StrCat("--config: there is no setting \"", name, "\"",
                meant.empty() ? "; settings are named like the flags" : meant);
}

}  // namespace coppice
