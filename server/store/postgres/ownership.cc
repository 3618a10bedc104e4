#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/tables.h"

namespace coppice::storage {
namespace {

// "coppice" in ASCII. Locks belong to one database, so each database has one store.
constexpr int64_t kLock = 0x636f7070696365;
// The sessions that hold the lock: pg_locks has the two halves of its number.
constexpr char kHolders[] =
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    "  AND classid = 6516592 AND objid = 1885954917"
    "  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
static_assert(kLock >> 32 == 6516592 && (kLock & 0xffffffff) == 1885954917);

constexpr char kHistory[] =
    "(SELECT system_identifier FROM pg_control_system())::text || '/' ||"
    "  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";
constexpr char kWaitsForClient[] =
    "  AND pid IN (SELECT pid FROM pg_stat_activity WHERE wait_event = 'ClientRead')";

Status NoOwner() {
  return DataLossError(
      "coppice.coppice_owner does not have exactly one row: restore a base backup");
}

// Draws the amount by which a new owner raises the epoch. Two curators may take over from the same
// one, each in a history of the database that lacks the other: their epochs must differ.
StatusOr<int64_t> DrawEpochStep() {
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, NewBatchId());
  uint32_t drawn = 0;
  std::memcpy(&drawn, bytes.data(), sizeof(drawn));
  return int64_t{1} + drawn;
}

Status UsedByFleet(std::string_view leader) {
  return FailedPreconditionError(
      StrCat("a fleet works on it, whose last leader is ", leader,
             ": start this daemon with --fleet-address as one of the fleet, or end the fleet "
             "first (docs/postgresql.md#a-fleet)"));
}

// Returns whether an UPDATE of the owner found its row.
StatusOr<bool> UpdateOwner(Connection& connection, const char* sql, int64_t epoch) {
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult updated,
      connection.RunAndCommit({.sql = sql, .values = {QueryValue::Int64(epoch)}}));
  return updated.rows() == 1;
}

}  // namespace

Status LockDatabase(Connection& connection, absl::Duration wait) {
  const absl::Time deadline = absl::Now() + wait;
  for (;;) {
    COPPICE_ASSIGN_OR_RETURN(const QueryResult taken,
                             connection.Run({.sql = "SELECT pg_try_advisory_lock($1)",
                                             .values = {QueryValue::Int64(kLock)}}));
    if (taken.Bool(0, 0)) return OkStatus();
    if (absl::Now() >= deadline) break;
    absl::SleepFor(absl::Milliseconds(100));
  }
  return FailedPreconditionError(
      "another daemon uses it: stop that one, or, if its machine is gone, end its session "
      "(docs/postgresql.md#one-daemon)");
}

Status UnlockDatabase(Connection& connection) {
  return connection
      .Run({.sql = "SELECT pg_advisory_unlock($1)", .values = {QueryValue::Int64(kLock)}})
      .status();
}

Status EndOtherLocks(Connection& connection, int64_t epoch, LocksToEnd which) {
  const std::string sql =
      StrCat("SELECT pg_terminate_backend(pid) ", kHolders,
             "  AND pid <> pg_backend_pid()"
             "  AND EXISTS (SELECT FROM coppice.coppice_owner WHERE epoch = $1)",
             which == LocksToEnd::kAll ? "" : kWaitsForClient);
  return connection.Run({.sql = sql.c_str(), .values = {QueryValue::Int64(epoch)}}).status();
}

StatusOr<OwnerRow> ReadOwner(Connection& connection) {
  const std::string sql =
      StrCat("SELECT epoch, renewal, address, lease_milliseconds, EXISTS (SELECT ", kHolders,
             ") FROM coppice.coppice_owner");
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found, connection.Run({.sql = sql.c_str()}));
  if (found.rows() != 1) return NoOwner();
  return OwnerRow{.epoch = found.Int64(0, 0),
                  .renewal = found.Int64(0, 1),
                  .address = std::string(found.Bytes(0, 2)),
                  .length = absl::Milliseconds(found.Int64(0, 3)),
                  .locked = found.Bool(0, 4)};
}

StatusOr<std::string> ReadServerIdentity(Connection& connection) {
  const std::string sql = StrCat("SELECT ", kHistory,
                                 " || ' ' || extract(epoch FROM pg_postmaster_start_time())::text");
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found, connection.Run({.sql = sql.c_str()}));
  return std::string(found.Bytes(0, 0));
}

Status CheckNoFleet(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const bool there, TablesAreThere(connection));
  if (!there) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const OwnerRow owner, ReadOwner(connection));
  return owner.address.empty() ? OkStatus() : UsedByFleet(owner.address);
}

StatusOr<int64_t> TakeOwnership(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const int64_t step, DrawEpochStep());
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult taken,
      connection.RunAndCommit({.sql = "UPDATE coppice.coppice_owner SET epoch = epoch + $1"
                                      "  WHERE address = '' RETURNING epoch",
                               .values = {QueryValue::Int64(step)}}));
  if (taken.rows() == 1) return taken.Int64(0, 0);
  COPPICE_RETURN_IF_ERROR(CheckNoFleet(connection));
  return NoOwner();
}

Status CheckOwnership(Connection& connection, int64_t epoch, std::string_view last_id) {
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found,
                           connection.Run({.sql = "SELECT epoch FROM coppice.coppice_owner"}));
  if (found.rows() != 1 || found.Int64(0, 0) != epoch) {
    return FailedPreconditionError(
        "another daemon has taken the store over: stop this one (docs/postgresql.md#one-daemon)");
  }
  if (last_id.empty()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult last,
      connection.Run({.sql = "SELECT applied FROM coppice.coppice_batches WHERE id = $1",
                      .values = {QueryValue::Bytea(last_id)}}));
  if (last.rows() == 1 && last.Bool(0, 0)) return OkStatus();
  return FailedPreconditionError(
      "the database lacks a batch that it had acknowledged, as after a failover to a replica that "
      "was behind: stop the daemon, and see docs/postgresql.md#failover");
}

StatusOr<Histories> ReadHistories(Connection& connection) {
  const std::string sql = StrCat("SELECT history, ", kHistory, " FROM coppice.coppice_owner");
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found, connection.Run({.sql = sql.c_str()}));
  if (found.rows() != 1) return NoOwner();
  return Histories{.vouched = std::string(found.Bytes(0, 0)),
                   .current = std::string(found.Bytes(0, 1))};
}

Status VouchForHistory(Connection& connection, int64_t epoch) {
  const std::string sql = StrCat("UPDATE coppice.coppice_owner SET history = ", kHistory,
                                 " WHERE epoch = $1 RETURNING epoch");
  return UpdateOwner(connection, sql.c_str(), epoch).status();
}

StatusOr<std::optional<int64_t>> TakeLease(Connection& connection, const OwnerRow& seen,
                                           std::string_view address, absl::Duration length) {
  COPPICE_ASSIGN_OR_RETURN(const int64_t step, DrawEpochStep());
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult taken,
      connection.RunAndCommit(
          {.sql = "UPDATE coppice.coppice_owner"
                  "  SET epoch = epoch + $3, renewal = renewal + 1, address = $4,"
                  "    lease_milliseconds = $5"
                  "  WHERE epoch = $1 AND renewal = $2 RETURNING epoch",
           .values = {QueryValue::Int64(seen.epoch), QueryValue::Int64(seen.renewal),
                      QueryValue::Int64(step), QueryValue::Text(address),
                      QueryValue::Int64(absl::ToInt64Milliseconds(length))}}));
  if (taken.rows() != 1) return std::nullopt;
  return taken.Int64(0, 0);
}

StatusOr<bool> RenewLease(Connection& connection, int64_t epoch) {
  return UpdateOwner(connection,
                     "UPDATE coppice.coppice_owner SET renewal = renewal + 1"
                     "  WHERE epoch = $1 AND address <> '' RETURNING epoch",
                     epoch);
}

StatusOr<bool> ReleaseLease(Connection& connection, int64_t epoch) {
  // The commit need not wait for replicas: if a failover loses it, the others wait for the lease.
  COPPICE_RETURN_IF_ERROR(connection.RunScript("SET synchronous_commit = local"));
  return UpdateOwner(connection,
                     "UPDATE coppice.coppice_owner SET address = '', renewal = renewal + 1"
                     "  WHERE epoch = $1 RETURNING epoch",
                     epoch);
}

}  // namespace coppice::storage
