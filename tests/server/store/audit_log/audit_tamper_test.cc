// Any change of a stored audit log, or of a ledger beside it, is found when the daemon starts.

#include <map>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/store/audit_log/audit_fixture.h"

namespace coppice::audit {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

using Pairs = std::map<std::string, std::string>;

class AuditTamperTest : public ::testing::Test {
 protected:
  // A log with everything: dropped and kept entries, a hold that stands and one that ended, ends of
  // jobs that wait, a call that runs.
  void SetUp() override {
    MemoryStore store;
    ASSERT_OK_AND_ASSIGN(const AuditedLedger old, OpenAudited(store, now_, /*days_kept=*/3));
    ASSERT_OK(old.ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
    ASSERT_OK(old.ledger->OpenAccount("held", BasicCap(kEpsilon), {}));
    const Sha256Digest head = old.ledger->Get("d")->head;
    storage::StoreBatch hold;
    for (const char* dataset : {"d", "held"}) {
      hold.Put(ledger::HoldKey(dataset),
               ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed,
                                   .unix_seconds = now_,
                                   .head = old.ledger->Get(dataset)->head}));
    }
    ASSERT_OK(old.log->Apply(hold));
    now_ += 5 * kDay;
    ASSERT_OK_AND_ASSIGN(const AuditedLedger opened, OpenAudited(store, now_, /*days_kept=*/3));
    ASSERT_OK(opened.ledger->Confirm("d", head));
    for (const char* job : {"a", "b"}) {
      ASSERT_OK(opened.ledger->Reserve("d", job, Releases(5), {}));
    }
    ASSERT_OK(opened.ledger->Settle("d", "a", Releases(5), {}));
    now_ += kDay;
    ASSERT_OK(opened.log->Add(NewAuditEvent("ops", "StudyService/SealStudy", "studies/s")));
    ASSERT_OK(opened.ledger->Return("d", "b", {}));
    ASSERT_OK(opened.log->Begin(NewAuditEvent("ops", "StudyService/DeleteStudy", "studies/s")));
    pairs_ = store.pairs();
    ASSERT_TRUE(pairs_.contains(std::string(kSealKey)));
    ASSERT_TRUE(pairs_.contains(ledger::HoldKey("held")));
    ASSERT_TRUE(pairs_.contains(OpenKey(1)));
    ASSERT_OK(Start(pairs_));
  }

  Status Start(const Pairs& pairs) const {
    storage::MemoryStore store(pairs);
    return OpenAudited(store, now_).status();
  }

  void ExpectFound(const Pairs& changed, const std::string& what) const {
    EXPECT_THAT(Start(changed), StatusIs(StatusCode::kDataLoss, ::testing::_)) << what;
  }

  // Differs from the time of the ledger's fixture, 1'700'000'000.
  int64_t now_ = 1'710'000'000;
  Pairs pairs_;
};

TEST_F(AuditTamperTest, AnyChangedByteIsFound) {
  for (const auto& [key, value] : pairs_) {
    for (size_t i = 0; i < value.size(); ++i) {
      for (const int flip : {0x01, 0x80}) {
        Pairs changed = pairs_;
        changed[key][i] = static_cast<char>(value[i] ^ flip);
        ExpectFound(changed, StrCat(key, " byte ", i));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(AuditTamperTest, AnyRemovedCutOrLongerRecordIsFound) {
  for (const auto& [key, value] : pairs_) {
    Pairs changed = pairs_;
    changed.erase(key);
    ExpectFound(changed, StrCat(key, " removed"));
    for (size_t size = 0; size < value.size(); ++size) {
      changed[key] = value.substr(0, size);
      ExpectFound(changed, StrCat(key, " cut to ", size));
    }
    changed[key] = value + '\0';
    ExpectFound(changed, StrCat(key, " longer"));
    changed[key] = StrCat(value, "\xf8\x01", "1");  // a field of a later version
    ExpectFound(changed, StrCat(key, " with another field"));
    if (HasFailure()) return;
  }
}

TEST_F(AuditTamperTest, SwappedAndCopiedRecordsAreFound) {
  for (const auto& [key, value] : pairs_) {
    for (const auto& [other, other_value] : pairs_) {
      if (value == other_value) continue;
      Pairs changed = pairs_;
      changed[key] = other_value;
      ExpectFound(changed, StrCat(other, " over ", key));
      if (key < other) continue;
      changed[other] = value;
      ExpectFound(changed, StrCat(other, " and ", key, " swapped"));
    }
  }
}

TEST_F(AuditTamperTest, AddedRecordsAreFound) {
  for (const auto& [key, value] : pairs_) {
    for (const std::string& at :
         {EntryKey(0), EntryKey(999), OpenKey(77), BaselineKey("other"), std::string("audit/x"),
          ledger::LedgerKey("d", 99), ledger::LedgerKey("other", 0), ledger::HoldKey("d"),
          ledger::HoldKey("other")}) {
      if (pairs_.contains(at)) continue;
      Pairs changed = pairs_;
      changed[at] = value;
      ExpectFound(changed, StrCat(key, " as ", at));
    }
  }
}

// The ledger's own chain cannot show a cut end; the log does.
TEST_F(AuditTamperTest, ALedgerCutAtItsEndIsFoundHoweverMuchIsCut) {
  Pairs changed = pairs_;
  for (uint64_t i = 5; i-- > 0;) {
    ASSERT_EQ(changed.erase(ledger::LedgerKey("d", i)), 1u);
    ExpectFound(changed, StrCat("entries from ", i, " on"));
  }
}

// It cannot show a ledger either that is rewritten from some entry on with correct hashes.
TEST_F(AuditTamperTest, ALedgerWrittenAnewIsFound) {
  for (uint64_t from = 0; from < 5; ++from) {
    Pairs changed = pairs_;
    std::string before(32, '\0');
    for (uint64_t i = 0; i < 5; ++i) {
      const std::string key = ledger::LedgerKey("d", i);
      v1::LedgerRecord record;
      ASSERT_TRUE(record.ParseFromString(pairs_[key].substr(32)));
      if (i == from) record.set_unix_seconds(record.unix_seconds() + 1);
      record.set_previous_hash(before);
      const std::string bytes = record.SerializeAsString();
      const Sha256Digest hash = Sha256({bytes});
      before = std::string(hash.begin(), hash.end());
      changed[key] = before + bytes;
    }
    storage::MemoryStore alone(changed);
    EXPECT_OK(OpenLedger(alone).status()) << "its own chain is right";
    ExpectFound(changed, StrCat("from ", from));
  }
}

// A daemon that finds no trace of a log begins a new one. Only a kept head shows the loss.
TEST_F(AuditTamperTest, ALogThatIsGoneIsFoundByAKeptHead) {
  storage::MemoryStore whole(pairs_);
  ASSERT_OK_AND_ASSIGN(const AuditedLedger before, OpenAudited(whole, now_));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse kept, before.log->Read(0, 0));
  Pairs changed = pairs_;
  std::erase_if(changed, [](const auto& pair) {
    return StartsWith(pair.first, kAuditPrefix) || pair.first == kSaltKey;
  });
  storage::MemoryStore bare(changed);
  ASSERT_OK_AND_ASSIGN(const AuditedLedger next, OpenAudited(bare, now_));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse page, next.log->Read(0, 0));
  EXPECT_LT(page.head().entries(), kept.head().entries());
  EXPECT_NE(page.entries(0).hash(), kept.head().hash());
}

// Entries are missing from the end of the log, and its head fits. Only a later head that was kept
// shows it.
TEST_F(AuditTamperTest, AnOlderHeadThatWasKeptFindsACutLog) {
  storage::MemoryStore store(pairs_);
  ASSERT_OK_AND_ASSIGN(const AuditedLedger whole, OpenAudited(store, now_));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse page, whole.log->Read(0, 0));
  ASSERT_OK_AND_ASSIGN(AuditChain chain, AuditChain::After(page.sealed()));
  for (int i = 0; i + 1 < page.entries_size(); ++i) ASSERT_OK(chain.Follow(page.entries(i)));
  EXPECT_THAT(chain.CheckEnd(page.head()),
              StatusIs(StatusCode::kDataLoss, ::testing::HasSubstr("missing")));
}

}  // namespace
}  // namespace coppice::audit
