// The relay's secret Ed25519 key, which devices pin, in its data directory.

#ifndef COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_
#define COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_

#include <string>

#include "common/base/status.h"
#include "common/terms/signature.h"

namespace coppice::relay {

// Checks that the folder exists and that others on this machine may not enter it.
// FailedPrecondition says what to do.
Status CheckDataDir(const std::string& data_dir);

// Makes a key, and the folder if needed. AlreadyExists if the folder has a key: devices that pinned
// that one would refuse another.
StatusOr<SigningKey> MakeRelayKey(const std::string& data_dir);

// FailedPrecondition: there is no key, or everybody on this machine may read it. InvalidArgument:
// the file contains no such key.
StatusOr<SigningKey> LoadRelayKey(const std::string& data_dir);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_
