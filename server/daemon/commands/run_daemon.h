// coppiced as a function: selects the command and the logging of its libraries.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_RUN_DAEMON_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_RUN_DAEMON_H_

namespace coppice::daemon {

// Returns the exit code.
int RunDaemon(int argc, const char* const* argv);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_RUN_DAEMON_H_
