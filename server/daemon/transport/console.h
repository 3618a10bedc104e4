// The HTTP listener of the flags, with its console and documentation.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/daemon/config/options.h"
#include "server/daemon/transport/server.h"
#include "server/process/log.h"

namespace coppice::daemon {

// Null if none is served. InvalidArgument or NotFound, naming a file that cannot be served.
StatusOr<std::shared_ptr<const http::Console>> LoadConsole(const WebOptions& web);

// The same for --site.
StatusOr<std::shared_ptr<const http::Site>> LoadSite(const WebOptions& web);

HttpOptions HttpOptionsOf(const WebOptions& web, std::shared_ptr<const http::Console> console,
                          std::shared_ptr<const http::Site> site);

// Logs where HTTP, its console and its documentation are served; does nothing for port 0 (none).
void TellHttp(const WebOptions& web, int port, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_CONSOLE_H_
