// Opens coppiced's store: finds it, reads the key file, and logs both.

#ifndef COPPICE_SERVER_DAEMON_COMMANDS_OPEN_STORE_H_
#define COPPICE_SERVER_DAEMON_COMMANDS_OPEN_STORE_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/daemon/config/options.h"
#include "server/process/log.h"
#include "server/store/postgres/lease.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::daemon {

// The keys of --key-file; none without it. Errors name the flag.
StatusOr<std::optional<vault::KeyFile>> LoadKeyFile(const std::string& path);

// FailedPrecondition, naming the flag, if the store's data directory can neither be used nor made.
// Changes nothing, and calls no database.
Status CheckLocation(const StoreOptions& options);

// InvalidArgument if the file `path` of `flag` is inside the data directory or the folder of
// backups: it would be lost, copied and restored together with the data that it protects.
Status CheckOutsideStore(std::string_view flag, const std::string& path,
                         const StoreOptions& options);

// Opens the daemon's store, sealed if there is a key file, and logs which it is. In a fleet `lease`
// is that of the leading curator and must outlive the store.
StatusOr<vault::KeyedStore> OpenStore(const StoreOptions& options, const Log& log,
                                      const storage::Lease* lease = nullptr);

// Reads the key file again and wraps the store's keys under its first key.
Status ReloadKeyFile(const std::string& key_file, vault::SealedStore& store, const Log& log);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_COMMANDS_OPEN_STORE_H_
