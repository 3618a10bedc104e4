// The HTTP listener that the flags ask for, its console and its documentation.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/process/log.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/transport/server.h"

namespace coppice::daemon {

// Null if there is none. InvalidArgument or NotFound that names the file which cannot be served.
absl::StatusOr<std::shared_ptr<const http::Console>> LoadConsole(const DaemonFlags& flags);

// The same of --site.
absl::StatusOr<std::shared_ptr<const http::Site>> LoadSite(const DaemonFlags& flags);

HttpOptions HttpOptionsOf(const DaemonFlags& flags, std::shared_ptr<const http::Console> console,
                          std::shared_ptr<const http::Site> site);

// Logs where it is served, with which console and documentation; nothing for port 0, which is none.
void TellHttp(const DaemonFlags& flags, int port, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
