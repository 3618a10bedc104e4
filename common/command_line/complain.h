// Reading a line, exit codes and usage errors, for programs that use CLI11 without command_line.h.

#ifndef COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_
#define COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace coppice {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Prints what is wrong with a line, and where its help is. Returns kExitUsage. `program` is what
// was called: "coppiced token".
int Complain(const std::string& program, std::string_view problem);

// Prints why a command failed. Returns kExitFailed.
int Fail(const std::string& program, const Status& status);

// Reads a line into the flags of `app`. Returns the exit code once it has printed help, or what is
// wrong with the line or its configuration file; nullopt if the program is to go on.
std::optional<int> ReadLine(CLI::App& app, const std::string& program, int argc,
                            const char* const* argv);
// The same without printing, for a line that was read before: InvalidArgument if its configuration
// file has become wrong.
Status ReadLineAgain(CLI::App& app, int argc, const char* const* argv);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_
