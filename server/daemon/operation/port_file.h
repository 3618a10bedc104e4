// --port-file: tells whoever started the daemon where it listens.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_PORT_FILE_H_
#define COPPICE_SERVER_DAEMON_OPERATION_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace coppice::daemon {

// Puts a file with the port in the place of `path`, whole, readable by everybody: a port is no
// secret. Never follows a link, at `path` or elsewhere, so the folder may be one that others write
// to. FailedPrecondition that names the flag.
absl::Status WritePortFile(const std::string& path, int port);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_PORT_FILE_H_
