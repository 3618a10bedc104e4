// coppice-relay as a function: selects the command, and decides what its libraries log.

#ifndef COPPICE_SERVER_RELAY_DAEMON_RUN_RELAY_H_
#define COPPICE_SERVER_RELAY_DAEMON_RUN_RELAY_H_

namespace coppice::relay {

// Returns the exit code.
int RunRelay(int argc, const char* const* argv);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_RUN_RELAY_H_
