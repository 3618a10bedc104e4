#include "common/command_line/complain.h"

#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "common/base/text.h"
#include "common/command_line/command_line.h"
#include "common/command_line/config_file.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

// An unknown word comes first.
std::string LineProblem(const CLI::App& app, const CLI::Error& error) {
  const std::string unknown = UnknownWordText(app);
  return unknown.empty() ? error.what() : unknown;
}

}  // namespace

int Complain(const std::string& program, std::string_view problem) {
  const bool ended = EndsWith(problem, "?") || EndsWith(problem, ".");
  std::cerr << ErrorPrefix(program) << problem << (ended ? "" : ".") << " See `" << program
            << " --help`.\n";
  return kExitUsage;
}

int Fail(const std::string& program, const Status& status) {
  std::cerr << ErrorPrefix(program) << status.message() << "\n";
  return kExitFailed;
}

std::optional<int> ReadLine(CLI::App& app, const std::string& program, int argc,
                            const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ConfigError& error) {
    return Complain(program, ConfigErrorText(app, error));
  } catch (const CLI::Error& error) {
    return Complain(program, LineProblem(app, error));
  }
  return std::nullopt;
}

Status ReadLineAgain(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ConfigError& error) {
    return InvalidArgumentError(ConfigErrorText(app, error));
  } catch (const CLI::Error& error) {
    return InvalidArgumentError(LineProblem(app, error));
  }
  return OkStatus();
}

}  // namespace coppice
