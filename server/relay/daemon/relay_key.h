// The relay's Ed25519 key, which devices pin, in its data directory. Secret.

#ifndef COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_
#define COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/study/signature.h"

namespace coppice::relay {

// The folder exists, and is a folder that nobody but its owner may enter. FailedPrecondition that
// says what to do.
absl::Status CheckDataDir(const std::string& data_dir);

// Makes a key, and the folder if it is not there. AlreadyExists if the folder has one: devices that
// pinned it would refuse another.
absl::StatusOr<SigningKey> MakeRelayKey(const std::string& data_dir);

// FailedPrecondition: there is none, or everybody on this machine may read it. InvalidArgument: the
// file holds no such key.
absl::StatusOr<SigningKey> LoadRelayKey(const std::string& data_dir);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_RELAY_KEY_H_
