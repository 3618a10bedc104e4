// The command line as a whole: parses, runs, and says with which code to exit.

#ifndef COPPICE_CLIENT_CLI_APP_H_
#define COPPICE_CLIENT_CLI_APP_H_

namespace coppice::cli {

// 0: done. 1: failed, with a line on stderr that says why. 2: wrong usage, with a line on stderr
// that names the flag and what it wants.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_APP_H_
