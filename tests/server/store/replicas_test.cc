// Stores and leases in a PostgreSQL with a real replica, and over TLS.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/lease.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/store_format.h"
#include "tests/integration/process.h"
#include "tests/server/store/moved_clock.h"
#include "tests/server/store/put.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::Eventually;
using ::coppice::testing::IsOk;
using ::coppice::testing::MovedClock;
using ::coppice::testing::Outcome;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::Put;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::_;
using ::testing::ContainsRegex;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::NotNull;
using ::testing::Optional;

constexpr absl::Duration kLeaseLength = absl::Seconds(5);

constexpr char kCommitsWaiting[] =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

class ReplicasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    primary_ = std::make_unique<PostgresServer>();
    uri_ = primary_->NewDatabase();
    replica_ = std::make_unique<PostgresServer>(*primary_, "replica");
    both_ = PostgresServer::UriOf("test1", {primary_.get(), replica_.get()}) + "&connect_timeout=2";
  }

  void MakeSynchronous() {
    primary_->Set("SET synchronous_standby_names = 'replica'");
    EXPECT_TRUE(Eventually([&] { return Senders("sync_state = 'sync'") == 1; }));
  }
  int64_t Senders(const std::string& condition) const {
    return PostgresServer::Number(uri_,
                                  "SELECT count(*) FROM pg_stat_replication WHERE " + condition);
  }
  void LosePrimary() {
    primary_->Stop("immediate");
    replica_->Promote();
  }
  // Takes the lease once the clock has moved by its length.
  std::unique_ptr<Lease> Lead(const std::string& uri, const std::string& address,
                              std::function<void()> on_lost = {}) {
    const auto candidate = LeaseCandidate::Join(uri, {.address = address,
                                                      .length = kLeaseLength,
                                                      .on_lost = std::move(on_lost),
                                                      .clock = &clock_});
    EXPECT_OK(candidate);
    EXPECT_OK((*candidate)->TryTake());
    clock_.Advance(kLeaseLength);
    std::unique_ptr<Lease> taken;
    EXPECT_TRUE(Eventually([&] {
      auto lease = (*candidate)->TryTake();
      if (lease.ok()) taken = *std::move(lease);
      return taken != nullptr;
    }));
    return taken;
  }
  void MoveToRenewal() { clock_.Advance(kLeaseLength / 5); }
  // Moves the clock from one renewal to the next until `holds` does.
  bool OnceRenewed(const std::function<bool()>& holds) {
    for (int i = 0; i < 100; ++i) {
      if (Eventually(holds, std::chrono::seconds(1))) return true;
      MoveToRenewal();
    }
    return false;
  }

  MovedClock clock_;
  std::unique_ptr<PostgresServer> primary_, replica_;
  std::string uri_;   // of the primary alone
  std::string both_;  // of whichever server is primary
};

TEST_F(ReplicasTest, AcknowledgedBatchesSurviveTheLossOfThePrimary) {
  MakeSynchronous();
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(both_));
  std::atomic<int> acknowledged = 0;
  std::atomic<bool> promoted = false;
  std::vector<std::string> told;
  std::thread writer([&] {
    for (int i = 0; i < 2000 && (!promoted || i < 200); ++i) {
      if (!Put(*store, StrCat("key", i), "value").ok()) continue;
      told.push_back(StrCat("key", i));
      ++acknowledged;
    }
  });
  ASSERT_TRUE(Eventually([&] { return acknowledged > 50; }));
  LosePrimary();
  promoted = true;
  writer.join();
  ASSERT_OK(Put(*store, "after", "value"));
  EXPECT_GT(told.size(), 100u);
  for (const std::string& key : told) EXPECT_THAT(*store->Get(key), Optional(Eq("value"))) << key;
}

// The replica is down while batches are acknowledged.
TEST_F(ReplicasTest, ALostBatchIsNoticed) {
  std::atomic<int> lost = 0;
  const auto lease = Lead(both_, "a:1", [&] { ++lost; });
  ASSERT_THAT(lease, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(both_, *lease));
  ASSERT_OK(Put(*store, "key", "kept"));
  ASSERT_TRUE(Eventually([&] { return Senders("replay_lsn = sent_lsn") == 1; }));
  replica_->Stop("fast");
  ASSERT_OK(Put(*store, "key", "lost"));
  primary_->Stop("immediate");
  replica_->Start();
  replica_->Promote();
  ASSERT_TRUE(Eventually([&] {
    Put(*store, "key", "later").IgnoreError();
    return lost == 1;
  }));
  EXPECT_THAT(lease->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr("lacks a batch")));
  EXPECT_FALSE(store->Get("key").ok());
  const auto successor = Lead(both_, "b:1");
  ASSERT_THAT(successor, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto left, OpenPostgresStore(both_, *successor));
  EXPECT_THAT(*left->Get("key"), Optional(Eq("kept")));
}

// The taking of the lease itself is lost in the same way.
TEST_F(ReplicasTest, ALostTakeoverIsNoticed) {
  Lead(both_, "a:1").reset();
  ASSERT_TRUE(Eventually([&] { return Senders("replay_lsn = sent_lsn") == 1; }));
  replica_->Stop("fast");
  std::atomic<int> lost = 0;
  const auto lease = Lead(both_, "b:1", [&] { ++lost; });
  ASSERT_THAT(lease, NotNull());
  primary_->Stop("immediate");
  replica_->Start();
  replica_->Promote();
  EXPECT_TRUE(Eventually([&] {
    MoveToRenewal();
    return lost == 1;
  }));
  EXPECT_THAT(lease->Check(), StatusIs(StatusCode::kUnavailable, _));
}

TEST_F(ReplicasTest, ALeaderGoesOnAfterAFailover) {
  MakeSynchronous();
  std::atomic<int> lost = 0;
  const auto lease = Lead(both_, "a:1", [&] { ++lost; });
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(both_, *lease));
  ASSERT_OK(Put(*store, "key", "value"));
  LosePrimary();
  ASSERT_TRUE(OnceRenewed([&] { return Put(*store, "after", "value").ok(); }));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
  EXPECT_EQ(lost, 0);
}

// The former primary is paused, and resumed after its replica has taken its place. It must prove
// nothing to the leader that is still connected to it.
TEST_F(ReplicasTest, APrimaryThatWasPausedProvesNothing) {
  MakeSynchronous();
  const auto former = Lead(uri_, "a:1");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *former));
  ASSERT_OK(Put(*store, "key", "old"));
  primary_->Pause();
  replica_->Promote();
  const auto successor = Lead(PostgresServer::UriOf("test1", {replica_.get()}), "b:1");
  ASSERT_THAT(successor, NotNull());
  EXPECT_FALSE(former->Check().ok());
  primary_->Resume();
  // A renewal of the former leader's reaches the former primary, and waits there for a replica.
  ASSERT_TRUE(Eventually([&] {
    MoveToRenewal();
    return PostgresServer::Number(uri_, kCommitsWaiting) > 0;
  }));
  EXPECT_FALSE(former->Check().ok());
  EXPECT_FALSE(store->Get("key").ok());
  EXPECT_TRUE(OnceRenewed([&] { return successor->Check().ok(); }));
}

// A batch that is acknowledged while no daemon has the store open may be lost with the primary, and
// the next daemon cannot tell.
TEST_F(ReplicasTest, AFailoverIsMarkedUnlessWhoHadTheStoreSawItsLastBatch) {
  MakeSynchronous();
  const auto mark = [&]() -> std::optional<std::string> {
    const auto store = OpenPostgresStore(both_);
    EXPECT_OK(store);
    return *(*store)->Get(kFailoverKey);
  };
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(both_));
    ASSERT_OK(Put(*store, std::string(kFormatKey), "1"));
    LosePrimary();
    EXPECT_TRUE(Eventually([&] { return Put(*store, "key", "value").ok(); }));
  }
  EXPECT_EQ(mark(), std::nullopt);
  PostgresServer second(*replica_, "second");
  replica_->Stop("immediate");
  second.Promote();
  both_ = second.Uri("test1");
  EXPECT_THAT(mark(), Optional(ContainsRegex("from history ([0-9]+)/00000002 to [0-9]+/00000003")));
}

// The primary stands still during the leader's work, and closes no connection.
TEST_F(ReplicasTest, ALeaderLeavesAPrimaryThatStandsStill) {
  MakeSynchronous();
  const auto lease = Lead(both_, "a:1");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(both_, *lease));
  ASSERT_OK(Put(*store, "key", "value"));
  ASSERT_OK(store->Get("key"));
  std::atomic<bool> done = false;
  std::atomic<int> read = 0;
  const auto look = [&] { read += store->Get("key").ok() ? 1 : 0; };
  std::thread writer([&] {
    while (!done) Put(*store, "key", "value").IgnoreError();
  });
  std::thread reader([&] {
    while (!done) look();
  });
  ASSERT_TRUE(Eventually([&] { return read > 10; }));
  primary_->Pause();
  replica_->Promote();
  clock_.Advance(kLeaseLength);
  read = 0;
  EXPECT_TRUE(OnceRenewed([&] { return read > 10; }));
  done = true;
  writer.join();
  reader.join();
  EXPECT_OK(Put(*store, "after", "value"));
  EXPECT_OK(lease->Check());
}

TEST_F(ReplicasTest, CommitsWaitForAReplicaThatIsAwayAndAreSettledOnce) {
  MakeSynchronous();
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_));
  ASSERT_OK(Put(*store, "key", "before"));
  replica_->Stop("fast");
  std::atomic<bool> returned = false;
  std::thread writer([&] {
    EXPECT_OK(Put(*store, "key", "value"));
    returned = true;
  });
  // The session that waits; zero if there is none.
  const auto session = [&] {
    return PostgresServer::Number(uri_,
                                  "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_activity"
                                  "  WHERE wait_event = 'SyncRep'");
  };
  ASSERT_TRUE(Eventually([&] { return session() > 0; }));
  const int64_t first = session();
  PostgresServer::Execute(uri_, StrCat("SELECT pg_terminate_backend(", first, ")"));
  EXPECT_TRUE(Eventually([&] { return session() > 0 && session() != first; }))
      << "the look-up waits too";
  EXPECT_FALSE(returned);
  replica_->Start();
  writer.join();
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
  EXPECT_EQ(PostgresServer::Number(uri_, "SELECT count(*) FROM coppice.coppice_batches"), 2);
}

TEST_F(ReplicasTest, TheStandbyCheckSaysWhatIsMissing) {
  PostgresServer::Execute(uri_, "CREATE ROLE plain LOGIN");
  const auto all = MakeStandbyCheck(uri_);
  const auto plain =
      MakeStandbyCheck(StrCat(uri_.substr(0, uri_.find("&user=owner")), "&user=plain"));
  const auto unnamed =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("names no synchronous replica"));
  const auto away = StatusIs(StatusCode::kFailedPrecondition,
                             HasSubstr("no synchronous replica of the database is connected"));
  EXPECT_THAT(all(), unnamed);
  EXPECT_THAT(plain(), unnamed);
  MakeSynchronous();
  EXPECT_OK(all());
  EXPECT_OK(plain());
  primary_->Set("SET synchronous_standby_names = 'absent'");
  ASSERT_TRUE(Eventually([&] { return Senders("sync_state = 'async'") == 1; }));
  EXPECT_THAT(all(), away);
  EXPECT_OK(plain()) << "it sees that one is connected, and not which";
  primary_->Set("SET synchronous_standby_names = 'replica'");
  replica_->Stop("fast");
  ASSERT_TRUE(Eventually([&] { return Senders("true") == 0; }));
  EXPECT_THAT(all(), away);
  EXPECT_THAT(plain(), away);
  primary_->Stop("immediate");
  EXPECT_THAT(all(), StatusIs(StatusCode::kUnavailable, _));
}

TEST(TlsToPostgresTest, TheServersCertificateIsVerified) {
  SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
  TempDir folder;
  for (const char* name : {"/good", "/other"}) {
    const Outcome made = RunProgram({SourcePath("deploy/make-certs.sh"), folder.path() + name});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  PostgresServer server;
  server.NewDatabase();
  const int port = testing::FreePort();
  server.ServeTls(folder.path() + "/good", port);
  const auto uri = [&](const std::string& ca) {
    return StrCat("postgresql://owner@localhost:", port,
                  "/test1?sslmode=verify-full&sslrootcert=", folder.path(), ca);
  };
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri("/good/ca.crt")));
    ASSERT_OK(Put(*store, "key", "value"));
    EXPECT_EQ(PostgresServer::Number(server.Uri("test1"),
                                     "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity"
                                     "  USING (pid) WHERE ssl AND application_name = 'coppiced'"),
              1);
  }
  EXPECT_THAT(OpenPostgresStore(uri("/other/ca.crt")).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("certificate verify failed")));
  EXPECT_THAT(LeaseCandidate::Join(uri("/other/ca.crt"), {.address = "a:1"}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("certificate verify failed")));
}

}  // namespace
}  // namespace coppice::storage
