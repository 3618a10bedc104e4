#include "server/storage/postgres/tables.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace coppice::storage {
namespace {

// The step at index i leads from version i to i + 1. EXTERNAL keeps values as they are: nearly all
// are noise or sealed, and do not compress.
constexpr const char* kMigrations[] = {
    "CREATE TABLE coppice.coppice_records (key bytea PRIMARY KEY, value bytea NOT NULL)"
    "  WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);"
    "ALTER TABLE coppice.coppice_records ALTER COLUMN value SET STORAGE EXTERNAL;"
    "CREATE TABLE coppice.coppice_batches (id bytea PRIMARY KEY, epoch bigint NOT NULL,"
    "  applied boolean NOT NULL, at timestamptz NOT NULL DEFAULT now());"
    "CREATE TABLE coppice.coppice_owner (epoch bigint NOT NULL);"
    "INSERT INTO coppice.coppice_owner VALUES (0);"
    "CREATE TABLE coppice.coppice_schema (version bigint NOT NULL);"
    "INSERT INTO coppice.coppice_schema VALUES (0);",
};
constexpr int64_t kVersion = std::size(kMigrations);

// "coppice" in ASCII. Locks are of one database, so each database has one store.
constexpr int64_t kLock = 0x636f7070696365;

absl::Status Refused(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(what, " (docs/postgresql.md#durability)"));
}

absl::StatusOr<bool> AskWhether(Connection& connection, const char* question) {
  COPPICE_ASSIGN_OR_RETURN(const QueryResult answer, connection.Run({.sql = question}));
  return answer.Bool(0, 0);
}

// 0 if there are no tables.
absl::StatusOr<int64_t> ReadVersion(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(
      const bool there,
      AskWhether(connection, "SELECT to_regclass('coppice.coppice_schema') IS NOT NULL"));
  if (!there) return 0;
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found,
                           connection.Run({.sql = "SELECT version FROM coppice.coppice_schema"}));
  if (found.rows() != 1) {
    return absl::DataLossError("coppice.coppice_schema has not one row: restore a base backup");
  }
  const int64_t version = found.Int64(0, 0);
  if (version <= kVersion) return version;
  return absl::FailedPreconditionError(
      absl::StrCat("the tables were made by a newer version of Coppice (version ", version,
                   ", this one knows up to ", kVersion, "): install that version"));
}

absl::Status MakeSchema(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const bool there,
                           AskWhether(connection, "SELECT to_regnamespace('coppice') IS NOT NULL"));
  return there ? absl::OkStatus() : connection.RunScript("CREATE SCHEMA coppice");
}

}  // namespace

absl::Status CheckDurability(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult found,
      connection.Run({.sql = "SELECT setting, source, current_setting('fsync') = 'on'"
                             "  FROM pg_settings WHERE name = 'synchronous_commit'"}));
  const absl::string_view commit = found.Bytes(0, 0);
  const absl::string_view source = found.Bytes(0, 1);
  if (!found.Bool(0, 2)) {
    return Refused(
        "the server runs with fsync = off: a crash would lose what was acknowledged; "
        "set fsync = on and restart it");
  }
  if (commit != "off" && commit != "local") {
    return commit == "remote_write" ? connection.RunScript("SET synchronous_commit = on")
                                    : absl::OkStatus();
  }
  if (source == "client" || source == "user" || source == "database" || source == "database user") {
    return Refused(absl::StrCat(
        "synchronous_commit is ", commit, " for these sessions (by the ", source,
        "): a crash, or the loss of the primary, would lose what was acknowledged; take it out of "
        "--store or PGOPTIONS, or ALTER ROLE or DATABASE ... RESET synchronous_commit"));
  }
  return connection.RunScript("SET synchronous_commit = on");
}

absl::Status LockDatabase(Connection& connection, absl::Duration wait) {
  const absl::Time deadline = absl::Now() + wait;
  for (;;) {
    COPPICE_ASSIGN_OR_RETURN(const QueryResult taken,
                             connection.Run({.sql = "SELECT pg_try_advisory_lock($1)",
                                             .values = {QueryValue::Int64(kLock)}}));
    if (taken.Bool(0, 0)) return absl::OkStatus();
    if (absl::Now() >= deadline) break;
    absl::SleepFor(absl::Milliseconds(100));
  }
  return absl::FailedPreconditionError(
      "another daemon uses it: stop that one, or, if its machine is gone, end its session "
      "(docs/postgresql.md#one-daemon)");
}

absl::Status PrepareTables(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const int64_t version, ReadVersion(connection));
  if (version == 0) COPPICE_RETURN_IF_ERROR(MakeSchema(connection));
  for (int64_t next = version; next < kVersion; ++next) {
    COPPICE_RETURN_IF_ERROR(connection.RunScript(
        absl::StrCat("BEGIN; ", kMigrations[next],
                     "UPDATE coppice.coppice_schema SET version = ", next + 1, "; COMMIT")));
  }
  return absl::OkStatus();
}

absl::Status CheckTables(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const int64_t version, ReadVersion(connection));
  if (version == 0) return absl::NotFoundError("the database holds no store");
  if (version == kVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the tables are of an older version: start the daemon once, which brings them up");
}

absl::StatusOr<int64_t> TakeOwnership(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult taken,
      connection.Run(
          {.sql = "UPDATE coppice.coppice_owner SET epoch = epoch + 1 RETURNING epoch"}));
  if (taken.rows() == 1) return taken.Int64(0, 0);
  return absl::DataLossError("coppice.coppice_owner has not one row: restore a base backup");
}

absl::Status CheckOwnership(Connection& connection, int64_t epoch, absl::string_view last_id) {
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found,
                           connection.Run({.sql = "SELECT epoch FROM coppice.coppice_owner"}));
  if (found.rows() != 1 || found.Int64(0, 0) != epoch) {
    return absl::FailedPreconditionError(
        "another daemon has taken the store over: stop this one (docs/postgresql.md#one-daemon)");
  }
  if (last_id.empty()) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult last,
      connection.Run({.sql = "SELECT applied FROM coppice.coppice_batches WHERE id = $1",
                      .values = {QueryValue::Bytea(last_id)}}));
  if (last.rows() == 1 && last.Bool(0, 0)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the database lacks a batch that it had acknowledged, as after a failover to a replica that "
      "was behind: stop the daemon, and see docs/postgresql.md#failover");
}

}  // namespace coppice::storage
