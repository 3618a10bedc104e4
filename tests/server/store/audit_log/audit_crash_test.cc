// The log and the ledger under every single failure of a write: the batch lost or kept, the process
// dead or alive. They always agree, and every call that was begun leaves a trace.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/server/store/audit_log/audit_fixture.h"
#include "tests/support/crashing_store.h"

namespace coppice::audit {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

constexpr size_t kNever = SIZE_MAX;

// The calls that the log let begin.
struct Calls {
  std::set<std::string> begun;
};

// Does some of everything over several days. Errors are expected.
void Live(AuditedLedger& audited, int64_t& now, Calls& calls) {
  const auto call = [&](const std::string& resource, bool by_day) {
    AuditEvent event = NewAuditEvent("ops", "StudyService/SealStudy", resource);
    event.by_day = by_day;
    const StatusOr<uint64_t> begun = audited.log->Begin(event);
    if (!begun.ok()) return;
    calls.begun.insert(resource);
    audited.log->End(*begun, "OK");
  };
  audited.ledger->OpenAccount("d", BasicCap(kEpsilon), {}).IgnoreError();
  for (int i = 0; i < 4; ++i) {
    const std::string job = StrCat("job-", i);
    call(StrCat("studies/a", i), false);
    audited.ledger->Reserve("d", job, Releases(10), {}).IgnoreError();
    call(StrCat("studies/b", i), true);
    if (i % 2 == 0) {
      audited.ledger->Settle("d", job, Releases(9), {}).IgnoreError();
    } else {
      audited.ledger->Return("d", job, {}).IgnoreError();
    }
    now += kDay / 2;
  }
}

// Starts a daemon on the disk and expects that a day later the log tells of every call.
void ExpectSound(MemoryStore& disk, int64_t now, const Calls& calls) {
  ASSERT_OK_AND_ASSIGN(const AuditedLedger next, OpenAudited(disk, now, /*days_kept=*/0));
  now += 2 * kDay;
  ASSERT_OK_AND_ASSIGN(const std::vector<v1::AuditEntry> entries, ReadAll(*next.log));
  std::multiset<std::string> told;
  for (const v1::AuditEntry& entry : entries) told.insert(entry.resource());
  for (const std::string& resource : calls.begun) EXPECT_EQ(told.count(resource), 1u) << resource;
  EXPECT_OK(CheckLog(disk));
  const StatusOr<ledger::Account> account = next.ledger->Get("d");
  size_t of_ledger = 0;
  for (const v1::AuditEntry& entry : entries) of_ledger += !entry.ledger_link().empty();
  EXPECT_EQ(of_ledger, account.ok() ? account->entries.size() : 0u);
}

void RunWithFault(const WriteFault& fault, uint32_t days_kept) {
  SCOPED_TRACE(
      StrCat("write ", fault.write, fault.kept ? " kept" : " lost", fault.fatal ? ", fatal" : ""));
  MemoryStore disk;
  CrashingStore store(disk, fault);
  int64_t now = kNow;
  Calls calls;
  StatusOr<AuditedLedger> audited = OpenAudited(store, now, days_kept);
  if (audited.ok()) Live(*audited, now, calls);
  if (days_kept > 0) {
    EXPECT_OK(OpenAudited(disk, now).status());
    return;
  }
  ExpectSound(disk, now, calls);
}

size_t CountWrites(uint32_t days_kept) {
  MemoryStore disk;
  int64_t now = kNow;
  Calls calls;
  StatusOr<AuditedLedger> audited = OpenAudited(disk, now, days_kept);
  EXPECT_OK(audited.status());
  Live(*audited, now, calls);
  EXPECT_EQ(calls.begun.size(), 8u);
  return disk.writes();
}

TEST(AuditCrashTest, AfterAnyFailedWriteLogAndLedgerAgree) {
  for (const uint32_t days_kept : {0u, 1u}) {
    const size_t writes = CountWrites(days_kept);
    ASSERT_GT(writes, 20u);
    for (size_t write = 0; write < writes; ++write) {
      for (const bool kept : {false, true}) {
        for (const bool fatal : {false, true}) {
          RunWithFault({.write = write, .kept = kept, .fatal = fatal}, days_kept);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
    RunWithFault({.write = kNever}, days_kept);
  }
}

}  // namespace
}  // namespace coppice::audit
