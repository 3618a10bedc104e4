// The Store in a database of PostgreSQL (docs/postgresql.md).
//
// Batches go through one session, which holds the database's lock for as long as the store is open.
// If the session is lost, the next batch begins another, unless another daemon has taken the store
// over meanwhile. Reading takes sessions of its own, and keeps up to four.
//
// Each batch carries a random id. If the server's answer to a commit does not come, the id is
// looked up before Apply() returns. If the server stays away for a minute, Apply() returns an error
// and nothing can be read until the outcome is known; if the batch turns out to be there, nothing
// can be read or written until the store is opened again.
//
// Where the database has another history, and no daemon had a batch to look for, kFailoverKey
// (store_format.h) is there when the store opens.
//
// Guarantee  Store's, but for Purge(), which can promise nothing of the write-ahead log, of
//            replicas and of backups. OK from Apply() means also that the synchronous replicas have
//            the batch, if the server has any. One daemon a database: a daemon that was paused,
//            for however long, writes nothing after another has opened the store.
// Errors     Store's. FailedPrecondition if another daemon uses the store or has taken it over, if
//            the database has lost a batch, is set to lose some, or a right is lacking.
//            InvalidArgument for keys of more than 2,600 bytes and values of more than 10^9.
// Threads    safe to share. Batches are applied one after the other.

#ifndef COPPICE_SERVER_STORAGE_POSTGRES_POSTGRES_STORE_H_
#define COPPICE_SERVER_STORAGE_POSTGRES_POSTGRES_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/storage/postgres/lease.h"
#include "server/storage/store.h"

namespace coppice::storage {

// Longer than a server takes to restart, or a replica to take its place.
inline constexpr absl::Duration kDefaultPatience = absl::Seconds(60);

// Opens the store at `uri` for a single daemon, or makes its tables. `patience` is for how long
// Apply() looks for the outcome of a batch. FailedPrecondition if a fleet works on it.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(
    const std::string& uri, absl::Duration patience = kDefaultPatience);
// The same for the curator that leads a fleet; `lease` outlives the store. Unavailable from Get(),
// Scan() and Apply() while the lease is not proven. If the store cannot go on it gives the lease
// up.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(
    const std::string& uri, const Lease& lease, absl::Duration patience = kDefaultPatience);

// The same for reading alone: changes nothing, and no daemon may open it meanwhile. NotFound if
// there is no store.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStoreForReading(const std::string& uri);

// A look at whether batches that are acknowledged survive the loss of the database server. OK: a
// synchronous replica is named and connected, as far as the role may see. FailedPrecondition, with
// what to do: none is. Another error: the server did not say. Keeps a session; for one thread.
std::function<absl::Status()> MakeStandbyCheck(const std::string& uri);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_POSTGRES_POSTGRES_STORE_H_
