#include "server/store/postgres/tables.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::storage {
namespace {

// EXTERNAL stores values uncompressed: nearly all are noise or sealed and do not compress.
//
// The owner's epoch is a key: renewing a lease leaves it unchanged, and batches lock the row FOR
// KEY SHARE, so the two do not wait for each other; taking the store and batches do.
constexpr char kMakeTables[] =
    "BEGIN;"
    "CREATE TABLE coppice.coppice_records (key bytea PRIMARY KEY, value bytea NOT NULL)"
    "  WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);"
    "ALTER TABLE coppice.coppice_records ALTER COLUMN value SET STORAGE EXTERNAL;"
    "CREATE TABLE coppice.coppice_batches (id bytea PRIMARY KEY, epoch bigint NOT NULL,"
    "  applied boolean NOT NULL, at timestamptz NOT NULL DEFAULT now());"
    "CREATE TABLE coppice.coppice_owner (epoch bigint PRIMARY KEY, address text NOT NULL DEFAULT "
    "'',"
    "  renewal bigint NOT NULL DEFAULT 0, lease_milliseconds bigint NOT NULL DEFAULT 0,"
    "  history text NOT NULL DEFAULT '');"
    "INSERT INTO coppice.coppice_owner VALUES (0);"
    "CREATE TABLE coppice.coppice_schema (version bigint NOT NULL);"
    "INSERT INTO coppice.coppice_schema VALUES (1);"
    "COMMIT";
constexpr int64_t kVersion = 1;  // of the tables; stays until the first release

Status Refused(std::string_view what) {
  return FailedPreconditionError(StrCat(what, " (docs/postgresql.md#durability)"));
}

StatusOr<bool> AskWhether(Connection& connection, const char* question) {
  COPPICE_ASSIGN_OR_RETURN(const QueryResult answer, connection.Run({.sql = question}));
  return answer.Bool(0, 0);
}

Status MakeSchema(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const bool there,
                           AskWhether(connection, "SELECT to_regnamespace('coppice') IS NOT NULL"));
  return there ? OkStatus() : connection.RunScript("CREATE SCHEMA coppice");
}

}  // namespace

Status CheckDurability(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult found,
      connection.Run({.sql = "SELECT setting, source, current_setting('fsync') = 'on'"
                             "  FROM pg_settings WHERE name = 'synchronous_commit'"}));
  const std::string_view commit = found.Bytes(0, 0);
  const std::string_view source = found.Bytes(0, 1);
  if (!found.Bool(0, 2)) {
    return Refused(
        "the server runs with fsync = off: a crash would lose what was acknowledged; "
        "set fsync = on and restart it");
  }
  if (commit != "off" && commit != "local") {
    return commit == "remote_write" ? connection.RunScript("SET synchronous_commit = on")
                                    : OkStatus();
  }
  if (source == "client" || source == "user" || source == "database" || source == "database user") {
    return Refused(StrCat(
        "synchronous_commit is ", commit, " for these sessions (by the ", source,
        "): a crash, or the loss of the primary, would lose what was acknowledged; take it out of "
        "--store or PGOPTIONS, or ALTER ROLE or DATABASE ... RESET synchronous_commit"));
  }
  return connection.RunScript("SET synchronous_commit = on");
}

StatusOr<bool> TablesAreThere(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(
      const bool there,
      AskWhether(connection, "SELECT to_regclass('coppice.coppice_schema') IS NOT NULL"));
  if (!there) return false;
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found,
                           connection.Run({.sql = "SELECT version FROM coppice.coppice_schema"}));
  if (found.rows() != 1) {
    return DataLossError(
        "coppice.coppice_schema does not have exactly one row: restore a base backup");
  }
  const int64_t version = found.Int64(0, 0);
  if (version == kVersion) return true;
  return FailedPreconditionError(
      StrCat("the tables were made by a newer version of Coppice (version ", version,
             ", this one knows version ", kVersion, "): install that version"));
}

Status PrepareTables(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const bool there, TablesAreThere(connection));
  if (there) return OkStatus();
  COPPICE_RETURN_IF_ERROR(MakeSchema(connection));
  return connection.RunScript(kMakeTables);
}

Status CheckTables(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const bool there, TablesAreThere(connection));
  return there ? OkStatus() : NotFoundError("the database holds no store");
}

}  // namespace coppice::storage
