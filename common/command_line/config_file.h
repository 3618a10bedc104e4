// The settings of a daemon in a file: one a line, named like its flag.

#ifndef COPPICE_COMMON_COMMAND_LINE_CONFIG_FILE_H_
#define COPPICE_COMMON_COMMAND_LINE_CONFIG_FILE_H_

#include <string>

namespace CLI {
class App;
class ConfigError;
}  // namespace CLI

namespace coppice {

// Adds --config after all other flags. A setting that no flag is named like is a ConfigError.
void AddConfigFile(CLI::App& app);

// Says what is wrong with the file, and names the nearest setting.
std::string ConfigErrorText(const CLI::App& app, const CLI::ConfigError& error);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_CONFIG_FILE_H_
