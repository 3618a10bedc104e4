// The Store in a database of PostgreSQL (docs/postgresql.md).
//
// Batches go through one session, which holds the database's lock as long as the store is open. If
// the session is lost, the next batch opens another, unless another daemon has taken over the store
// meanwhile. Reading uses its own sessions, and keeps up to four.
//
// Each batch carries a random id. If the server does not answer a commit, Apply() looks the id up
// before it returns. If the server stays away for a minute, Apply() returns an error, and nothing
// can be read until the outcome is known; if the batch turns out to be there, nothing can be read
// or written until the store is opened again.
//
// If the database has another history, and no daemon had a batch to look for, kFailoverKey
// (store_format.h) exists when the store opens.
//
// Guarantee  Store's, except Purge(), which can promise nothing about the write-ahead log, replicas
//            and backups. OK from Apply() also means that the synchronous replicas have the batch,
//            if the server has any. One daemon per database: a daemon that was paused, for however
//            long, writes nothing after another has opened the store.
// Errors     Store's. FailedPrecondition if another daemon uses the store or has taken it over, if
//            the database has lost a batch or is set to lose some, or if a right is lacking.
//            InvalidArgument for keys above 2,600 bytes and values above 10^9.
// Threads    safe to share. Batches are applied one after the other.

#ifndef COPPICE_SERVER_STORE_POSTGRES_POSTGRES_STORE_H_
#define COPPICE_SERVER_STORE_POSTGRES_POSTGRES_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/store/postgres/lease.h"
#include "server/store/store.h"

namespace coppice::storage {

// Longer than a server takes to restart, or a replica to replace it.
inline constexpr absl::Duration kDefaultPatience = absl::Seconds(60);

// Opens the store at `uri` for a single daemon, and makes its tables if needed. Apply() looks for
// the outcome of a batch for up to `patience`. FailedPrecondition if a fleet uses the store.
StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& uri,
                                                   absl::Duration patience = kDefaultPatience);
// Opens it for the curator that leads a fleet; `lease` must outlive the store. Get(), Scan() and
// Apply() return Unavailable while the lease is not proven. A store that cannot continue gives the
// lease up.
StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& uri, const Lease& lease,
                                                   absl::Duration patience = kDefaultPatience);

// Opens it for reading alone: changes nothing, and no daemon may open it meanwhile. NotFound if
// there is no store.
StatusOr<std::unique_ptr<Store>> OpenPostgresStoreForReading(const std::string& uri);

// Returns a check of whether acknowledged batches survive the loss of the database server. OK: a
// synchronous replica is named and connected, as far as the role may see. FailedPrecondition, with
// what to do: none is. Another error: the server did not say. Keeps a session; for one thread.
std::function<Status()> MakeStandbyCheck(const std::string& uri);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_POSTGRES_POSTGRES_STORE_H_
