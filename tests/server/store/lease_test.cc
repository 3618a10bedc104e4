#include "server/store/postgres/lease.h"

#include <atomic>
#include <chrono>
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

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/tables.h"
#include "tests/integration/process.h"
#include "tests/server/store/moved_clock.h"
#include "tests/server/store/put.h"
#include "tests/support/eventually.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::Eventually;
using ::coppice::testing::IsOk;
using ::coppice::testing::MovedClock;
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

constexpr absl::Duration kLength = absl::Seconds(5);
constexpr absl::Duration kTick = absl::Milliseconds(1);
const absl::Duration kBetweenRenewals = kLength / 5;
// For what comes when the clock has moved far enough, but not if a session was lost: half a second
// on a slow machine.
constexpr std::chrono::seconds kBeforeNextTry{3};

// Null also if the database does not answer.
std::unique_ptr<Lease> TryTake(LeaseCandidate& candidate) {
  auto lease = candidate.TryTake();
  return lease.ok() ? *std::move(lease) : nullptr;
}

// Tries again and again, as the database or the former leader may need a moment.
std::unique_ptr<Lease> Take(LeaseCandidate& candidate) {
  std::unique_ptr<Lease> lease;
  Eventually([&] {
    lease = TryTake(candidate);
    return lease != nullptr;
  });
  return lease;
}

std::unique_ptr<LeaseCandidate> JoinFleet(const std::string& uri, LeaseOptions options) {
  auto candidate = LeaseCandidate::Join(uri, std::move(options));
  EXPECT_OK(candidate);
  return candidate.ok() ? *std::move(candidate) : nullptr;
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
    return JoinFleet(
        uri_,
        {.address = address, .length = kLength, .on_lost = std::move(on_lost), .clock = &clock_});
  }
  // Takes the lease once the clock has moved by its length.
  std::unique_ptr<Lease> Lead(const std::string& address, std::function<void()> on_lost = {}) {
    const auto candidate = Join(address, std::move(on_lost));
    EXPECT_THAT(TryTake(*candidate), IsNull()) << "it has just begun to watch";
    clock_.Advance(kLength);
    return Take(*candidate);
  }
  // Moves the clock to the leader's next renewal, and waits for it. Moves it on if that fails.
  void PassRenewal() {
    const int64_t before = Renewals();
    for (int i = 0; i < 50; ++i) {
      clock_.Advance(kBetweenRenewals);
      if (Eventually([&] { return Renewals() > before; }, kBeforeNextTry)) return;
    }
    FAIL() << "the lease is not renewed";
  }
  // Moves the clock until a renewal proves the lease.
  bool IsProven(const Lease& lease) {
    for (int i = 0; i < 10 && !lease.Check().ok(); ++i) PassRenewal();
    return Eventually([&] { return lease.Check().ok(); }, kBeforeNextTry);
  }
  int64_t Renewals() const { return Number("SELECT renewal FROM coppice.coppice_owner"); }
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
  MovedClock clock_;
};

const auto kUnproven = StatusIs(StatusCode::kUnavailable, _);

TEST_F(LeaseTest, IsTakenAfterOneLengthInASession) {
  const auto candidate = Join("a:1");
  EXPECT_THAT(TryTake(*candidate), IsNull());
  clock_.Advance(kLength - kTick);
  EXPECT_THAT(TryTake(*candidate), IsNull());
  clock_.Advance(kTick);
  const auto lease = Take(*candidate);
  ASSERT_THAT(lease, NotNull());
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
  for (int i = 0; i < 20; ++i) {  // four lengths
    ASSERT_THAT(TryTake(*other), IsNull());
    PassRenewal();
  }
  EXPECT_EQ(other->leader().address, "a:1");
  EXPECT_TRUE(IsProven(*lease));
  EXPECT_EQ(lost, 0);
}

// A candidate that waits for less than the leader's length would lead beside it.
TEST_F(LeaseTest, ACandidateOfAnotherLengthDoesNotLead) {
  const auto leader = Lead("leader");
  ASSERT_THAT(leader, NotNull());
  const auto hasty = JoinFleet(uri_, {.address = "hasty", .length = kLength / 4, .clock = &clock_});
  EXPECT_THAT(hasty->TryTake(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the same --lease-seconds")));
  EXPECT_EQ(hasty->leader().address, "leader");
  ASSERT_OK(leader->Release());
  clock_.Advance(kLength / 4);
  EXPECT_THAT(Take(*hasty), NotNull());
}

TEST_F(LeaseTest, IsTakenAtOnceWhenReleased) {
  const auto first = Lead("a:1");
  const auto other = Join("b:1");
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *first));
    ASSERT_OK(Put(*store, "key", "value"));
    for (int i = 0; i < 7; ++i) {
      ASSERT_THAT(TryTake(*other), IsNull());
      PassRenewal();
    }
  }
  ASSERT_OK(first->Release());
  EXPECT_THAT(first->Check(), kUnproven);
  const auto second = Take(*other);
  ASSERT_THAT(second, NotNull());
  EXPECT_GT(second->epoch(), first->epoch());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *second));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("value")));
}

// The released row may be an old one, if a failover has set the database back.
TEST_F(LeaseTest, IsNotTakenAtOnceInANewSession) {
  ASSERT_OK(Lead("a:1")->Release());
  const auto other = Join("b:1");
  EXPECT_THAT(TryTake(*other), IsNull());
  clock_.Advance(kLength - kTick);
  EXPECT_THAT(TryTake(*other), IsNull());
  clock_.Advance(kTick);
  EXPECT_THAT(Take(*other), NotNull());
}

// The former leader's machine is gone without a word, but the server still has its session.
TEST_F(LeaseTest, IsTakenFromADeadLeaderWhoseSessionStands) {
  auto first = Lead("a:1");
  const auto dead = Session();
  ASSERT_OK(LockDatabase(*dead, absl::ZeroDuration()));
  // The session is even within a batch: a candidate that waited for it would wait for ever.
  ASSERT_OK(dead->RunScript("BEGIN; SELECT epoch FROM coppice.coppice_owner FOR KEY SHARE"));
  const auto other = Join("b:1");
  for (int i = 0; i < 7; ++i) {
    PassRenewal();
    ASSERT_THAT(TryTake(*other), IsNull());
  }
  first.reset();
  clock_.Advance(kLength - kTick);
  ASSERT_THAT(TryTake(*other), IsNull()) << "its last renewal was less than one length before";
  clock_.Advance(kTick);
  const auto second = Take(*other);
  ASSERT_THAT(second, NotNull());
  EXPECT_TRUE(Eventually([&] { return !dead->IsAlive(); }));
  ASSERT_OK(OpenPostgresStore(uri_, *second));
}

TEST_F(LeaseTest, ACandidatesNewSessionWatchesAnew) {
  auto first = Lead("a:1");
  const auto other = Join("b:1");
  ASSERT_THAT(TryTake(*other), IsNull());
  first.reset();
  clock_.Advance(kLength - kTick);
  ASSERT_THAT(TryTake(*other), IsNull());
  EndSessions("%coppice_owner%");
  EXPECT_TRUE(Eventually([&] {  // the first look may be in the session that ended
    const auto look = other->TryTake();
    return look.ok() && *look == nullptr;
  }));
  clock_.Advance(kLength - kTick);
  ASSERT_THAT(TryTake(*other), IsNull());
  clock_.Advance(kTick);
  EXPECT_THAT(Take(*other), NotNull());
}

TEST_F(LeaseTest, RenewingGoesOnInNewSessions) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  const auto other = Join("b:1");
  // One session after another, each once it has renewed.
  for (int i = 0; i < 15; ++i) {
    const int64_t before = Renewals();
    EndSessions("UPDATE coppice.coppice_owner SET renewal%");
    ASSERT_TRUE(Eventually([&] {  // the first try may be in the session that ended
      if (Renewals() > before) return true;
      clock_.Advance(kBetweenRenewals / 10);
      return false;
    }));
    ASSERT_THAT(*other->TryTake(), IsNull());
  }
  EXPECT_TRUE(IsProven(*lease));
  EXPECT_EQ(lost, 0);
}

// An operator's session, or a server that is stuck, keeps renewals waiting.
TEST_F(LeaseTest, AStoreReadsAndWritesNothingWhileItsLeaseIsNotProven) {
  const auto lease = Lead("a:1");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  ASSERT_OK(Put(*store, "key", "first"));
  const auto blocker = Session();
  ASSERT_OK(blocker->RunScript("BEGIN; SELECT epoch FROM coppice.coppice_owner FOR UPDATE"));
  clock_.Advance(kLength);
  EXPECT_THAT(lease->Check(), kUnproven);
  EXPECT_THAT(store->Get("key").status(), kUnproven);
  EXPECT_THAT(store->Scan("", [](auto, auto) { return OkStatus(); }), kUnproven);
  EXPECT_THAT(Put(*store, "key", "second"), kUnproven);
  ASSERT_OK(blocker->RunScript("COMMIT"));
  ASSERT_TRUE(IsProven(*lease));
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
  clock_.Advance(kBetweenRenewals);
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
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
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
  EXPECT_THAT(lease->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr("lacks a batch")));
  EXPECT_THAT(lease->Release(), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(lost, 1);
}

// The state after a failover to a replica that lacks the taking of the lease.
TEST_F(LeaseTest, IsLostIfItsEpochIsGone) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  Execute("UPDATE coppice.coppice_owner SET epoch = epoch - 1");
  clock_.Advance(kBetweenRenewals);
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
  EXPECT_THAT(lease->Check(), kUnproven);
  clock_.Advance(kLength);
  EXPECT_THAT(lease->Release(), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(lost, 1) << "it renews no more";
}

TEST_F(LeaseTest, IsLostIfAnOperatorReleasesIt) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  Execute("UPDATE coppice.coppice_owner SET address = ''");
  clock_.Advance(kBetweenRenewals);
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
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
  clock_.Advance(kLength);
  EXPECT_THAT(lease->Check(), kUnproven);
  const absl::Duration answers = clock_.Now();
  server_->Start();
  while (clock_.Now() < answers + kLength - kBetweenRenewals) {
    PassRenewal();
    EXPECT_THAT(lease->Check(), kUnproven) << "it is renewed, but proves nothing yet";
  }
  ASSERT_TRUE(IsProven(*lease));
  EXPECT_GE(clock_.Now(), answers + kLength);
  EXPECT_EQ(lost, 0);
}

TEST_F(LeaseTest, IsNotProvenByAPrimaryWithoutItsReplica) {
  std::atomic<int> lost = 0;
  const auto lease = Lead("a:1", [&] { ++lost; });
  const auto other = Join("b:1");
  server_->Set("SET synchronous_standby_names = 'absent'");
  // The server's processes apply the setting one after the other.
  ASSERT_TRUE(Eventually([&] {
    clock_.Advance(kBetweenRenewals);
    return Number(
               "SELECT count(*) FROM pg_stat_activity"
               "  WHERE wait_event = 'SyncRep' AND datname = current_database()") > 0;
  }));
  clock_.Advance(kLength);
  EXPECT_THAT(lease->Check(), kUnproven);
  EXPECT_THAT(TryTake(*other), IsNull());
  clock_.Advance(kLength);
  EXPECT_THAT(TryTake(*other), IsNull());
  EXPECT_THAT(lease->Check(), kUnproven);
  server_->Set("RESET synchronous_standby_names");
  EXPECT_TRUE(IsProven(*lease));
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
  EXPECT_TRUE(Eventually([&] { return Number(waiting) > 0; }));
  stop = true;
  const int64_t session = Number(waiting);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(TryTake(*other), IsNull());
    clock_.Advance(kLength);
  }
  EXPECT_EQ(Number(waiting), session);
  server_->Set("RESET synchronous_standby_names");
  writer.join();
  EXPECT_TRUE(IsProven(*lease));
}

TEST_F(LeaseTest, ASingleDaemonAndAFleetKeepApart) {
  ASSERT_OK_AND_ASSIGN(auto single, OpenPostgresStore(uri_));
  const auto candidate = Join("a:1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(TryTake(*candidate), IsNull());
    clock_.Advance(kLength);
  }
  ASSERT_OK(Put(*single, "key", "value"));
  EXPECT_EQ(candidate->leader().address, "");
  single.reset();
  auto lease = Take(*candidate);
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
  for (int i = 0; i < 10; ++i) PassRenewal();
  EXPECT_TRUE(Eventually([&] { return lease->Check().ok(); })) << "the clock stands still";
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

constexpr int kContestedLeads = 30;

// One curator of a contest, which runs in a thread of its own until there were enough leaders.
void Contend(Contest& contest, int number, const Contender& contender, LeaseCandidate& candidate,
             MovedClock& clock) {
  std::mt19937 random(number);
  while (contest.led() < kContestedLeads) {
    std::unique_ptr<Lease> lease = TryTake(candidate);
    if (lease == nullptr) {
      clock.Await(clock.Now() + kLength / 20);
      continue;
    }
    contest.Lead(number, std::move(lease));
    clock.Await(clock.Now() + kLength * (random() % 1500) / 1000);
    const int end = static_cast<int>(random() % 3);
    if (end == 0) {
      contender.CutOff();
      clock.Await(clock.Now() + 2.5 * kLength);
      contender.LetBack();
    }
    const std::shared_ptr<Lease> mine = contest.End(number);
    if (end == 1) mine->Release().IgnoreError();
  }
}

TEST_F(LeaseTest, AtMostOneLeaseIsProvenAtATime) {
  constexpr int kCurators = 3;
  Contest contest(kCurators);
  std::vector<Contender> contenders;
  std::vector<std::unique_ptr<LeaseCandidate>> candidates;
  for (int number = 0; number < kCurators; ++number) {
    contenders.emplace_back(uri_, number);
    candidates.push_back(
        JoinFleet(contenders.back().uri(),
                  {.address = StrCat(number, ":1"), .length = kLength, .clock = &clock_}));
    ASSERT_THAT(candidates.back(), NotNull());
  }
  std::atomic<int> contending = kCurators;
  std::vector<std::thread> threads;
  for (int number = 0; number < kCurators; ++number) {
    threads.emplace_back([&, number] {
      Contend(contest, number, contenders[number], *candidates[number], clock_);
      --contending;
    });
  }
  std::mt19937 random(7);
  while (contending > 0) {
    for (int i = 0; i < 5; ++i) contest.ExpectAtMostOneLeads();
    clock_.Advance(kLength * (random() % 100) / 5000);
    if (random() % 100 == 0) EndSessions(random() % 2 == 0 ? "UPDATE%" : "SELECT%");
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LeaseSourceTest, ReadsNoWallClock) {
  const std::string source = ReadWhole(SourcePath("server/store/postgres/lease.cc"));
  EXPECT_THAT(source, AllOf(HasSubstr("CLOCK_BOOTTIME"), Not(HasSubstr("absl::Now")),
                            Not(HasSubstr("CLOCK_REALTIME")), Not(HasSubstr("now()")),
                            Not(HasSubstr("system_clock"))));
}

// A child process that leads, reads and writes in a loop, and prints the results. It and its
// successor go by the machine's clock.
constexpr char kChildUri[] = "COPPICE_TEST_LEASE_URI";
constexpr absl::Duration kChildLength = absl::Seconds(1);

std::unique_ptr<Lease> SucceedTheChild(const std::string& uri) {
  return Take(*JoinFleet(uri, {.address = "b:1", .length = kChildLength}));
}

TEST(LeaseChild, DISABLED_LeadsReadsAndWrites) {
  const char* const uri = std::getenv(kChildUri);
  ASSERT_NE(uri, nullptr);
  const auto candidate =
      JoinFleet(uri, {.address = "child:1", .length = kChildLength, .on_lost = [] {
                        std::cout << "lost" << std::endl;
                        std::_Exit(75);
                      }});
  const auto lease = Take(*candidate);
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
  ASSERT_TRUE(Eventually([&] { return lines("read child") > 20 && lines("wrote") > 20; }))
      << child.out();
  child.Signal(SIGSTOP);
  const auto lease = SucceedTheChild(uri_);
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
  EXPECT_TRUE(Eventually([&] { return lease->Check().ok(); }));
}

TEST_F(LeaseTest, AKilledLeaderIsFollowedWithAllThatItWrote) {
  setenv(kChildUri, uri_.c_str(), 1);
  Process child({std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=LeaseChild.*",
                 "--gtest_also_run_disabled_tests"});
  ASSERT_TRUE(Eventually([&] { return StrContains(child.out(), "wrote"); }));
  child.Signal(SIGKILL);
  const auto lease = SucceedTheChild(uri_);
  ASSERT_THAT(lease, NotNull());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenPostgresStore(uri_, *lease));
  EXPECT_THAT(*store->Get("key"), Optional(Eq("child")));
}

}  // namespace
}  // namespace coppice::storage
