// Two accounts under one cap: what each is charged, and what becomes of both when charges are lost.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/server/datasets/ledger/memory_journal.h"
#include "tests/support/memory_store.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;

BudgetCap SplitCap(uint64_t nanos) {
  BudgetCap cap = BasicCap(nanos);
  cap.reserve_millionths = 100'000;
  return cap;
}

Charge OnReserve(const std::string& job) {
  return {.job = job, .account = AccountKind::kReserve, .is_evaluation = true};
}

TEST(TwoAccountsTest, EachIsFilledToTheCapByItself) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", SplitCap(kEpsilon), {}));
  ASSERT_OK(ledger->Reserve("d", "a", Releases(kEpsilon), {}));
  EXPECT_FALSE(ledger->Reserve("d", "b", Releases(1), {}).ok());
  ASSERT_OK(ledger->Reserve("d", OnReserve("c"), Releases(kEpsilon / 2), {}));
  EXPECT_THAT(ledger->Reserve("d", OnReserve("e"), Releases(kEpsilon), {}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("0.5")));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.left.epsilon_nanos, 0u);
  EXPECT_EQ(account.reserve_left.epsilon_nanos, kEpsilon / 2);
  EXPECT_EQ(account.entries.back().account, AccountKind::kReserve);
  EXPECT_TRUE(account.entries.back().is_evaluation);
}

TEST(TwoAccountsTest, WhatReadsBothIsChargedToBothOrToNeither) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", SplitCap(kEpsilon), {}));
  ASSERT_OK(ledger->Reserve("d", OnReserve("a"), Releases(kEpsilon / 2), {}));
  const Charge both{.job = "b", .account = AccountKind::kBoth};
  EXPECT_FALSE(ledger->Reserve("d", both, Releases(kEpsilon / 2 + 1), {}).ok());
  EXPECT_EQ(ledger->Get("d")->spent, Cost());
  EXPECT_FALSE(ledger->Preview("d", Releases(kEpsilon), AccountKind::kBoth)->fits.ok());
  ASSERT_OK(ledger->Reserve("d", both, Releases(kEpsilon / 2), {}));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.spent.epsilon_nanos, kEpsilon / 2);
  EXPECT_EQ(account.reserve_spent.epsilon_nanos, kEpsilon);
}

TEST(TwoAccountsTest, AReserveThatThereIsNotIsNotCharged) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK(ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
  EXPECT_THAT(ledger->Reserve("d", OnReserve("a"), Releases(1), {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no reserve")));
  BudgetCap whole = BasicCap(kEpsilon);
  whole.reserve_millionths = kMillion;
  EXPECT_THAT(ledger->OpenAccount("e", whole, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reserve")));
}

TEST(TwoAccountsTest, EndsAreOfTheAccountThatWasCharged) {
  MemoryStore store;
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
    ASSERT_OK(ledger->OpenAccount("d", SplitCap(kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", OnReserve("a"), Releases(kEpsilon / 2), {}));
    ASSERT_OK(ledger->Reserve("d", OnReserve("b"), Releases(kEpsilon / 4), {}));
    ASSERT_OK(ledger->Settle("d", "a", Releases(kEpsilon / 2), {}));
    ASSERT_OK(ledger->Return("d", "b", {}));
  }
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.cap, SplitCap(kEpsilon));
  for (size_t i = 1; i < account.entries.size(); ++i) {
    EXPECT_EQ(account.entries[i].account, AccountKind::kReserve) << i;
    EXPECT_TRUE(account.entries[i].is_evaluation) << i;
  }
  EXPECT_EQ(account.spent, Cost());
  EXPECT_EQ(account.reserve_spent.epsilon_nanos, kEpsilon / 2);
}

// The store loses a charge to the reserve. Nobody can tell which account it was of, so both pay.
TEST(TwoAccountsTest, WhatIsLostIsWrittenOffFromBoth) {
  MemoryStore newer, older;
  MemoryJournal journal;
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, Ledger::Open(
                                                newer, [] { return kNow; }, &journal));
    ASSERT_OK(ledger->OpenAccount("d", SplitCap(kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "a", Releases(kEpsilon * 3 / 4), {}));
    storage::StoreBatch copy;
    ASSERT_OK(newer.Scan("", [&](std::string_view key, std::string_view value) {
      copy.Put(std::string(key), std::string(value));
      return OkStatus();
    }));
    ASSERT_OK(older.Apply(copy));
    ASSERT_OK(ledger->Reserve("d", OnReserve("b"), Releases(kEpsilon / 2), {}));
  }
  MemoryJournal reopened(journal.file());
  ASSERT_OK_AND_ASSIGN(const auto ledger, Ledger::Open(
                                              older, [] { return kNow; }, &reopened));
  ASSERT_EQ(ledger->Get("d")->hold.lost->epsilon_nanos, kEpsilon / 2);
  EXPECT_FALSE(ledger->Reserve("d", OnReserve("c"), Releases(1), {}).ok());
  ASSERT_OK(ledger->WriteOff("d", 0, 0));
  ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get("d"));
  EXPECT_EQ(account.entries.back().account, AccountKind::kBoth);
  EXPECT_EQ(account.entries.back().cost.epsilon_nanos, kEpsilon / 2);
  EXPECT_EQ(account.spent.epsilon_nanos, kEpsilon) << "no more than the cap";
  EXPECT_EQ(account.reserve_spent.epsilon_nanos, kEpsilon / 2);
  // A later start adds up the same.
  ASSERT_OK_AND_ASSIGN(const auto again, OpenLedger(older));
  EXPECT_EQ(again->Get("d")->spent, account.spent);
  EXPECT_EQ(again->Get("d")->reserve_spent, account.reserve_spent);
}

TEST(TwoAccountsTest, AnEndOnAnotherAccountDoesNotLoad) {
  AccountBook book("d", SplitCap(kEpsilon));
  book.Append({.kind = EntryKind::kOpen});
  const std::vector<Release> releases = Releases(kEpsilon / 2);
  book.Append({.kind = EntryKind::kReserve,
               .job = "a",
               .account = AccountKind::kReserve,
               .cost = *CostOf(releases),
               .releases = releases});
  EXPECT_THAT(book.Check({.kind = EntryKind::kReturn, .job = "a", .cost = *CostOf(releases)}),
              StatusIs(StatusCode::kInternal, HasSubstr("another account")));
}

}  // namespace
}  // namespace coppice::ledger
