// The ledger beside a spending journal: every order of crash between the two, and stores that were
// put back to an earlier state.

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/server/datasets/ledger/memory_journal.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

StatusOr<std::unique_ptr<Ledger>> OpenWith(storage::Store& store, SpendingJournal& journal) {
  return Ledger::Open(
      store, [] { return kNow; }, &journal);
}

void CopyStore(const storage::Store& from, storage::Store& to) {
  storage::StoreBatch batch;
  EXPECT_OK(from.Scan("", [&](std::string_view key, std::string_view value) {
    batch.Put(std::string(key), std::string(value));
    return OkStatus();
  }));
  EXPECT_OK(to.Apply(batch));
}

SpendingLine LineOf(const Account& account) {
  return {.dataset = account.dataset,
          .entries = account.entries.size(),
          .head = account.head,
          .spent = account.spent};
}

class LedgerJournalTest : public ::testing::Test {
 protected:
  // Three of ten epsilons are spent in the store, and one in `old_`.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(store_, journal_));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(10 * kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "a", Releases(kEpsilon), {}));
    CopyStore(store_, old_);
    old_head_ = ledger->Get("d")->head;
    ASSERT_OK(ledger->Settle("d", "a", Releases(kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "b", Releases(2 * kEpsilon), {}));
    newest_ = *ledger->Get("d");
  }

  MemoryStore store_, old_;
  MemoryJournal journal_;
  Sha256Digest old_head_{};
  Account newest_;
};

TEST_F(LedgerJournalTest, EveryChangeIsNoted) {
  ASSERT_THAT(journal_.file(), SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(journal_.file()[i].entries, i + 1);
    EXPECT_EQ(journal_.file()[i].head, newest_.entries[i].hash);
  }
  EXPECT_EQ(journal_.file()[3], LineOf(newest_));
}

TEST_F(LedgerJournalTest, AStoreAheadOfItIsCompletedAndNotHeld) {
  for (size_t kept = 0; kept <= 4; ++kept) {
    MemoryJournal journal({journal_.file().begin(), journal_.file().begin() + kept});
    MemoryStore store;
    CopyStore(store_, store);
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(store, journal));
    EXPECT_EQ(journal.file().back(), LineOf(newest_)) << kept;
    EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kNone);
    EXPECT_OK(ledger->Reserve("d", "c", Releases(1), {}));
  }
}

TEST_F(LedgerJournalTest, AJournalThatCannotBeCompletedKeepsTheLedgerFromOpening) {
  MemoryJournal journal({}, {.append = 0});
  EXPECT_THAT(OpenWith(store_, journal), StatusIs(StatusCode::kUnavailable, _));
}

TEST_F(LedgerJournalTest, NothingIsShownBeforeItIsNotedAndWhatWasStoredIsChargedOnce) {
  MemoryJournal journal(journal_.file(), {.append = 0});
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(store_, journal));
  EXPECT_THAT(ledger->Reserve("d", "c", Releases(kEpsilon), Marker("m")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("journal")));
  EXPECT_EQ(ledger->Get("d")->spent, newest_.spent);
  EXPECT_TRUE(store_.Get("m")->has_value());
  EXPECT_THAT(ledger->Reserve("d", "c", Releases(kEpsilon), {}),
              StatusIs(StatusCode::kAlreadyExists, _));
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 4 * kEpsilon);
  EXPECT_EQ(journal.file().back(), LineOf(*ledger->Get("d")));
}

TEST_F(LedgerJournalTest, AStoreBehindItIsHeldWhateverHeadIsConfirmed) {
  MemoryJournal journal(journal_.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, journal));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.hold.reason, HoldReason::kUnconfirmed);
  ASSERT_TRUE(account.hold.lost.has_value());
  EXPECT_EQ(account.hold.lost->epsilon_nanos, 2 * kEpsilon);
  for (const Sha256Digest& head : {old_head_, newest_.head}) {
    EXPECT_THAT(ledger->Confirm("d", head),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("charged epsilon 2")));
  }
  EXPECT_FALSE(ledger->Reserve("d", "c", Releases(1), {}).ok());
  // The loss stays known without the journal once it was told.
  ASSERT_OK_AND_ASSIGN(const auto without, OpenLedger(old_));
  EXPECT_FALSE(without->Confirm("d", old_head_).ok());
}

// A store that was put back refunds a charge without the journal, and then gets the journal back.
// The other branch refunded that charge too, which must not hide what that branch spent.
TEST_F(LedgerJournalTest, WhatBothBranchesGaveBackHidesNoCharge) {
  MemoryStore store, put_back;
  MemoryJournal journal(std::vector<SpendingLine>{});
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(store, journal));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(3 * kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "a", Releases(kEpsilon), {}));
    CopyStore(store, put_back);
    ASSERT_OK(ledger->Return("d", "a", {}));
    ASSERT_OK(ledger->Reserve("d", "b", Releases(3 * kEpsilon), {}));
  }
  ASSERT_OK((*OpenLedger(put_back))->Return("d", "a", {}));
  MemoryJournal next(journal.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(put_back, next));
  EXPECT_EQ(ledger->Get("d")->hold.lost->epsilon_nanos, 3 * kEpsilon);
  ASSERT_OK(ledger->WriteOff("d", 0, 0));
  EXPECT_FALSE(ledger->Reserve("d", "c", Releases(1), {}).ok());
}

TEST_F(LedgerJournalTest, WhatItKnowsIsTheLeastThatIsWrittenOff) {
  MemoryJournal journal(journal_.file());
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, journal));
    EXPECT_THAT(ledger->WriteOff("d", 2 * kEpsilon - 1, 0),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon 2")));
    ASSERT_OK(ledger->WriteOff("d", 0, 0));
    EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, 3 * kEpsilon);
    EXPECT_OK(ledger->Reserve("d", "c", Releases(7 * kEpsilon), {}));
    EXPECT_FALSE(ledger->Reserve("d", "e", Releases(1), {}).ok());
  }
  MemoryJournal next(journal.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, next));
  EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kNone);
}

TEST_F(LedgerJournalTest, DetectsAMissingEntryThatChargedNothing) {
  MemoryJournal journal({journal_.file().begin(), journal_.file().begin() + 3});  // settled
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, journal));
  EXPECT_EQ(ledger->Get("d")->hold.lost, Cost());
  ASSERT_OK(ledger->WriteOff("d", 0, 0));
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, kEpsilon);
}

TEST_F(LedgerJournalTest, AStoreThatIsPutBackTwiceLosesNothingOfTheFirstLoss) {
  MemoryStore older;
  CopyStore(old_, older);
  MemoryJournal journal(journal_.file());
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, journal));
    ASSERT_OK(ledger->Settle("d", "a", {}, {}));  // noted, though the loss is not written off
  }
  MemoryJournal again(journal.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(older, again));
  EXPECT_EQ(ledger->Get("d")->hold.lost->epsilon_nanos, 2 * kEpsilon);
}

TEST_F(LedgerJournalTest, ANameThatOnlyTheJournalKnowsIsTakenUntilItIsFreed) {
  MemoryStore empty;
  MemoryJournal journal(journal_.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(empty, journal));
  EXPECT_THAT(ledger->LostAccounts(), ElementsAre(Pair("d", newest_.spent)));
  EXPECT_THAT(ledger->OpenAccount("d", BasicCap(kEpsilon), {}),
              StatusIs(StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("spending journal"), HasSubstr("epsilon 3"))));
  EXPECT_THAT(ledger->FreeName("e"), StatusIs(StatusCode::kNotFound, _));
  ASSERT_OK(ledger->FreeName("d"));
  MemoryJournal next(journal.file());
  ASSERT_OK_AND_ASSIGN(const auto later, OpenWith(empty, next));
  EXPECT_THAT(later->LostAccounts(), IsEmpty());
  EXPECT_OK(later->OpenAccount("d", BasicCap(kEpsilon), {}));
  MemoryJournal last(next.file());
  EXPECT_EQ(OpenWith(empty, last).value()->Get("d")->hold.reason, HoldReason::kNone);
}

TEST_F(LedgerJournalTest, ANameOfADatasetThatSpentNothingIsFree) {
  MemoryStore empty;
  MemoryJournal journal({journal_.file()[0]});
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(empty, journal));
  EXPECT_OK(ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
}

TEST_F(LedgerJournalTest, AClosedLedgerStaysClosed) {
  storage::StoreBatch batch;
  batch.Put(HoldKey("d"), EncodeHold({.reason = HoldReason::kClosed}));
  ASSERT_OK(old_.Apply(batch));
  MemoryJournal journal(journal_.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(old_, journal));
  EXPECT_EQ(ledger->Get("d")->hold.reason, HoldReason::kClosed);
  EXPECT_THAT(ledger->WriteOff("d", kEpsilon, 0),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("closed for good")));
}

// Random sequences of calls to a ledger with two datasets.
class LedgerJournalCrashTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr int kSteps = 25;

  static Status Do(Ledger& ledger, std::mt19937& random) {
    const std::string dataset = random() % 2 == 0 ? "basic" : "zcdp";
    const std::string job = StrCat("job-", random() % 6);
    const uint64_t nanos = 1 + random() % (kEpsilon / 8);
    switch (random() % 4) {
      case 0:
        return ledger.Settle(dataset, job, {}, {});
      case 1:
        return ledger.Return(dataset, job, {});
      default:
        return ledger.Reserve(dataset, job, Releases(nanos), {});
    }
  }
  static void OpenBoth(Ledger& ledger) {
    for (const auto& [dataset, cap] :
         {std::pair("basic", BasicCap(kEpsilon)), std::pair("zcdp", ZcdpCap(kEpsilon))}) {
      ledger.OpenAccount(dataset, cap, {}).IgnoreError();
    }
  }
  void Run(Ledger& ledger) const {
    std::mt19937 random(GetParam());
    OpenBoth(ledger);
    for (int step = 0; step < kSteps; ++step) Do(ledger, random).IgnoreError();
  }

  // Whatever was interrupted, both go on and agree.
  static void ExpectBothAgree(storage::Store& disk, const std::vector<SpendingLine>& file) {
    MemoryJournal journal(file);
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(disk, journal));
    LinesByDataset lines = ByDataset(journal.file());
    for (const char* dataset : {"basic", "zcdp"}) {
      const StatusOr<Account> account = ledger->Get(dataset);
      ASSERT_EQ(account.ok(), lines.count(dataset) == 1);
      if (!account.ok()) continue;
      EXPECT_EQ(account->hold.reason, HoldReason::kNone);
      EXPECT_EQ(lines[dataset].back(), LineOf(*account));
    }
  }
};

TEST_P(LedgerJournalCrashTest, ACrashBetweenStoreAndJournalHoldsNothingAndLosesNothing) {
  for (const bool fatal : {false, true}) {
    for (size_t append = 0;; ++append) {
      SCOPED_TRACE(StrCat("append ", append, fatal ? ", fatal" : ""));
      MemoryStore disk;
      MemoryJournal journal({}, {.append = append, .fatal = fatal});
      ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(disk, journal));
      Run(*ledger);
      ExpectBothAgree(disk, journal.file());
      if (HasFailure()) return;
      if (journal.appends() <= append) break;
    }
  }
}

TEST_P(LedgerJournalCrashTest, ACrashInTheStoreLeavesNoLineThatItDoesNotHave) {
  for (const bool kept : {false, true}) {
    for (size_t write = 0; write < kSteps + 2; ++write) {
      SCOPED_TRACE(StrCat("write ", write, kept ? " kept" : " lost"));
      MemoryStore disk;
      CrashingStore store(disk, {.write = write, .kept = kept, .fatal = true});
      MemoryJournal journal;
      ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(store, journal));
      Run(*ledger);
      ExpectBothAgree(disk, journal.file());
      if (HasFailure()) return;
    }
  }
}

// A backup may restore any state. Once the charges that the journal knows are written off, all that
// was truly charged is charged.
TEST_P(LedgerJournalCrashTest, AStorePutBackToAnyStateIsChargedAllThatWasSpent) {
  MemoryStore disk;
  MemoryJournal journal;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenWith(disk, journal));
  OpenBoth(*ledger);
  std::mt19937 random(GetParam());
  std::vector<std::unique_ptr<MemoryStore>> states;
  for (int step = 0; step < kSteps; ++step) {
    CopyStore(disk, *states.emplace_back(std::make_unique<MemoryStore>()));
    Do(*ledger, random).IgnoreError();
  }
  int held = 0;
  for (const auto& state : states) {
    MemoryJournal known(journal.file());
    ASSERT_OK_AND_ASSIGN(const auto back, OpenWith(*state, known));
    for (const char* dataset : {"basic", "zcdp"}) {
      ASSERT_OK_AND_ASSIGN(const Account truth, ledger->Get(dataset));
      ASSERT_OK_AND_ASSIGN(const Account before, back->Get(dataset));
      const bool lacks = before.entries.size() < truth.entries.size();
      EXPECT_EQ(before.hold.reason == HoldReason::kUnconfirmed, lacks);
      if (lacks) {
        ASSERT_OK(back->WriteOff(dataset, 0, 0));
      }
      held += lacks;
      ASSERT_OK_AND_ASSIGN(const Account after, back->Get(dataset));
      EXPECT_GE(after.spent.rho_pico, truth.spent.rho_pico);
      EXPECT_GE(after.spent.epsilon_nanos, truth.spent.epsilon_nanos);
      EXPECT_EQ(after.hold.reason, HoldReason::kNone);
    }
  }
  EXPECT_GT(held, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerJournalCrashTest, ::testing::Range(0u, 12u));

}  // namespace
}  // namespace coppice::ledger
