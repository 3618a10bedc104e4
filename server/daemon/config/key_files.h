// Files of private keys that everybody on the machine may read or change are warned of; the daemon
// starts all the same, since some file systems show such modes whatever they allow.

#ifndef COPPICE_SERVER_DAEMON_CONFIG_KEY_FILES_H_
#define COPPICE_SERVER_DAEMON_CONFIG_KEY_FILES_H_

#include "server/daemon/config/flags.h"
#include "server/daemon/config/log.h"

namespace coppice::daemon {

// A warning for each key file of `flags` that is open to others, with what to do.
void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_CONFIG_KEY_FILES_H_
