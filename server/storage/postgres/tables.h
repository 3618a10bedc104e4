// The tables of a store in PostgreSQL, who owns them, and the transactions on them.
//
// All are in the schema `coppice` (docs/postgresql.md#tables):
//   coppice_records  the records
//   coppice_batches  the ids of the last day's batches, and the epoch of who wrote each
//   coppice_owner    one row: the epoch, which each daemon that opens the store increments
//   coppice_schema   one row: the version of these tables
//
// Errors  those of Connection, and what the functions name.

#ifndef COPPICE_SERVER_STORAGE_POSTGRES_TABLES_H_
#define COPPICE_SERVER_STORAGE_POSTGRES_TABLES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/storage/postgres/connection.h"
#include "server/storage/store.h"

namespace coppice::storage {

// FailedPrecondition, with what to do, if the server would lose commits in a crash: it runs
// without fsync, or somebody has set synchronous_commit to off or local for these
// sessions. A server's default of that kind is overridden.
absl::Status CheckDurability(Connection& connection);

// Takes the lock that one daemon holds for as long as its session stands, waiting at most `wait`.
// FailedPrecondition if another session keeps it.
absl::Status LockDatabase(Connection& connection, absl::Duration wait);

// Makes the tables, or brings older ones up to this version. Call it with the lock held.
// FailedPrecondition if a newer version made them.
absl::Status PrepareTables(Connection& connection);
// NotFound if there are no tables; FailedPrecondition unless they are of this version.
absl::Status CheckTables(Connection& connection);

// Makes the caller the owner, and returns its epoch.
absl::StatusOr<int64_t> TakeOwnership(Connection& connection);
// FailedPrecondition if another daemon has taken the store over since `epoch`, or if the database
// lacks the batch `last_id`, which it had acknowledged. Without an id that is not looked up.
absl::Status CheckOwnership(Connection& connection, int64_t epoch, absl::string_view last_id = "");

// 16 random bytes. Unavailable if the system's random source fails.
absl::StatusOr<std::string> NewBatchId();

// InvalidArgument if the batch has a record that is too large, or a prefix without an end.
absl::Status CheckBatch(const StoreBatch& batch);
// Applies a batch that CheckBatch() took, in one transaction that fails unless `epoch` is the
// owner's.
TransactionResult WriteBatch(Connection& connection, const StoreBatch& batch, absl::string_view id,
                             int64_t epoch);
// Removes ids of batches of more than a day ago, but not `last_id`.
absl::Status PruneBatches(Connection& connection, absl::string_view last_id);
// Finds out whether the batch `id` was committed, waiting for a transaction that still runs. If it
// was not, it never will be: the id is taken. Durable as the batch would be.
absl::StatusOr<bool> SettleBatch(Connection& connection, absl::string_view id, int64_t epoch);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_POSTGRES_TABLES_H_
