// Old entries are dropped, and the rest can be followed from the seal; a log that is damaged goes
// on openly.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/store/audit_log/audit_fixture.h"

namespace coppice::audit {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;

class AuditRetentionTest : public ::testing::Test {
 protected:
  // Two ledgers with some entries each day.
  void LiveFor(int days) {
    ASSERT_OK_AND_ASSIGN(const AuditedLedger opened, OpenAudited(store_, now_, kDaysKept));
    for (int i = 0; i < days; ++i, ++day_, now_ += kDay) {
      const std::string dataset = StrCat("d", day_ % 2);
      const std::string job = StrCat("job-", day_);
      opened.ledger->OpenAccount(dataset, BasicCap(kEpsilon), {}).IgnoreError();
      ASSERT_OK(opened.ledger->Reserve(dataset, job, Releases(1), {}));
      ASSERT_OK(opened.ledger->Settle(dataset, job, {}, {}));
      ASSERT_OK(opened.log->Add(NewAuditEvent("ops", "a/b")));
    }
  }

  static constexpr uint32_t kDaysKept = 4;
  int64_t now_ = kNow;
  int day_ = 0;
  MemoryStore store_;
};

TEST_F(AuditRetentionTest, DropsWholeDaysAndKeepsTheChainAndTheComparison) {
  LiveFor(20);
  ASSERT_OK_AND_ASSIGN(const AuditedLedger opened, OpenAudited(store_, now_, kDaysKept));
  ASSERT_OK_AND_ASSIGN(const std::vector<v1::AuditEntry> entries, ReadAll(*opened.log));
  EXPECT_GE(entries.front().day(), AuditDay(now_ - int64_t{kDaysKept} * kDay));
  EXPECT_GT(entries.front().sequence(), 40u);
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse page, opened.log->Read(0, 0));
  EXPECT_EQ(page.sealed().entries(), entries.front().sequence());
  EXPECT_OK(CheckHeadSignature(page.sealed(), AuditKey().public_key(), 0));
  EXPECT_OK(CheckLog(store_));
}

TEST_F(AuditRetentionTest, ALedgerChangedBeforeTheSealIsFoundStill) {
  LiveFor(20);
  MemoryStore::Pairs pairs = store_.pairs();
  // Removes the last entry, the only one that the log still tells of; then removes all.
  for (const bool all : {false, true}) {
    for (auto it = pairs.lower_bound("ledger/d1/"); it != pairs.end();) {
      const bool is_last =
          std::next(it) == pairs.end() || !StartsWith(std::next(it)->first, "ledger/d1/");
      if (!StartsWith(it->first, "ledger/d1/")) break;
      it = all || is_last ? pairs.erase(it) : std::next(it);
    }
    storage::MemoryStore cut(pairs);
    EXPECT_THAT(CheckLog(cut), StatusIs(StatusCode::kDataLoss, HasSubstr("ledger/d1/")));
  }
}

TEST_F(AuditRetentionTest, WithoutASignerNothingIsDropped) {
  LiveFor(1);
  now_ += 100 * kDay;
  ASSERT_OK_AND_ASSIGN(const auto log,
                       AuditLog::Open(
                           store_, [this] { return now_; }, kOfflineActor, kDaysKept));
  ASSERT_OK(log->Add(NewAuditEvent(kOfflineActor, "store/repair")));
  EXPECT_FALSE(store_.Get(std::string(kSealKey))->has_value());
  EXPECT_TRUE(store_.Get(EntryKey(0))->has_value());
}

class ResumeTest : public AuditRetentionTest {
 protected:
  void SetUp() override { LiveFor(10); }

  // Damages `key`, resumes, and expects a log whose last entry says so.
  void DamageAndResume(const std::string& key, bool remove) {
    SCOPED_TRACE(StrCat(key, remove ? " removed" : " changed"));
    MemoryStore::Pairs pairs = store_.pairs();
    if (remove) {
      pairs.erase(key);
    } else {
      pairs[key][0] = static_cast<char>(pairs[key][0] ^ 1);
    }
    storage::MemoryStore store(pairs);
    ASSERT_THAT(CheckLog(store), StatusIs(StatusCode::kDataLoss, ::testing::_));
    ASSERT_OK(ResumeLog(store, now_, "quarantine/").status());
    ASSERT_OK_AND_ASSIGN(const AuditedLedger opened, OpenAudited(store, now_, /*days_kept=*/0));
    ASSERT_OK_AND_ASSIGN(const std::vector<v1::AuditEntry> entries, ReadAll(*opened.log));
    EXPECT_EQ(entries.back().action(), "log/resume");
    EXPECT_EQ(entries.back().outcome(), "DATA_LOSS");
    for (const auto& [aside, value] : store_.pairs()) {
      if (!StartsWith(aside, kEntryPrefix) || aside == key) continue;
      EXPECT_TRUE(*store.Get(aside) == value || *store.Get("quarantine/" + aside) == value)
          << aside << " is neither kept nor aside";
    }
    ASSERT_OK_AND_ASSIGN(const std::string again, ResumeLog(store, now_, "quarantine/"));
    EXPECT_EQ(again, "") << "a log that holds is left alone";
    ASSERT_OK(opened.ledger->Reserve("d0", "later", Releases(1), {}));
    int64_t later = now_ + 2 * kDay;
    ASSERT_OK_AND_ASSIGN(const AuditedLedger next, OpenAudited(store, later, /*days_kept=*/1));
    ASSERT_OK(next.ledger->Settle("d0", "later", {}, {}));
    EXPECT_OK(CheckLog(store)) << "also once entries from before are dropped";
  }
};

TEST_F(ResumeTest, AnyDamagedRecordLeavesALogThatGoesOnOpenly) {
  for (const auto& [key, value] : store_.pairs()) {
    if (!StartsWith(key, kAuditPrefix) && key != kSaltKey) continue;
    // A salt with a flipped bit is still a salt; the records that it covers show the damage.
    for (const bool remove : {false, true}) DamageAndResume(key, remove);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace coppice::audit
