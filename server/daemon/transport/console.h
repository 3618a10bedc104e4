// The HTTP listener that the flags ask for, and its console.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/process/log.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/transport/server.h"

namespace coppice::daemon {

// The folder of --console or, without that flag, the installed one; empty if there is none, or is
// to be none.
std::string ConsoleFolder(const DaemonFlags& flags);

// Null if there is none. InvalidArgument or NotFound that names the file which cannot be served.
absl::StatusOr<std::shared_ptr<const http::Console>> LoadConsole(const DaemonFlags& flags);

HttpOptions HttpOptionsOf(const DaemonFlags& flags, std::shared_ptr<const http::Console> console);

// Logs where it is served, and which console; nothing for port 0, which is none.
void TellHttp(const DaemonFlags& flags, int port, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
