// What --help shows: each flag by its present name alone, and flags for research on request.

#ifndef COPPICE_COMMON_COMMAND_LINE_HELP_H_
#define COPPICE_COMMON_COMMAND_LINE_HELP_H_

namespace CLI {
class App;
}

namespace coppice {

// The heading of flags that `--help` leaves out and `--help --all` shows.
inline constexpr char kResearchHeading[] = "For research";

// Not a flag of any command: it only tells --help to leave nothing out.
inline constexpr char kAllFlags[] = "--all";

// Sets how `program` and all its commands print their help. Called after the last flag was added;
// the line tells whether everything is to be shown.
void SetHelp(CLI::App& program, int argc, const char* const* argv);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_HELP_H_
