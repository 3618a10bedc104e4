#include "server/store/postgres/postgres_store.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/store_format.h"
#include "tests/server/store/put.h"
#include "tests/support/counter.h"
#include "tests/support/eventually.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::Counter;
using ::coppice::testing::IsOk;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::Put;
using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

// Ends every session of a store, but not the test's own.
constexpr char kEndStores[] =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    "  WHERE pid <> pg_backend_pid() AND application_name = 'coppiced'"
    "  AND datname = current_database()";

class PostgresStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    server_ = &PostgresServer::Shared();
    uri_ = server_->NewDatabase();
  }

  StatusOr<std::unique_ptr<Store>> Open() const { return OpenPostgresStore(uri_); }
  int64_t Count(const std::string& what) const {
    return PostgresServer::Number(uri_, "SELECT count(*) FROM " + what);
  }
  // Waits until `what` counts at least one; fails after a while.
  void WaitFor(const std::string& what) const {
    ASSERT_TRUE(coppice::testing::Eventually([&] { return Count(what) >= 1; })) << what;
  }

  PostgresServer* server_ = nullptr;
  std::string uri_;
};

TEST_F(PostgresStoreTest, KeepsBatchesAcrossReopening) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, Open());
    ASSERT_OK(Put(*store, "key", "value"));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

TEST_F(PostgresStoreTest, OneDaemonUsesIt) {
  ASSERT_OK_AND_ASSIGN(auto store, Open());
  ASSERT_OK(Put(*store, "key", "value"));
  const auto in_use =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another daemon uses it"));
  EXPECT_THAT(Open().status(), in_use);
  EXPECT_THAT(OpenPostgresStoreForReading(uri_).status(), in_use);
  store.reset();
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenPostgresStoreForReading(uri_));
  EXPECT_THAT(*reader->Get("key"), Optional(Eq("value")));
  EXPECT_THAT(Put(*reader, "key", "other"), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(Open().status(), in_use);
}

TEST_F(PostgresStoreTest, ReadingMakesNoTables) {
  EXPECT_THAT(OpenPostgresStoreForReading(uri_).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("holds no store")));
  EXPECT_EQ(Count("pg_namespace WHERE nspname = 'coppice'"), 0);
}

TEST_F(PostgresStoreTest, TablesOfANewerVersionAreRefused) {
  ASSERT_OK(Open());
  PostgresServer::Execute(uri_, "UPDATE coppice.coppice_schema SET version = 9");
  EXPECT_THAT(Open().status(), StatusIs(StatusCode::kFailedPrecondition,
                                        HasSubstr("made by a newer version of Coppice")));
}

// A successor has opened the store while the daemon stood still, whatever became of the lock.
TEST_F(PostgresStoreTest, NothingIsWrittenForAFormerOwner) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  ASSERT_OK(Put(*store, "key", "first"));
  PostgresServer::Execute(uri_, "UPDATE coppice.coppice_owner SET epoch = epoch + 1");
  const auto taken_over =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has taken the store over"));
  EXPECT_THAT(Put(*store, "key", "second"), taken_over);
  EXPECT_THAT(store->Get("key").status(), taken_over);
  EXPECT_EQ(Count("coppice.coppice_records WHERE value = 'first'"), 1);
}

TEST_F(PostgresStoreTest, WhoLosesItsSessionLosesTheStoreToASuccessor) {
  ASSERT_OK_AND_ASSIGN(const auto former, Open());
  ASSERT_OK(Put(*former, "key", "former"));
  PostgresServer::Execute(uri_, kEndStores);
  ASSERT_OK_AND_ASSIGN(auto successor, Open());
  EXPECT_THAT(Put(*former, "key", "late"), StatusIs(StatusCode::kFailedPrecondition, _));
  ASSERT_OK(Put(*successor, "key", "successor"));
  successor.reset();
  EXPECT_THAT(Put(*former, "key", "later"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has taken the store over")));
  EXPECT_EQ(Count("coppice.coppice_records WHERE value = 'successor'"), 1);
}

// The state after a failover, or after restoring a base backup, while no daemon had the store.
TEST_F(PostgresStoreTest, AHistoryThatNobodyVouchesForIsMarkedOnce) {
  const auto come_from_another = [this] {
    PostgresServer::Execute(uri_, "UPDATE coppice.coppice_owner SET history = 'another'");
  };
  const auto mark_in = [](const Store& store) { return *store.Get(kFailoverKey); };
  ASSERT_OK_AND_ASSIGN(auto store, Open());
  const auto reopen = [&] {
    store.reset();
    store = *Open();
  };
  come_from_another();
  reopen();
  EXPECT_EQ(mark_in(*store), std::nullopt) << "there was nothing to lose";
  ASSERT_OK(Put(*store, std::string(kFormatKey), "1"));
  come_from_another();
  reopen();
  EXPECT_THAT(mark_in(*store), Optional(HasSubstr("from history another to")));
  StoreBatch batch;
  batch.Delete(kFailoverKey);
  ASSERT_OK(store->Apply(batch));
  reopen();
  EXPECT_EQ(mark_in(*store), std::nullopt);
}

TEST_F(PostgresStoreTest, GoesOnInANewSessionIfNobodyTookOver) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  ASSERT_OK(Put(*store, "key", "first"));
  PostgresServer::Execute(uri_, kEndStores);
  ASSERT_OK(Put(*store, "key", "second"));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("second")));
  EXPECT_THAT(Open().status(), StatusIs(StatusCode::kFailedPrecondition, _));
}

// The state after a failover to a lagging replica.
TEST_F(PostgresStoreTest, ADatabaseThatLostABatchIsWorkedOnNoMore) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  ASSERT_OK(Put(*store, "key", "first"));
  PostgresServer::Execute(uri_, "DELETE FROM coppice.coppice_batches");
  PostgresServer::Execute(uri_, kEndStores);
  const auto lost = StatusIs(StatusCode::kFailedPrecondition,
                             HasSubstr("lacks a batch that it had acknowledged"));
  // It may notice the end of its session before the batch or within it.
  EXPECT_FALSE(Put(*store, "key", "second").ok());
  EXPECT_THAT(Put(*store, "key", "third"), lost);
  EXPECT_THAT(store->Get("key").status(), lost);
  EXPECT_EQ(Count("coppice.coppice_records WHERE value = 'first'"), 1);
}

// How often a test disturbs the store, and how many batches must be acknowledged before each time.
// These count progress, not time, so that the test ends on any machine: where a session takes
// longer to open than the pause between two kills by the clock, no batch would ever get through.
struct Disturbances {
  int times;
  int batches_before_each;
};

// Applies batches of three keys while `disturb` runs in another thread, and checks that what
// Apply() said of each batch holds.
void ExpectToldIsFound(Store& store, const Disturbances& planned,
                       const std::function<void()>& disturb) {
  Counter acknowledged;
  std::atomic<bool> done = false;
  std::thread disturber([&] {
    for (int i = 0; i < planned.times; ++i) {
      acknowledged.Await(acknowledged.value() + planned.batches_before_each);
      disturb();
    }
    done = true;
  });
  std::vector<bool> told;
  while (!done) {
    StoreBatch batch;
    for (const char* part : {"a", "b", "c"}) {
      batch.Put(StrCat("batch/", told.size(), "/", part), std::string(2000, 'v'));
    }
    told.push_back(store.Apply(batch).ok());
    if (told.back()) acknowledged.Raise();
  }
  disturber.join();
  ASSERT_OK(Put(store, "after", "")) << "it goes on";
  int failed = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    int found = 0;
    ASSERT_OK(store.Scan(StrCat("batch/", i, "/"), [&](std::string_view, std::string_view) {
      ++found;
      return OkStatus();
    }));
    EXPECT_EQ(found, told[i] ? 3 : 0) << i;
    failed += told[i] ? 0 : 1;
  }
  ::testing::Test::RecordProperty("failed", failed);
}

TEST_F(PostgresStoreTest, KilledBackendsLeaveNoBatchHalfAndTellTheOutcome) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  const auto killer = storage::Connection::Open(server_->Uri("postgres"));
  ASSERT_OK(killer.status());
  const std::string kill =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%coppice_%'"
      "  AND pid <> pg_backend_pid() AND state <> 'idle'";
  ExpectToldIsFound(*store, {.times = 60, .batches_before_each = 3}, [&] {
    // Until it meets a session at work, at whatever point of a batch.
    for (int64_t killed = 0; killed == 0;) {
      const auto ended = (*killer)->Run({.sql = kill.c_str()});
      ASSERT_OK(ended.status());
      killed = ended->rows();
    }
  });
}

TEST_F(PostgresStoreTest, AServerThatCrashesKeepsWhatWasAcknowledged) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  ExpectToldIsFound(*store, {.times = 3, .batches_before_each = 100}, [&] {
    server_->Stop("immediate");
    server_->Start();
  });
}

TEST_F(PostgresStoreTest, AnOutcomeThatStaysUnknownStopsReadingUntilItIsKnown) {
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, absl::Milliseconds(500)));
  ASSERT_OK(Put(*store, "key", "first"));
  const auto blocker = storage::Connection::Open(uri_);
  ASSERT_OK(blocker.status());
  ASSERT_OK((*blocker)->RunScript("BEGIN; LOCK TABLE coppice.coppice_records IN EXCLUSIVE MODE"));
  std::thread server_dies([&] {
    WaitFor("pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()");
    server_->Stop("immediate");
  });
  EXPECT_THAT(Put(*store, "key", "second"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("outcome of a batch")));
  server_dies.join();
  EXPECT_THAT(store->Get("key").status(), StatusIs(StatusCode::kUnavailable, _));
  server_->Start();
  EXPECT_THAT(store->Get("key").status(), StatusIs(StatusCode::kUnavailable, _));
  ASSERT_OK(Put(*store, "other", ""));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("first")));
}

// The commit waits for a replica that is not there; an operator cancels the wait.
TEST_F(PostgresStoreTest, ACancelledWaitForAReplicaIsNoAcknowledgement) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  server_->Set("SET synchronous_standby_names = 'absent'");
  const std::string waiting =
      "pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()";
  // A commit's wait, by when its statement began; zero while none waits.
  const auto wait = [&] {
    return PostgresServer::Number(
        uri_, "SELECT coalesce(max(extract(epoch FROM query_start) * 1000000), 0)::bigint FROM " +
                  waiting);
  };
  std::atomic<int> written = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (; !stop; ++written) EXPECT_OK(Put(*store, "key", "value"));
  });
  WaitFor(waiting);
  const int before = written;
  const int64_t cancelled = wait();
  PostgresServer::Execute(uri_, "SELECT pg_cancel_backend(pid) FROM " + waiting);
  // The look-up waits for the replica too.
  EXPECT_TRUE(coppice::testing::Eventually([&] { return wait() > cancelled; }));
  EXPECT_EQ(written, before);
  stop = true;
  server_->Set("RESET synchronous_standby_names");
  writer.join();
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

TEST_F(PostgresStoreTest, SessionsThatWouldLoseCommitsAreRefused) {
  for (const char* level : {"off", "local"}) {
    EXPECT_THAT(OpenPostgresStore(StrCat(uri_, "&options=-csynchronous_commit%3D", level)).status(),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(StrCat("synchronous_commit is ", level)),
                               HasSubstr("RESET synchronous_commit"))));
  }
  PostgresServer::Execute(uri_, "ALTER ROLE owner SET synchronous_commit = off");
  EXPECT_THAT(Open().status(), StatusIs(StatusCode::kFailedPrecondition, _));
  PostgresServer::Execute(uri_, "ALTER ROLE owner RESET synchronous_commit");
  server_->Set("SET fsync = off");
  EXPECT_THAT(Open().status(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("fsync = off")));
  server_->Set("RESET fsync");
  server_->Set("SET synchronous_commit = off");
  EXPECT_OK(Open()) << "a default is overridden";
  server_->Set("RESET synchronous_commit");
}

TEST_F(PostgresStoreTest, NoMessageShowsAPassword) {
  for (const char* uri :
       {"postgresql://u:geheim@/db?host=/nowhere", "postgresql://u:geheim/db",
        "postgresql://u:geheim@h:geheim/db", "postgresql://h/db?geheim=1",
        "postgresql://[geheim/db", "postgresql://u@h/db?password=geheim&port=geheim"}) {
    EXPECT_THAT(OpenPostgresStore(uri).status().ToString(), Not(HasSubstr("geheim"))) << uri;
  }
}

TEST_F(PostgresStoreTest, AScanThatStopsEarlyLeavesTheStoreUsable) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  StoreBatch batch;
  for (int i = 0; i < 200; ++i) batch.Put(StrCat("key", i), std::string(100'000, 'v'));
  ASSERT_OK(store->Apply(batch));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(store->Scan("", [](std::string_view,
                                   std::string_view) { return CancelledError("enough"); }),
                StatusIs(StatusCode::kCancelled, _));
  }
  ASSERT_OK(Put(*store, "key", "value"));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

TEST_F(PostgresStoreTest, RefusesWhatItCannotDo) {
  ASSERT_OK_AND_ASSIGN(const auto store, Open());
  EXPECT_THAT(store->Backup({.folder = "f"}).status(),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("pg_basebackup")));
  EXPECT_THAT(Put(*store, std::string(3000, 'k'), ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2600")));
  StoreBatch batch;
  batch.DeletePrefix("\xff");
  EXPECT_THAT(store->Apply(batch), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_OK(Put(*store, std::string(2600, 'k'), ""));
}

TEST_F(PostgresStoreTest, IdsOfOldBatchesAreRemoved) {
  ASSERT_OK_AND_ASSIGN(auto store, Open());
  ASSERT_OK(Put(*store, "key", ""));
  PostgresServer::Execute(uri_,
                          "UPDATE coppice.coppice_batches SET at = now() - interval '2 days'");
  store.reset();
  ASSERT_OK_AND_ASSIGN(store, Open());
  ASSERT_OK(Put(*store, "key", ""));
  EXPECT_EQ(Count("coppice.coppice_batches"), 1);
  EXPECT_EQ(
      Count("coppice.coppice_batches WHERE epoch = (SELECT epoch FROM coppice.coppice_owner)"), 1);
}

}  // namespace
}  // namespace coppice::storage
