#include "server/store/postgres/lease.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/tables.h"
#include "tests/integration/process.h"
#include "tests/server/store/put.h"
#include "tests/support/eventually.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::Process;
using ::coppice::testing::Put;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::SourcePath;
using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::Not;
using ::testing::NotNull;
using ::testing::Optional;

constexpr absl::Duration kLength = absl::Seconds(1);
constexpr absl::Duration kLook = absl::Milliseconds(50);
// For what must come, and usually does within a second or two.
constexpr absl::Duration kPatience = absl::Minutes(2);

// Tries again and again for `patience`. Errors mean that the database is away.
std::unique_ptr<Lease> TakeWithin(LeaseCandidate& candidate, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (absl::Now() < deadline) {
    auto lease = candidate.TryTake();
    if (lease.ok() && *lease != nullptr) return *std::move(lease);
    absl::SleepFor(kLook);
  }
  return nullptr;
}

class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    server_ = &PostgresServer::Shared();
    uri_ = server_->NewDatabase();
  }

  std::unique_ptr<LeaseCandidate> Join(const std::string& address,
                                       std::function<void()> on_lost = {}) const {
    auto candidate =
        LeaseCandidate::Join(uri_, {.address = address, .length = kLength, .on_lost = on_lost});
    EXPECT_OK(candidate);
    return candidate.ok() ? *std::move(candidate) : nullptr;
  }
  std::unique_ptr<Lease> Lead(const std::string& address,
                              std::function<void()> on_lost = {}) const {
    return TakeWithin(*Join(address, std::move(on_lost)), kPatience);
  }
  // Whether Check() is OK within `patience`.
  static bool ProvenWithin(const Lease& lease, absl::Duration patience) {
    return Within(patience, [&] { return lease.Check().ok(); });
  }
  static bool Within(absl::Duration patience, const std::function<bool()>& is_so) {
    return coppice::testing::Eventually(is_so, absl::ToChronoNanoseconds(patience));
  }
  void Execute(const std::string& sql) const { PostgresServer::Execute(uri_, sql); }
  int64_t Number(const std::string& sql) const { return PostgresServer::Number(uri_, sql); }
  std::unique_ptr<Connection> Session() const {
    auto session = Connection::Open(uri_);
    EXPECT_OK(session);
    return *std::move(session);
  }
  // Ends the sessions whose last statement is like `query`, except a test's own that ends others.
  void EndSessions(const std::string& query) const {
    Execute(StrCat(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '", query,
        "' AND query NOT LIKE '%pg_terminate_backend%' AND pid <> pg_backend_pid() AND datname = "
        "current_database()"));
  }

  PostgresServer* server_ = nullptr;
  std::string uri_;
};

const auto kUnproven = StatusIs(StatusCode::kUnavailable, _);

TEST_F(LeaseTest, IsTakenAfterOneLengthInASession) {
  const auto candidate = Join("a:1");
  const absl::Time joined = absl::Now();
  const auto lease = TakeWithin(*candidate, kPatience);
  ASSERT_THAT(lease, NotNull());
  EXPECT_GE(absl::Now() - joined, kLength);
  EXPECT_OK(lease->Check());
  EXPECT_EQ(candidate->leader().address, "a:1");
  EXPECT_EQ(candidate->leader().epoch, lease->epoch());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "value"));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

TEST_F(LeaseTest, IsKeptByRenewing) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  const auto other = Join("b:1");
  EXPECT_THAT(TakeWithin(*other, 4 * kLength), IsNull());
  EXPECT_EQ(other->leader().address, "a:1");
  EXPECT_TRUE(ProvenWithin(*lease, kPatience));
  EXPECT_EQ(lost, 0);
}

// A candidate that waits for less than the leader's length would lead beside it.
TEST_F(LeaseTest, ACandidateOfAnotherLengthDoesNotLead) {
  const auto leader = Lead("leader");
  ASSERT_THAT(leader, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto hasty,
                       LeaseCandidate::Join(uri_, {.address = "hasty", .length = kLength / 4}));
  EXPECT_THAT(hasty->TryTake(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the same --lease-seconds")));
  EXPECT_EQ(hasty->leader().address, "leader");
  ASSERT_OK(leader->Release());
  EXPECT_THAT(TakeWithin(*hasty, kPatience), NotNull());
}

TEST_F(LeaseTest, IsTakenAtOnceWhenReleased) {
  const auto first = Lead("a:1");
  const auto other = Join("b:1");
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *first));
    ASSERT_OK(Put(*store, "key", "value"));
    ASSERT_THAT(TakeWithin(*other, 1.5 * kLength), IsNull());
  }
  ASSERT_OK(first->Release());
  EXPECT_THAT(first->Check(), kUnproven);
  const auto second = TakeWithin(*other, kPatience);
  ASSERT_THAT(second, NotNull());
  EXPECT_GT(second->epoch(), first->epoch());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *second));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

// The released row may be an old one, if a failover has set the database back.
TEST_F(LeaseTest, IsNotTakenAtOnceInANewSession) {
  ASSERT_OK(Lead("a:1")->Release());
  const auto other = Join("b:1");
  EXPECT_THAT(TakeWithin(*other, 0.8 * kLength), IsNull());
  EXPECT_THAT(TakeWithin(*other, kPatience), NotNull());
}

// The former leader's machine is gone without a word, but the server still has its session.
TEST_F(LeaseTest, IsTakenFromADeadLeaderWhoseSessionStands) {
  auto first = Lead("a:1");
  const auto dead = Session();
  ASSERT_OK(LockDatabase(*dead, absl::ZeroDuration()));
  // The session is even within a batch: a candidate that waited for it would wait for ever.
  ASSERT_OK(dead->RunScript("BEGIN; SELECT epoch FROM coppice.coppice_owner FOR KEY SHARE"));
  const auto other = Join("b:1");
  ASSERT_THAT(TakeWithin(*other, 1.5 * kLength), IsNull());
  const absl::Time died = absl::Now();
  first.reset();
  const auto second = TakeWithin(*other, kPatience);
  ASSERT_THAT(second, NotNull());
  EXPECT_GE(absl::Now() - died, 0.75 * kLength) << "the last renewal was a fifth before at most";
  EXPECT_TRUE(Within(kPatience, [&] { return !dead->IsAlive(); }));
  ASSERT_OK(OpenPostgresStore(uri_, *second));
}

TEST_F(LeaseTest, ACandidatesNewSessionWatchesAnew) {
  auto first = Lead("a:1");
  const auto other = Join("b:1");
  ASSERT_THAT(TakeWithin(*other, 0.3 * kLength), IsNull());
  first.reset();
  ASSERT_THAT(TakeWithin(*other, 0.8 * kLength), IsNull());
  EndSessions("%coppice_owner%");
  const absl::Time ended = absl::Now();
  ASSERT_THAT(TakeWithin(*other, kPatience), NotNull());
  EXPECT_GE(absl::Now() - ended, kLength);
}

TEST_F(LeaseTest, RenewingGoesOnInNewSessions) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  const auto other = Join("b:1");
  // One session after another, each once it has renewed.
  const std::string renewals = "SELECT renewal FROM coppice.coppice_owner";
  for (int i = 0; i < 15; ++i) {
    const int64_t before = Number(renewals);
    EndSessions("UPDATE coppice.coppice_owner SET renewal%");
    ASSERT_TRUE(Within(kPatience, [&] { return Number(renewals) > before; }));
    ASSERT_THAT(*other->TryTake(), IsNull());
  }
  EXPECT_TRUE(ProvenWithin(*lease, kPatience));
  EXPECT_EQ(lost, 0);
}

// An operator's session, or a server that is stuck, keeps renewals waiting.
TEST_F(LeaseTest, AStoreReadsAndWritesNothingWhileItsLeaseIsNotProven) {
  const auto lease = Lead("a:1");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "first"));
  const auto blocker = Session();
  ASSERT_OK(blocker->RunScript("BEGIN; SELECT epoch FROM coppice.coppice_owner FOR UPDATE"));
  ASSERT_TRUE(Within(kPatience, [&] { return !lease->Check().ok(); }));
  EXPECT_THAT(store->Get("key").status(), kUnproven);
  EXPECT_THAT(store->Scan("", [](auto, auto) { return OkStatus(); }), kUnproven);
  EXPECT_THAT(Put(*store, "key", "second"), kUnproven);
  ASSERT_OK(blocker->RunScript("COMMIT"));
  ASSERT_TRUE(ProvenWithin(*lease, kPatience));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("first")));
  EXPECT_OK(Put(*store, "key", "third"));
}

// The lease is still proven when another curator has taken the store, so batches check too.
TEST_F(LeaseTest, AFormerLeadersBatchIsRefusedWhateverItsLeaseSays) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "first"));
  Execute("UPDATE coppice.coppice_owner SET epoch = epoch + 1");
  EXPECT_FALSE(Put(*store, "key", "second").ok());
  EXPECT_EQ(Number("SELECT count(*) FROM coppice.coppice_records WHERE value = 'first'"), 1);
  EXPECT_TRUE(Within(kPatience, [&] { return lost == 1; }));
  EXPECT_THAT(lease->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr("no longer leads")));
}

TEST_F(LeaseTest, AStoreThatLostABatchGivesItsLeaseUp) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "first"));
  Execute("DELETE FROM coppice.coppice_batches");
  EndSessions("%");
  EXPECT_FALSE(Put(*store, "key", "second").ok());
  EXPECT_FALSE(Put(*store, "key", "third").ok());
  EXPECT_TRUE(Within(kPatience, [&] { return lost == 1; }));
  EXPECT_THAT(lease->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr("lacks a batch")));
  EXPECT_THAT(lease->Release(), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(lost, 1);
}

// The state after a failover to a replica that lacks the taking of the lease.
TEST_F(LeaseTest, IsLostIfItsEpochIsGone) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  Execute("UPDATE coppice.coppice_owner SET epoch = epoch - 1");
  EXPECT_TRUE(Within(kPatience, [&] { return lost == 1; }));
  EXPECT_THAT(lease->Check(), kUnproven);
  absl::SleepFor(kLength);
  EXPECT_EQ(lost, 1);
  EXPECT_THAT(lease->Release(), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(LeaseTest, IsLostIfAnOperatorReleasesIt) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  Execute("UPDATE coppice.coppice_owner SET address = ''");
  EXPECT_TRUE(Within(kPatience, [&] { return lost == 1; }));
}

// Two curators take over from the same leader, each in a history that lacks the other.
TEST_F(LeaseTest, EpochsOfTwoHistoriesDiffer) {
  ASSERT_THAT(Join("a:1"), NotNull());
  const auto session = Session();
  const OwnerRow seen{.epoch = 0, .renewal = 0, .address = "", .length = {}, .locked = false};
  ASSERT_OK_AND_ASSIGN(const std::optional<int64_t> first,
                       TakeLease(*session, seen, "a:1", kLength));
  Execute("UPDATE coppice.coppice_owner SET epoch = 0, renewal = 0, address = ''");
  ASSERT_OK_AND_ASSIGN(const std::optional<int64_t> second,
                       TakeLease(*session, seen, "b:1", kLength));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_NE(*first, *second);
  ASSERT_OK_AND_ASSIGN(const std::optional<int64_t> late,
                       TakeLease(*session, seen, "c:1", kLength));
  EXPECT_FALSE(late.has_value()) << "what it saw is no more";
}

// After a failover the database may lack another curator's lease, whose proof must end first.
TEST_F(LeaseTest, ALapsedLeaseCountsOneLengthAfterAnotherServerAnswers) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  server_->Stop("fast");
  ASSERT_TRUE(Within(kPatience, [&] { return !lease->Check().ok(); }));
  const absl::Time answers = absl::Now();
  server_->Start();
  ASSERT_TRUE(ProvenWithin(*lease, kPatience));
  EXPECT_GE(absl::Now() - answers, kLength);
  EXPECT_EQ(lost, 0);
}

TEST_F(LeaseTest, IsNotProvenByAPrimaryWithoutItsReplica) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  const auto other = Join("b:1");
  server_->Set("SET synchronous_standby_names = 'absent'");
  EXPECT_TRUE(Within(kPatience, [&] { return !lease->Check().ok(); }));
  EXPECT_THAT(TakeWithin(*other, 3 * kLength), IsNull());
  EXPECT_THAT(lease->Check(), kUnproven);
  server_->Set("RESET synchronous_standby_names");
  EXPECT_TRUE(ProvenWithin(*lease, kPatience));
  EXPECT_EQ(lost, 0);
}

// While a replica is away nobody can commit, which is no reason to end the leader's batch.
TEST_F(LeaseTest, ABatchThatWaitsForAReplicaIsLeftAlone) {
  const auto lease = Lead("a:1");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  const auto other = Join("b:1");
  server_->Set("SET synchronous_standby_names = 'absent'");
  // The server applies the setting some time after it was told.
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) EXPECT_OK(Put(*store, "key", "value"));
  });
  const std::string waiting =
      "SELECT coalesce(min(pid), 0)::bigint FROM pg_stat_activity JOIN pg_locks USING (pid)"
      "  WHERE wait_event = 'SyncRep' AND locktype = 'advisory'";
  EXPECT_TRUE(Within(kPatience, [&] { return Number(waiting) > 0; }));
  stop = true;
  const int64_t session = Number(waiting);
  EXPECT_THAT(TakeWithin(*other, 6 * kLength), IsNull());
  EXPECT_EQ(Number(waiting), session);
  server_->Set("RESET synchronous_standby_names");
  writer.join();
  EXPECT_TRUE(ProvenWithin(*lease, kPatience));
}

TEST_F(LeaseTest, ASingleDaemonAndAFleetKeepApart) {
  ASSERT_OK_AND_ASSIGN(auto single, OpenPostgresStore(uri_));
  const auto candidate = Join("a:1");
  EXPECT_THAT(TakeWithin(*candidate, 2 * kLength), IsNull());
  ASSERT_OK(Put(*single, "key", "value"));
  EXPECT_EQ(candidate->leader().address, "");
  single.reset();
  auto lease = TakeWithin(*candidate, kPatience);
  ASSERT_THAT(lease, NotNull());
  const auto refused = StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("a fleet works on it"), HasSubstr("a:1")));
  EXPECT_THAT(OpenPostgresStore(uri_).status(), refused);
  lease.reset();
  EXPECT_THAT(OpenPostgresStore(uri_).status(), refused) << "it may come back";
  ASSERT_OK(Lead("b:1")->Release());
  EXPECT_OK(OpenPostgresStore(uri_));
}

// A check or a copy reads the store of a fleet that had ended, and then a curator starts again.
TEST_F(LeaseTest, ReadingAloneIsAnErrorOnceACuratorLeads) {
  Lead("a:1").reset();
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenPostgresStoreForReading(uri_));
  ASSERT_OK(reader->Get("key"));
  const auto lease = Lead("b:1");
  ASSERT_THAT(lease, NotNull());
  ASSERT_OK(OpenPostgresStore(uri_, *lease));
  EXPECT_THAT(reader->Get("key").status(), kUnproven);
  EXPECT_THAT(reader->Scan("", [](auto, auto) { return OkStatus(); }), kUnproven);
}

TEST_F(LeaseTest, MakesNoTablesBesideAnotherDaemonAndRefusesNewerOnes) {
  auto other = Session();
  ASSERT_OK(LockDatabase(*other, absl::ZeroDuration()));
  EXPECT_THAT(LeaseCandidate::Join(uri_, {.address = "a:1", .length = kLength}).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another daemon uses it")));
  other.reset();
  const auto lease = Lead("a:1");
  ASSERT_THAT(lease, NotNull());
  Execute("UPDATE coppice.coppice_schema SET version = 9");
  EXPECT_THAT(LeaseCandidate::Join(uri_, {.address = "b:1", .length = kLength}).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("newer version")));
}

TEST_F(LeaseTest, NeedsAnAddress) {
  EXPECT_THAT(LeaseCandidate::Join(uri_, {}).status(), StatusIs(StatusCode::kInvalidArgument, _));
}

// Renewals update the owner's row, and batches lock it; they must not wait for each other.
TEST_F(LeaseTest, ABatchUnderWayKeepsNoRenewalWaiting) {
  const auto lease = Lead("a:1");
  const auto batch = Session();
  ASSERT_OK(batch->RunScript("BEGIN; SELECT epoch FROM coppice.coppice_owner FOR KEY SHARE"));
  absl::SleepFor(2 * kLength);
  EXPECT_TRUE(ProvenWithin(*lease, 0.5 * kLength));
}

// Several candidates lead for a while; their leases end or are released, they lose their sessions
// or are cut off from the database. Never are two leases proven at once.
class Contest {
 public:
  explicit Contest(int curators) : leases_(curators) {}

  void Lead(int curator, std::shared_ptr<Lease> lease) {
    const MutexLock lock(mutex_);
    leases_[curator] = std::move(lease);
    ++led_;
  }
  std::shared_ptr<Lease> End(int curator) {
    const MutexLock lock(mutex_);
    return std::move(leases_[curator]);
  }
  // Asks the first before and after the second, so that it led when the second did.
  void ExpectAtMostOneLeads() {
    std::vector<std::shared_ptr<Lease>> leases;
    {
      const MutexLock lock(mutex_);
      leases = leases_;
    }
    for (const auto& first : leases) {
      for (const auto& second : leases) {
        if (first == second || first == nullptr || second == nullptr) continue;
        const bool both = first->Check().ok() && second->Check().ok() && first->Check().ok();
        ASSERT_FALSE(both) << first->epoch() << " and " << second->epoch();
      }
    }
  }
  int led() {
    const MutexLock lock(mutex_);
    return led_;
  }

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<Lease>> leases_;
  int led_ = 0;
};

// A database role that can be cut off.
class Contender {
 public:
  Contender(const std::string& uri, int number) : uri_(uri), role_(StrCat("contender", number)) {
    PostgresServer::Execute(uri_, StrCat("CREATE ROLE ", role_, " SUPERUSER LOGIN"));
  }
  std::string uri() const { return StrReplaceAll(uri_, {{"user=owner", "user=" + role_}}); }
  void CutOff() const {
    PostgresServer::Execute(uri_, StrCat("ALTER ROLE ", role_, " NOLOGIN"));
    PostgresServer::Execute(uri_, StrCat("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                         "  WHERE usename = '",
                                         role_, "'"));
  }
  void LetBack() const { PostgresServer::Execute(uri_, StrCat("ALTER ROLE ", role_, " LOGIN")); }

 private:
  const std::string uri_;
  const std::string role_;
};

void Contend(Contest& contest, const Contender& contender, int number, LeaseCandidate& candidate,
             std::mt19937& random) {
  auto lease = TakeWithin(candidate, kLength);
  if (lease == nullptr) return;
  contest.Lead(number, std::move(lease));
  absl::SleepFor(absl::Milliseconds(random() % 1500));
  const int end = static_cast<int>(random() % 3);
  if (end == 0) {
    contender.CutOff();
    absl::SleepFor(2.5 * kLength);
    contender.LetBack();
  }
  const std::shared_ptr<Lease> mine = contest.End(number);
  if (end == 1) mine->Release().IgnoreError();
}

TEST_F(LeaseTest, AtMostOneLeaseIsProvenAtATime) {
  constexpr int kCurators = 3;
  Contest contest(kCurators);
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int number = 0; number < kCurators; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      const Contender contender(uri_, number);
      const auto candidate = LeaseCandidate::Join(
          contender.uri(), {.address = StrCat(number, ":1"), .length = kLength});
      ASSERT_OK(candidate);
      while (!done) Contend(contest, contender, number, **candidate, random);
    });
  }
  std::mt19937 random(7);
  const absl::Time end = absl::Now() + 20 * kLength;
  while (absl::Now() < end || contest.led() < 5) {  // else hardly anything was tried
    for (int i = 0; i < 50; ++i) {
      contest.ExpectAtMostOneLeads();
      absl::SleepFor(absl::Milliseconds(2));
    }
    if (random() % 10 == 0) EndSessions(random() % 2 == 0 ? "UPDATE%" : "SELECT%");
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(LeaseSourceTest, ReadsNoWallClock) {
  const std::string source = ReadWhole(SourcePath("server/store/postgres/lease.cc"));
  EXPECT_THAT(source, AllOf(HasSubstr("CLOCK_BOOTTIME"), Not(HasSubstr("absl::Now")),
                            Not(HasSubstr("CLOCK_REALTIME")), Not(HasSubstr("now()")),
                            Not(HasSubstr("system_clock"))));
}

// A child process that leads, reads and writes in a loop, and prints the results.
constexpr char kChildUri[] = "COPPICE_TEST_LEASE_URI";

TEST(LeaseChild, DISABLED_LeadsReadsAndWrites) {
  const char* const uri = std::getenv(kChildUri);
  ASSERT_NE(uri, nullptr);
  ASSERT_OK_AND_ASSIGN(
      const auto candidate,
      LeaseCandidate::Join(uri, {.address = "child:1", .length = kLength, .on_lost = [] {
                                   std::cout << "lost" << std::endl;
                                   std::_Exit(75);
                                 }}));
  std::unique_ptr<Lease> lease;
  while (lease == nullptr) {
    absl::SleepFor(kLook);
    ASSERT_OK_AND_ASSIGN(lease, candidate->TryTake());
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri, *lease));
  ASSERT_OK(Put(*store, "key", "child"));
  for (;;) {
    const auto value = store->Get("key");
    if (value.ok() && lease->Check().ok()) std::cout << "read " << **value << std::endl;
    if (Put(*store, "key", "child").ok()) std::cout << "wrote" << std::endl;
  }
}

TEST_F(LeaseTest, APausedLeaderReadsAndWritesNothingOverItsSuccessor) {
  setenv(kChildUri, uri_.c_str(), 1);
  Process child({std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=LeaseChild.*",
                 "--gtest_also_run_disabled_tests"});
  const auto lines = [&](std::string_view line) {
    int count = 0;
    for (std::string_view one : StrSplit(child.out(), '\n')) count += one == line;
    return count;
  };
  ASSERT_TRUE(Within(kPatience, [&] { return lines("read child") > 20 && lines("wrote") > 20; }))
      << child.out();
  child.Signal(SIGSTOP);
  const auto lease = Lead("b:1");
  ASSERT_THAT(lease, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "successor"));
  const int read = lines("read child");
  const int wrote = lines("wrote");
  child.Signal(SIGCONT);
  EXPECT_EQ(child.Wait(), 75) << child.out();
  // It may have been about to print a line when it was stopped.
  EXPECT_LE(lines("read child"), read + 1);
  EXPECT_LE(lines("wrote"), wrote + 1);
  EXPECT_EQ(lines("read successor"), 0);
  EXPECT_EQ(lines("lost"), 1);
  EXPECT_THAT(*store->Get("key"), Optional(Eq("successor")));
  EXPECT_TRUE(ProvenWithin(*lease, kPatience));
}

TEST_F(LeaseTest, AKilledLeaderIsFollowedWithAllThatItWrote) {
  setenv(kChildUri, uri_.c_str(), 1);
  Process child({std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=LeaseChild.*",
                 "--gtest_also_run_disabled_tests"});
  ASSERT_TRUE(Within(kPatience, [&] { return child.out().find("wrote") != std::string::npos; }));
  child.Signal(SIGKILL);
  const auto lease = Lead("b:1");
  ASSERT_THAT(lease, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("child")));
}

}  // namespace
}  // namespace coppice::storage
