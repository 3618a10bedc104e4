// The ledger, with two accounts and with one, under every single failure of a write in random
// sequences: the batch lost or kept, the process dead or alive. Each call puts a mark into the
// batch of its entry, which tells what is on the disk and so what must be charged.

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::ledger {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

constexpr size_t kNever = SIZE_MAX;
constexpr int kSteps = 45;

struct Step {
  EntryKind kind = EntryKind::kOpen;
  std::string dataset{};
  std::string job{};
  uint64_t nanos = 0;
  AccountKind account = AccountKind::kTraining;
};

constexpr const char* kDatasets[] = {"basic", "zcdp", "split"};

BudgetCap CapOf(const std::string& dataset) {
  BudgetCap cap = dataset == "zcdp" ? ZcdpCap(kEpsilon) : BasicCap(kEpsilon);
  if (dataset == "split") cap.reserve_millionths = 100'000;
  return cap;
}

// Opens all accounts, then does anything to a few jobs in any order.
std::vector<Step> RandomSteps(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Step> steps;
  for (const char* const dataset : kDatasets) steps.push_back({.dataset = dataset});
  while (steps.size() < kSteps) {
    const std::string dataset = kDatasets[random() % 3];
    // Three or four jobs use up any budget.
    const uint64_t most = dataset == "zcdp" ? kEpsilon / 8 : kEpsilon / 2;
    const uint32_t draw = random() % 12;
    steps.push_back({.kind = draw == 0  ? EntryKind::kOpen
                             : draw < 6 ? EntryKind::kReserve
                             : draw < 9 ? EntryKind::kSettle
                                        : EntryKind::kReturn,
                     .dataset = dataset,
                     .job = StrCat("job-", random() % 10),
                     .nanos = 1 + random() % most,
                     .account = dataset == "split" ? static_cast<AccountKind>(1 + random() % 3)
                                                   : AccountKind::kTraining});
  }
  return steps;
}

Status Do(Ledger& ledger, const Step& step, storage::StoreBatch with) {
  switch (step.kind) {
    case EntryKind::kOpen:
      return ledger.OpenAccount(step.dataset, CapOf(step.dataset), std::move(with));
    case EntryKind::kReserve:
      return ledger.Reserve(step.dataset, Charge{.job = step.job, .account = step.account},
                            Releases(step.nanos), std::move(with));
    case EntryKind::kSettle:
      return ledger.Settle(step.dataset, step.job, Releases(step.nanos / 2), std::move(with));
    case EntryKind::kReturn:
    case EntryKind::kWriteOff:  // needs a hold; ledger_hold_test covers its failures
      break;
  }
  return ledger.Return(step.dataset, step.job, std::move(with));
}

std::string MarkOf(size_t step) { return StrCat("mark/", step); }

bool IsMarked(const storage::Store& disk, size_t step) {
  return disk.Get(MarkOf(step))->has_value();
}

std::vector<Status> DoAll(Ledger& ledger, const std::vector<Step>& steps) {
  std::vector<Status> answers;
  for (size_t i = 0; i < steps.size(); ++i) {
    answers.push_back(Do(ledger, steps[i], Marker(MarkOf(i))));
  }
  return answers;
}

// What the marks on the disk say about a dataset.
struct Expected {
  size_t entries = 0;
  Spending spent;
};
Expected FromMarks(const storage::Store& disk, const std::vector<Step>& steps,
                   const std::string& dataset) {
  Expected expected;
  std::map<std::string, Step> charged;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].dataset != dataset || !IsMarked(disk, i)) continue;
    ++expected.entries;
    if (steps[i].kind == EntryKind::kReserve) {
      charged[steps[i].job] = steps[i];
    }
    if (steps[i].kind == EntryKind::kReturn) charged.erase(steps[i].job);
  }
  for (const auto& [job, step] : charged) {
    expected.spent = PlusCharge(expected.spent, step.account, *CostOf(Releases(step.nanos)));
  }
  return expected;
}

void ExpectWithinCap(const Account& account) {
  if (account.cap.composition == Composition::kBasic) {
    EXPECT_LE(account.spent.epsilon_nanos, account.cap.epsilon_nanos);
    EXPECT_LE(account.reserve_spent.epsilon_nanos, account.cap.epsilon_nanos);
  } else {
    EXPECT_LE(account.spent.rho_pico, RhoCap(account.cap));
  }
}

// The disk holds what was acknowledged, and at most the one kept batch besides.
void ExpectMarksOfAnswers(const storage::Store& disk, const std::vector<Status>& answers,
                          const WriteFault& fault) {
  int unacknowledged = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) {
      EXPECT_TRUE(IsMarked(disk, i)) << i;
    } else {
      unacknowledged += IsMarked(disk, i);
    }
  }
  EXPECT_EQ(unacknowledged, fault.kept ? 1 : 0);
}

void ExpectLedgerOfMarks(storage::Store& disk, const std::vector<Step>& steps) {
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(disk));
  for (const std::string dataset : kDatasets) {
    const Expected expected = FromMarks(disk, steps, dataset);
    const StatusOr<Account> account = ledger->Get(dataset);
    ASSERT_EQ(account.ok(), expected.entries > 0);
    if (!account.ok()) continue;
    EXPECT_EQ(account->entries.size(), expected.entries);
    EXPECT_EQ(account->spent, expected.spent.training);
    EXPECT_EQ(account->reserve_spent, expected.spent.reserve);
    ExpectWithinCap(*account);
  }
}

// The live ledger may lack the last entry of the disk, and no other.
void ExpectLiveIsAPrefix(const Ledger& live, storage::Store& disk) {
  ASSERT_OK_AND_ASSIGN(const auto reopened, OpenLedger(disk));
  for (const char* dataset : kDatasets) {
    const StatusOr<Account> shown = live.Get(dataset);
    if (!shown.ok()) continue;
    ASSERT_OK_AND_ASSIGN(const Account stored, reopened->Get(dataset));
    ASSERT_LE(shown->entries.size(), stored.entries.size());
    EXPECT_GE(shown->entries.size() + 1, stored.entries.size());
    EXPECT_TRUE(std::equal(shown->entries.begin(), shown->entries.end(), stored.entries.begin()));
  }
}

void RunWithFault(const std::vector<Step>& steps, const WriteFault& fault) {
  SCOPED_TRACE(
      StrCat("write ", fault.write, fault.kept ? " kept" : " lost", fault.fatal ? ", fatal" : ""));
  MemoryStore disk;
  CrashingStore store(disk, fault);
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(store));
  const std::vector<Status> answers = DoAll(*ledger, steps);
  ExpectMarksOfAnswers(disk, answers, fault);
  ExpectLedgerOfMarks(disk, steps);
  ExpectLiveIsAPrefix(*ledger, disk);

  // The next process goes on with the same steps, and still stays within the cap.
  ASSERT_OK_AND_ASSIGN(const auto next, OpenLedger(disk));
  for (const Step& step : steps) {
    const Status ignored = Do(*next, step, {});
    ignored.IgnoreError();
  }
  ASSERT_OK_AND_ASSIGN(const auto last, OpenLedger(disk));
  for (const char* dataset : kDatasets) {
    ASSERT_OK_AND_ASSIGN(const Account account, last->Get(dataset));
    EXPECT_EQ(account.spent, next->Get(dataset)->spent);
    EXPECT_EQ(account.reserve_spent, next->Get(dataset)->reserve_spent);
    ExpectWithinCap(account);
  }
}

class LedgerCrashTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(LedgerCrashTest, AfterAnyFailedWriteTheChargesAreThoseOnTheDisk) {
  const std::vector<Step> steps = RandomSteps(GetParam());
  MemoryStore disk;
  CrashingStore sound(disk, {.write = kNever});
  ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(sound));
  DoAll(*ledger, steps);
  ExpectLedgerOfMarks(disk, steps);
  const size_t writes = disk.writes();
  ASSERT_GT(writes, 5u);
  for (size_t write = 0; write < writes; ++write) {
    for (const bool kept : {false, true}) {
      for (const bool fatal : {false, true}) {
        RunWithFault(steps, {.write = write, .kept = kept, .fatal = fatal});
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerCrashTest, ::testing::Range(0u, 30u));

// The sequences must reach the cases that they are meant to test.
TEST(LedgerCrashCoverageTest, SequencesFillBudgetsAndEndJobsInEachWay) {
  std::map<StatusCode, int> answered;
  std::map<EntryKind, int> written;
  std::map<AccountKind, int> charged;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    MemoryStore disk;
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(disk));
    for (const Status& answer : DoAll(*ledger, RandomSteps(seed))) ++answered[answer.code()];
    for (const char* dataset : kDatasets) {
      ASSERT_OK_AND_ASSIGN(const Account account, ledger->Get(dataset));
      for (const LedgerEntry& entry : account.entries) {
        ++written[entry.kind];
        if (entry.kind == EntryKind::kReserve) ++charged[entry.account];
      }
    }
  }
  EXPECT_GT(answered[StatusCode::kResourceExhausted], 30);
  EXPECT_GT(answered[StatusCode::kFailedPrecondition], 30);
  EXPECT_GT(answered[StatusCode::kAlreadyExists], 30);
  EXPECT_GT(written[EntryKind::kReserve], 100);
  EXPECT_GT(written[EntryKind::kSettle], 30);
  EXPECT_GT(written[EntryKind::kReturn], 30);
  EXPECT_GT(charged[AccountKind::kReserve], 20);
  EXPECT_GT(charged[AccountKind::kBoth], 20);
}

}  // namespace
}  // namespace coppice::ledger
