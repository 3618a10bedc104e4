#include "server/datasets/ledger/ledger.h"

#include <atomic>
#include <cmath>
#include <string_view>
#include <thread>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr auto kExhausted = StatusCode::kResourceExhausted;
constexpr auto kExists = StatusCode::kAlreadyExists;
constexpr auto kInvalid = StatusCode::kInvalidArgument;
constexpr auto kPrecondition = StatusCode::kFailedPrecondition;

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ledger_, OpenLedger(store_));
    ASSERT_OK(ledger_->OpenAccount("patients", BasicCap(3 * kEpsilon), {}));
  }

  Status Reserve(std::string_view job, uint64_t nanos) {
    return ledger_->Reserve("patients", job, Releases(nanos), {});
  }
  Status Settle(std::string_view job, uint64_t nanos) {
    return ledger_->Settle("patients", job, Releases(nanos), {});
  }
  Status Return(std::string_view job) { return ledger_->Return("patients", job, {}); }
  uint64_t Spent() { return ledger_->Get("patients")->spent.epsilon_nanos; }

  MemoryStore store_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(LedgerTest, AnAccountBeginsWithItsCapAndNothingSpent) {
  ASSERT_OK(ledger_->OpenAccount("labels", ZcdpCap(kEpsilon), {}));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger_->Get("labels"));
  EXPECT_EQ(account.dataset, "labels");
  EXPECT_EQ(account.cap, ZcdpCap(kEpsilon));
  EXPECT_EQ(account.spent, Cost());
  EXPECT_EQ(account.left.rho_pico, RhoCap(account.cap));
  ASSERT_EQ(account.entries.size(), 1u);
  EXPECT_EQ(account.entries[0].kind, EntryKind::kOpen);
  EXPECT_EQ(account.entries[0].unix_seconds, kNow);
  EXPECT_EQ(account.head, account.entries[0].hash);
}

TEST_F(LedgerTest, AnAccountIsOpenedOnceWithASoundCap) {
  EXPECT_THAT(ledger_->OpenAccount("patients", BasicCap(kEpsilon), {}),
              StatusIs(kExists, HasSubstr("patients")));
  EXPECT_THAT(ledger_->OpenAccount("a/b", BasicCap(kEpsilon), {}),
              StatusIs(kInvalid, HasSubstr("dataset")));
  EXPECT_THAT(ledger_->OpenAccount("none", BasicCap(0), {}), StatusIs(kInvalid, HasSubstr("zero")));
  EXPECT_FALSE(ledger_->Get("none").ok());
  EXPECT_OK(ledger_->OpenAccount("none", BasicCap(1), {}));
}

TEST_F(LedgerTest, UnknownDatasetsAreNotFound) {
  const auto not_found = StatusIs(StatusCode::kNotFound, HasSubstr("nobody"));
  EXPECT_THAT(ledger_->Get("nobody"), not_found);
  EXPECT_THAT(ledger_->Preview("nobody", Releases(1)), not_found);
  EXPECT_THAT(ledger_->Reserve("nobody", "job", Releases(1), {}), not_found);
  EXPECT_THAT(ledger_->Settle("nobody", "job", Releases(1), {}), not_found);
  EXPECT_THAT(ledger_->Return("nobody", "job", {}), not_found);
}

TEST_F(LedgerTest, JobsAreChargedToTheCapAndNotBeyond) {
  EXPECT_OK(Reserve("a", kEpsilon));
  EXPECT_OK(Reserve("b", kEpsilon + 1));
  EXPECT_THAT(Reserve("c", kEpsilon),
              StatusIs(kExhausted, AllOf(HasSubstr("needs epsilon 1"),
                                         HasSubstr("0.999999999 is left of the dataset's 3"))));
  EXPECT_EQ(Spent(), 2 * kEpsilon + 1);
  EXPECT_OK(Reserve("c", kEpsilon - 1));
  EXPECT_THAT(Reserve("d", 1), StatusIs(kExhausted, HasSubstr("0 is left")));
  EXPECT_EQ(Spent(), 3 * kEpsilon);
}

TEST_F(LedgerTest, AJobReservesOnceWhateverBecameOfIt) {
  const auto exists = StatusIs(kExists, HasSubstr("job \"a\""));
  ASSERT_OK(Reserve("a", 1));
  EXPECT_THAT(Reserve("a", 1), exists);
  ASSERT_OK(Return("a"));
  EXPECT_THAT(Reserve("a", 1), exists);
}

TEST_F(LedgerTest, ReservesOnlyWhatCosts) {
  const auto free = StatusIs(kInvalid, HasSubstr("costs nothing"));
  EXPECT_THAT(ledger_->Reserve("patients", "a", {}, {}),
              StatusIs(kInvalid, HasSubstr("plans no release")));
  EXPECT_THAT(Reserve("a", 0), free);
  EXPECT_THAT(ledger_->Reserve("patients", "a", Releases(1, 0), {}), free);
  EXPECT_THAT(Reserve("A b", 1), StatusIs(kInvalid, HasSubstr("job: must be")));
  EXPECT_THAT(ledger_->Reserve("patients", "a", Releases(UINT64_MAX, 2), {}),
              StatusIs(kInvalid, HasSubstr("too large")));
  EXPECT_EQ(ledger_->Get("patients")->entries.size(), 1u);
}

TEST_F(LedgerTest, WhatCouldNotBeReadBackIsNotStored) {
  std::vector<Release> releases = Releases(1);
  releases[0].what = "\xff";
  EXPECT_THAT(ledger_->Reserve("patients", "a", releases, {}),
              StatusIs(kInvalid, HasSubstr("UTF-8")));
  EXPECT_OK(OpenLedger(store_));
}

TEST_F(LedgerTest, ACheaperJobIsChargedWhatItReserved) {
  ASSERT_OK(Reserve("a", kEpsilon));
  ASSERT_OK(Settle("a", kEpsilon / 2));
  ASSERT_OK(Reserve("failed", kEpsilon));
  ASSERT_OK(ledger_->Settle("patients", "failed", {}, {}));
  EXPECT_EQ(Spent(), 2 * kEpsilon);
}

TEST_F(LedgerTest, ADearerJobIsRefusedAndStaysReserved) {
  ASSERT_OK(Reserve("a", kEpsilon));
  const size_t writes = store_.writes();
  EXPECT_THAT(
      Settle("a", kEpsilon + 1),
      StatusIs(StatusCode::kInternal, AllOf(HasSubstr("made releases of epsilon 1.000000001"),
                                            HasSubstr("reserved epsilon 1 "))));
  EXPECT_EQ(store_.writes(), writes);
  EXPECT_EQ(Spent(), kEpsilon);
  EXPECT_OK(Settle("a", kEpsilon));
}

TEST_F(LedgerTest, UnderZcdpAJobMayNotGatherItsReleasesIntoOne) {
  ASSERT_OK(ledger_->OpenAccount("labels", ZcdpCap(4 * kEpsilon), {}));
  ASSERT_OK(ledger_->Reserve("labels", "a", Releases(kEpsilon / 10, 10), {}));
  EXPECT_THAT(ledger_->Settle("labels", "a", Releases(kEpsilon / 2), {}),
              StatusIs(StatusCode::kInternal, HasSubstr("rho 0.125")));
  EXPECT_OK(ledger_->Settle("labels", "a", Releases(kEpsilon / 10, 10), {}));
}

TEST_F(LedgerTest, AReturnGivesTheBudgetBackExactlyOnce) {
  ASSERT_OK(Reserve("a", kEpsilon));
  ASSERT_OK(Reserve("b", 2 * kEpsilon));
  ASSERT_OK(Return("a"));
  EXPECT_EQ(Spent(), 2 * kEpsilon);
  EXPECT_THAT(Return("a"), StatusIs(kPrecondition, HasSubstr("is returned already")));
  EXPECT_THAT(Settle("a", 1), StatusIs(kPrecondition, HasSubstr("is returned already")));
  EXPECT_EQ(Spent(), 2 * kEpsilon);
  EXPECT_OK(Reserve("c", kEpsilon));
}

TEST_F(LedgerTest, OnlyAReservationThatStandsMayEnd) {
  EXPECT_THAT(Settle("a", 1), StatusIs(kPrecondition, HasSubstr("reserved nothing")));
  EXPECT_THAT(Return("a"), StatusIs(kPrecondition, HasSubstr("reserved nothing")));
  ASSERT_OK(Reserve("a", 1));
  ASSERT_OK(Settle("a", 1));
  EXPECT_THAT(Settle("a", 1), StatusIs(kPrecondition, HasSubstr("is settled already")));
  EXPECT_THAT(Return("a"), StatusIs(kPrecondition, HasSubstr("is settled already")));
  EXPECT_EQ(Spent(), 1u);
}

TEST_F(LedgerTest, EveryReleaseIsListedWithItsCost) {
  ASSERT_OK(Reserve("a", 5));
  ASSERT_OK(Reserve("b", 7));
  ASSERT_OK(Settle("a", 4));
  ASSERT_OK(Return("b"));
  const std::vector<LedgerEntry> entries = ledger_->Get("patients")->entries;
  const auto entry = [](EntryKind kind, std::string_view job, const std::vector<Release>& releases,
                        uint64_t nanos) {
    const Cost cost = {.epsilon_nanos = nanos, .delta_atto = 0, .rho_pico = nanos > 0 ? 1u : 0u};
    return AllOf(Field(&LedgerEntry::kind, kind), Field(&LedgerEntry::job, std::string(job)),
                 Field(&LedgerEntry::releases, releases), Field(&LedgerEntry::cost, cost),
                 Field(&LedgerEntry::unix_seconds, kNow));
  };
  EXPECT_THAT(entries, ElementsAre(entry(EntryKind::kOpen, "", {}, 0),
                                   entry(EntryKind::kReserve, "a", Releases(5), 5),
                                   entry(EntryKind::kReserve, "b", Releases(7), 7),
                                   entry(EntryKind::kSettle, "a", Releases(4), 4),
                                   entry(EntryKind::kReturn, "b", {}, 7)));
  for (size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entries[i].sequence, i);
}

TEST_F(LedgerTest, APreviewIsWhatReserveWouldAnswerAndReservesNothing) {
  ASSERT_OK(Reserve("a", kEpsilon));
  ASSERT_OK_AND_ASSIGN(const Quote fitting, ledger_->Preview("patients", Releases(kEpsilon / 2)));
  EXPECT_OK(fitting.fits);
  EXPECT_EQ(fitting.cost.epsilon_nanos, kEpsilon / 2);
  EXPECT_EQ(fitting.left.epsilon_nanos, 3 * kEpsilon / 2);
  ASSERT_OK_AND_ASSIGN(const Quote large, ledger_->Preview("patients", Releases(3 * kEpsilon)));
  EXPECT_THAT(large.fits, StatusIs(kExhausted, HasSubstr("2 is left")));
  EXPECT_EQ(large.left.epsilon_nanos, 2 * kEpsilon);
  EXPECT_EQ(Spent(), kEpsilon);
}

TEST_F(LedgerTest, AnAccountHasTheEntriesThatWereAskedFor) {
  ASSERT_OK(Reserve("a", 5));
  ASSERT_OK(Reserve("b", 7));
  ASSERT_OK_AND_ASSIGN(const Account whole, ledger_->Get("patients"));
  ASSERT_EQ(whole.entries.size(), 3u);
  const auto entries_in = [&](const EntryRange& range) {
    const Account account = *ledger_->Get("patients", range);
    EXPECT_EQ(account.num_entries, 3u);
    EXPECT_EQ(account.head, whole.head);
    EXPECT_EQ(account.spent, whole.spent);
    return account.entries;
  };
  EXPECT_EQ(entries_in({.first = 1, .max = 1}), std::vector{whole.entries[1]});
  EXPECT_EQ(entries_in({.first = 2, .max = 5}), std::vector{whole.entries[2]});
  EXPECT_EQ(entries_in({.first = 2}), std::vector{whole.entries[2]});
  EXPECT_TRUE(entries_in({.first = 3}).empty());
  EXPECT_TRUE(entries_in({.first = ~uint64_t{0}}).empty());
  EXPECT_TRUE(entries_in(kNoEntries).empty());
}

TEST_F(LedgerTest, AReopenedLedgerIsTheSame) {
  ASSERT_OK(ledger_->OpenAccount("labels", ZcdpCap(kEpsilon), {}));
  ASSERT_OK(Reserve("a", 5));
  ASSERT_OK(Reserve("b", 7));
  ASSERT_OK(Return("a"));
  ASSERT_OK(ledger_->Reserve("labels", "a", Releases(11, 3), {}));
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenLedger(store_));
  for (const char* dataset : {"patients", "labels"}) {
    ASSERT_OK_AND_ASSIGN(const Account before, ledger_->Get(dataset));
    ASSERT_OK_AND_ASSIGN(const Account after, reopened->Get(dataset));
    EXPECT_EQ(after.cap, before.cap);
    EXPECT_EQ(after.spent, before.spent);
    EXPECT_EQ(after.entries, before.entries);
    EXPECT_EQ(after.head, before.head);
  }
  EXPECT_THAT(reopened->Return("patients", "a", {}), StatusIs(kPrecondition, HasSubstr("already")));
}

TEST_F(LedgerTest, ADeletedDatasetKeepsItsLedger) {
  ASSERT_OK(ledger_->Reserve("patients", "a", Releases(5), Marker("dataset/patients/")));
  storage::StoreBatch deletion;
  deletion.DeletePrefix("dataset/patients/");
  ASSERT_OK(store_.Apply(deletion));
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenLedger(store_));
  EXPECT_EQ(reopened->Get("patients")->spent.epsilon_nanos, 5u);
  EXPECT_THAT(reopened->OpenAccount("patients", BasicCap(kEpsilon), {}),
              StatusIs(kExists, HasSubstr("does not end it")));
}

TEST_F(LedgerTest, ACallersWritesStayOffTheLedger) {
  storage::StoreBatch put, wipe, wipe_all;
  put.Put(LedgerKey("patients", 0), "");
  wipe.DeletePrefix("ledger/patients/");
  wipe_all.DeletePrefix("l");
  for (const storage::StoreBatch& with : {put, wipe, wipe_all}) {
    EXPECT_THAT(ledger_->Reserve("patients", "a", Releases(5), with),
                StatusIs(StatusCode::kInternal, HasSubstr("keys of the ledger")));
  }
  storage::StoreBatch other;
  other.DeletePrefix("dataset/");
  EXPECT_OK(ledger_->Reserve("patients", "a", Releases(5), other));
}

TEST_F(LedgerTest, AFailedWriteChangesNothing) {
  ASSERT_OK(Reserve("a", 5));
  store_.FailWrites(ResourceExhaustedError("the disk is full"));
  const auto full = StatusIs(kExhausted, HasSubstr("disk is full"));
  EXPECT_THAT(Reserve("b", 7), full);
  EXPECT_THAT(Settle("a", 5), full);
  EXPECT_THAT(Return("a"), full);
  EXPECT_THAT(ledger_->OpenAccount("labels", ZcdpCap(kEpsilon), {}), full);
  EXPECT_EQ(Spent(), 5u);
  EXPECT_FALSE(ledger_->Get("labels").ok());
  store_.FailWrites(OkStatus());
  EXPECT_OK(Reserve("b", 7));
  EXPECT_OK(Return("a"));
  EXPECT_OK(ledger_->OpenAccount("labels", ZcdpCap(kEpsilon), {}));
  EXPECT_EQ(Spent(), 7u);
}

TEST(LedgerDoubtTest, AFailedReservationThatIsFoundLaterCounts) {
  MemoryStore disk;
  CrashingStore store(disk, {.write = 1, .kept = true});
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", BasicCap(10), {}));
  EXPECT_FALSE(ledger->Reserve("d", "a", Releases(6), Marker("job/a")).ok());
  // The caller's record of job a is on the disk: job b must not take its place in the ledger.
  EXPECT_THAT(ledger->Reserve("d", "b", Releases(6), {}), StatusIs(kExhausted, HasSubstr("left")));
  EXPECT_THAT(ledger->Reserve("d", "a", Releases(6), {}), StatusIs(kExists, HasSubstr("entry")));
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 6u);
  EXPECT_OK(ledger->Settle("d", "a", Releases(6), {}));
}

TEST(LedgerDoubtTest, AFailedOpeningThatIsFoundLaterCounts) {
  MemoryStore disk;
  CrashingStore store(disk, {.write = 0, .kept = true});
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  EXPECT_FALSE(ledger->OpenAccount("d", BasicCap(10), {}).ok());
  EXPECT_FALSE(ledger->Get("d").ok());
  EXPECT_THAT(ledger->OpenAccount("d", BasicCap(1000), {}), StatusIs(kExists, HasSubstr("d")));
  EXPECT_EQ(ledger->Get("d")->cap, BasicCap(10));
}

TEST(LedgerThreadsTest, ReadingDoesNotWaitForTheDisk) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", BasicCap(10), {}));
  store.HoldWrites();
  std::thread writer([&] { EXPECT_OK(ledger->Reserve("d", "a", Releases(6), {})); });
  store.AwaitHeldWrite();
  EXPECT_EQ(ledger->Get("d")->spent, Cost());
  EXPECT_OK(ledger->Preview("d", Releases(10))->fits);
  store.LetWrites();
  writer.join();
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 6u);
}

// Twenty threads have a job each, and there is room for seven; readers look on.
void RaceForSeven(const BudgetCap& cap, uint64_t nanos) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", cap, {}));
  std::atomic<int> ready = 0, granted = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      for (++ready; ready < 20;) std::this_thread::yield();
      const Status status = ledger->Reserve("d", StrCat("job-", i), Releases(nanos), {});
      granted += status.ok();
      refused += IsResourceExhausted(status);
      EXPECT_LE(ledger->Get("d")->entries.size(), 8u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 7);
  EXPECT_EQ(refused, 13);
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenLedger(store));
  EXPECT_EQ(reopened->Get("d")->entries.size(), 8u);
  EXPECT_EQ(reopened->Get("d")->spent, ledger->Get("d")->spent);
}

TEST(LedgerThreadsTest, OfTwentyRacingJobsExactlySevenFitUnderBasic) {
  RaceForSeven(BasicCap(8 * kEpsilon - 1), kEpsilon);
  RaceForSeven(BasicCap(7 * kEpsilon), kEpsilon);
}

TEST(LedgerThreadsTest, OfTwentyRacingJobsExactlySevenFitUnderZcdp) {
  const double rho = static_cast<double>(RhoCap(ZcdpCap(kEpsilon)));
  const auto nanos = static_cast<uint64_t>(std::sqrt(2e6 * rho / 7.5));
  RaceForSeven(ZcdpCap(kEpsilon), nanos);
}

TEST(LedgerThreadsTest, OneJobThatManyThreadsReserveIsChargedOnce) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", BasicCap(100), {}));
  std::atomic<int> reserved = 0, ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      reserved += ledger->Reserve("d", "a", Releases(10), {}).ok();
      ended +=
          (i % 2 == 0 ? ledger->Return("d", "a", {}) : ledger->Settle("d", "a", Releases(10), {}))
              .ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reserved, 1);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(ledger->Get("d")->entries.size(), 3u);
}

TEST(LedgerRocksDbTest, SurvivesReopeningTheDatabase) {
  const TempDir dir;
  Sha256Digest head;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(dir.path()));
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(*store));
    ASSERT_OK(ledger->OpenAccount("d", ZcdpCap(kEpsilon), {}));
    for (int i = 0; i < 12; ++i) {
      ASSERT_OK(ledger->Reserve("d", StrCat("job-", i), Releases(kEpsilon / 100), {}));
    }
    head = ledger->Get("d")->head;
  }
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(dir.path()));
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(*store));
  EXPECT_EQ(ledger->Get("d")->head, head);
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 12 * kEpsilon / 100);
}

}  // namespace
}  // namespace coppice::ledger
