#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/store/postgres/connection.h"
#include "server/store/postgres/postgres_store.h"

namespace coppice::storage {
namespace {

constexpr absl::Duration kStandbyLimit = absl::Seconds(5);

// A role outside pg_read_all_stats sees that a replica is connected, but not which.
constexpr char kStandbys[] =
    "SELECT current_setting('synchronous_standby_names') <> '',"
    "  count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),"
    "  count(*) FILTER (WHERE pid IS NOT NULL AND sync_state IS NULL)"
    "  FROM pg_stat_replication";

Status CheckStandbys(Connection& connection) {
  COPPICE_ASSIGN_OR_RETURN(const QueryResult found, connection.Run({.sql = kStandbys}));
  if (!found.Bool(0, 0)) {
    return FailedPreconditionError(
        "the database names no synchronous replica: losing its server loses acknowledged reports "
        "and charges of budgets; set synchronous_standby_names (docs/postgresql.md#replicas)");
  }
  if (found.Int64(0, 1) > 0 || found.Int64(0, 2) > 0) return OkStatus();
  return FailedPreconditionError(
      "no synchronous replica of the database is connected: commits wait until one is; start it, "
      "or fix its connection (docs/postgresql.md#replicas)");
}

// Keeps a session between two checks.
class StandbyLook {
 public:
  explicit StandbyLook(std::string uri) : uri_(std::move(uri)) {}

  Status Check() {
    if (session_ == nullptr || !session_->IsAlive()) {
      COPPICE_ASSIGN_OR_RETURN(session_, Connection::Open(uri_, kStandbyLimit));
    }
    return CheckStandbys(*session_);
  }

 private:
  const std::string uri_;
  std::unique_ptr<Connection> session_;
};

}  // namespace

std::function<Status()> MakeStandbyCheck(const std::string& uri) {
  return [look = std::make_shared<StandbyLook>(uri)] { return look->Check(); };
}

}  // namespace coppice::storage
