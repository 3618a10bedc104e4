#include "tests/fleet/database.h"

#include <string>

#include "common/base/text.h"
#include "server/store/postgres/connection.h"
#include "tests/support/eventually.h"

namespace coppice::fleet_faults {
namespace {

using ::coppice::testing::PostgresServer;

constexpr char kHoldsLock[] =
    "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database ="
    "  (SELECT oid FROM pg_database WHERE datname = current_database()))";

// The part of a URI between `before` and the next '&', '?' or its end.
std::string PartOf(const std::string& uri, const std::string& before) {
  const size_t found = uri.find(before);
  if (found == std::string::npos) return "";
  const size_t from = found + before.size();
  return uri.substr(from, uri.find_first_of("&?", from) - from);
}

}  // namespace

Database::Database(bool synchronous) {
  servers_.push_back(std::make_unique<PostgresServer>());
  servers_.push_back(std::make_unique<PostgresServer>(*servers_[0], "replica"));
  if (!synchronous) return;
  servers_[0]->Set("SET synchronous_standby_names = 'replica'");
  const std::string ready = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
  EXPECT_TRUE(testing::Eventually([&] {
    return PostgresServer::Number(servers_[0]->Uri("postgres"), ready) == 1;
  })) << "the replica does not become synchronous";
}

std::vector<std::string> Database::Sockets() const {
  std::vector<std::string> sockets;
  for (const auto& server : servers_) {
    const std::string uri = server->Uri("postgres");
    const std::string port = PartOf(uri, "port=");
    sockets.push_back(StrCat(PartOf(uri, "host="), "/.s.PGSQL.", port.empty() ? "5432" : port));
  }
  return sockets;
}

std::string Database::Make() {
  if (!name_.empty()) {  // a database takes eight megabytes
    PostgresServer::Execute(primary().Uri("postgres"),
                            StrCat("DROP DATABASE ", name_, " WITH (FORCE)"));
  }
  name_ = PartOf(primary().NewDatabase(), "postgresql:///");
  leader_.clear();
  return name_;
}

void Database::Stop() {
  if (stopped_) return;
  GoOn();
  primary().Stop("immediate");
  stopped_ = true;
}

void Database::Start() {
  if (!stopped_) return;
  primary().Start();
  stopped_ = false;
}

void Database::Hang() {
  if (!IsUp()) return;
  primary().Pause();
  hung_ = true;
}

void Database::GoOn() {
  if (!hung_) return;
  primary().Resume();
  hung_ = false;
}

void Database::FailOver(Loss loss) {
  if (!HasReplica()) return;
  if (!stopped_ && loss == Loss::kStopped) Stop();
  if (loss == Loss::kHung) Hang();
  servers_[1]->Resume();
  servers_[1]->Promote();
  primary_ = 1;
  stopped_ = hung_ = false;
}

void Database::WakeFormer() {
  if (primary_ == 1) servers_[0]->Resume();
}

void Database::EndFormer() {
  if (primary_ != 1) return;
  servers_[0]->Resume();
  servers_[0]->Stop("immediate");
  former_ended_ = true;
}

void Database::HangReplica() {
  if (HasReplica()) servers_[1]->Pause();
}

void Database::WakeReplica() {
  if (HasReplica()) servers_[1]->Resume();
}

void Database::End(Sessions sessions) {
  const std::string which = sessions == Sessions::kAll            ? "true"
                            : sessions == Sessions::kOfLockHolder ? kHoldsLock
                                                                  : StrCat("NOT ", kHoldsLock);
  Execute(
      StrCat("SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_stat_activity"
             "  WHERE datname = current_database() AND pid <> pg_backend_pid() AND ",
             which));
}

bool Database::Execute(const std::string& sql) {
  if (!IsUp()) return false;
  const auto connection = storage::Connection::Open(uri());
  return connection.ok() && (*connection)->RunScript(sql).ok();
}

std::string Database::Leader() {
  if (!IsUp()) return leader_;
  const auto connection = storage::Connection::Open(uri());
  if (!connection.ok()) return leader_;
  const auto found = (*connection)->Run({.sql = "SELECT address FROM coppice.coppice_owner"});
  if (found.ok() && found->rows() == 1 && !found->Bytes(0, 0).empty()) {
    leader_ = std::string(found->Bytes(0, 0));
  }
  return leader_;
}

}  // namespace coppice::fleet_faults
