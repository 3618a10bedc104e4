// The tables of a store in PostgreSQL, their owner, and the transactions on them.
//
// All are in the schema `coppice` (docs/postgresql.md#tables):
//   coppice_records  the records
//   coppice_batches  the ids of the last day's batches, each with its writer's epoch
//   coppice_owner    one row: the epoch, which grows with each daemon that takes the store; the
//                    history of the database that lacks nothing; in a fleet also the leader, and
//                    how often the lease was renewed
//   coppice_schema   one row: the version of these tables
//
// Errors     those of Connection, and those that the functions name.

#ifndef COPPICE_SERVER_STORE_POSTGRES_TABLES_H_
#define COPPICE_SERVER_STORE_POSTGRES_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/store/postgres/connection.h"
#include "server/store/store.h"

namespace coppice::storage {

// FailedPrecondition, with what to do, if the server would lose commits in a crash: it runs without
// fsync, or synchronous_commit was set to off or local for these sessions. Overrides such a value
// if it is the server's default.
Status CheckDurability(Connection& connection);

// Whether the tables exist. FailedPrecondition if a newer version made them.
StatusOr<bool> TablesAreThere(Connection& connection);
// Makes the tables if they do not exist. Call it with the lock held. FailedPrecondition if a newer
// version made them.
Status PrepareTables(Connection& connection);
// NotFound if there are no tables; FailedPrecondition if a newer version made them.
Status CheckTables(Connection& connection);

// Takes the lock that one daemon holds as long as its session stands, waiting at most `wait`.
// FailedPrecondition if another session keeps it.
Status LockDatabase(Connection& connection, absl::Duration wait);
Status UnlockDatabase(Connection& connection);
// If `epoch` is the owner's, ends the other sessions that hold the lock: all of them, or only those
// that wait for their client. A session that waits for a replica is still at work.
enum class LocksToEnd { kAll, kWaitingForClient };
Status EndOtherLocks(Connection& connection, int64_t epoch, LocksToEnd which);

// FailedPrecondition if the tables exist and a fleet uses them.
Status CheckNoFleet(Connection& connection);
// Returns the running server's identity, which changes with a restart or a promotion.
StatusOr<std::string> ReadServerIdentity(Connection& connection);
// Returns the history of that server's database, as in Histories.
inline std::string HistoryOf(std::string_view identity) {
  return std::string(identity.substr(0, identity.find(' ')));
}

// Makes the caller the owner, and returns its epoch. FailedPrecondition as in CheckNoFleet().
StatusOr<int64_t> TakeOwnership(Connection& connection);
// FailedPrecondition if another daemon has taken over the store since `epoch`, or if the database
// lacks the batch `last_id`, which it had acknowledged. An empty id is not looked up.
Status CheckOwnership(Connection& connection, int64_t epoch, std::string_view last_id = "");

// The history of a database changes when a replica is promoted, a base backup is recovered, or a
// dump is read into another cluster: it is the cluster's identifier and its timeline.
struct Histories {
  std::string vouched;  // the history whose acknowledged batches a daemon knew; empty: none yet
  std::string current;
};
StatusOr<Histories> ReadHistories(Connection& connection);
// Declares that the current history lacks no acknowledged batch, if `epoch` is the owner's.
Status VouchForHistory(Connection& connection, int64_t epoch);

// What the curators of a fleet see of each other.
struct OwnerRow {
  int64_t epoch = 0;
  int64_t renewal = 0;
  std::string address;    // of the leader; empty: nobody leads
  absl::Duration length;  // of the leader's lease
  bool locked = false;    // a session holds the database's lock
};
StatusOr<OwnerRow> ReadOwner(Connection& connection);
// Makes the curator at `address` the owner, with a lease of `length`, if the row is still as
// `seen`; nullopt otherwise. After an error it may be the owner.
StatusOr<std::optional<int64_t>> TakeLease(Connection& connection, const OwnerRow& seen,
                                           std::string_view address, absl::Duration length);
// False if `epoch` is not the owner's, or if the lease was released, for example by an operator.
StatusOr<bool> RenewLease(Connection& connection, int64_t epoch);
StatusOr<bool> ReleaseLease(Connection& connection, int64_t epoch);

// 16 random bytes. Unavailable if the system's random source fails.
StatusOr<std::string> NewBatchId();

// InvalidArgument if the batch has a record that is too large or a prefix without an end.
Status CheckBatch(const StoreBatch& batch);
// Applies a batch that CheckBatch() accepted, in one transaction that fails unless `epoch` is the
// owner's.
TransactionResult WriteBatch(Connection& connection, const StoreBatch& batch, std::string_view id,
                             int64_t epoch);
// Removes ids of batches older than a day, except `last_id`, if `epoch` is the owner's.
Status PruneBatches(Connection& connection, std::string_view last_id, int64_t epoch);
// Finds out whether the batch `id` was committed, waiting for a transaction that still runs. If it
// was not, it never will be: the id is taken. The answer is as durable as the batch would be.
// Fails, as the batch would, unless `epoch` is the owner's.
StatusOr<bool> SettleBatch(Connection& connection, std::string_view id, int64_t epoch);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_POSTGRES_TABLES_H_
