// What the log says, about whom, in which order, and what it leaves out.

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/store/audit_log/audit_fixture.h"

namespace coppice::audit {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AuditLogTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    audited_ = {};
    ASSERT_OK_AND_ASSIGN(audited_, OpenAudited(store_, now_));
  }

  std::vector<std::string> Log() {
    const StatusOr<std::vector<v1::AuditEntry>> entries = ReadAll(*audited_.log);
    EXPECT_OK(entries.status());
    return entries.ok() ? Lines(*entries) : std::vector<std::string>();
  }

  ledger::Ledger& ledger() { return *audited_.ledger; }
  AuditLog& log() { return *audited_.log; }

  int64_t now_ = 1'700'000'000;  // 2023-11-14
  MemoryStore store_;
  AuditedLedger audited_;
};

TEST_F(AuditLogTest, TellsOfEachChangeOfALedgerAndWhoMadeIt) {
  {
    const ActorScope scope("lab");
    ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
    ASSERT_OK(ledger().Reserve("d", "a", Releases(5), {}));
  }
  ASSERT_OK(ledger().Reserve("d", "b", Releases(7), {}));
  EXPECT_THAT(Log(), ElementsAre("2023-11-14 coppiced log/begin   OK",
                                 "2023-11-14 lab ledger/open datasets/d  OK",
                                 "2023-11-14 lab ledger/charge datasets/d jobs/a OK",
                                 "2023-11-14 coppiced ledger/charge datasets/d jobs/b OK"));
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadAll(log()));
  EXPECT_EQ(entries[1].epsilon_nanos(), kEpsilon);
  EXPECT_EQ(entries[2].epsilon_nanos(), 5u);
}

// When a job ended follows from private rows, so the log tells and sorts by the day alone.
TEST_F(AuditLogTest, TellsEndsOfJobsByTheDayAlone) {
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  for (const char* job : {"z", "a", "m"}) ASSERT_OK(ledger().Reserve("d", job, Releases(5), {}));
  ASSERT_OK(ledger().Settle("d", "z", Releases(3), {}));
  ASSERT_OK(log().Add(NewAuditEvent("ops", "StudyService/SealStudy", "studies/s")));
  ASSERT_OK(ledger().Settle("d", "a", {}, {}));
  ASSERT_OK(ledger().Return("d", "m", {}));
  EXPECT_EQ(Log().size(), 6u);
  now_ += kDay;
  EXPECT_THAT(Log(), ElementsAre("2023-11-14 coppiced log/begin   OK",
                                 "2023-11-14 coppiced ledger/open datasets/d  OK",
                                 "2023-11-14 coppiced ledger/charge datasets/d jobs/z OK",
                                 "2023-11-14 coppiced ledger/charge datasets/d jobs/a OK",
                                 "2023-11-14 coppiced ledger/charge datasets/d jobs/m OK",
                                 "2023-11-14 ops StudyService/SealStudy studies/s  OK",
                                 "2023-11-14 coppiced ledger/end datasets/d jobs/a OK",
                                 "2023-11-14 coppiced ledger/refund datasets/d jobs/m OK",
                                 "2023-11-14 coppiced ledger/release datasets/d jobs/z OK"));
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadAll(log()));
  EXPECT_EQ(entries.back().epsilon_nanos(), 0u) << "what a job's releases cost in the end";
}

// Nothing of the log, including its head, may change while a job ends.
TEST_F(AuditLogTest, TheSignedHeadDoesNotTellThatAJobEnded) {
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  ASSERT_OK(ledger().Reserve("d", "a", Releases(5), {}));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse before, log().Read(0, 0));
  ASSERT_OK(ledger().Settle("d", "a", Releases(3), {}));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse after, log().Read(0, 0));
  EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString());
}

TEST_F(AuditLogTest, ALogEntryDoesNotRevealTheLedgersHash) {
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadAll(log()));
  const auto stored = store_.Get(ledger::LedgerKey("d", 0));
  EXPECT_EQ(entries[1].ledger_link().size(), 32u);
  EXPECT_NE(entries[1].ledger_link(), (*stored)->substr(0, 32));
}

TEST_F(AuditLogTest, ACallThatDidNotEndIsEnteredAtTheNextStart) {
  ASSERT_OK(log().Begin(NewAuditEvent("ops", "StudyService/DeleteStudy", "studies/s")));
  ASSERT_OK_AND_ASSIGN(const uint64_t ended, log().Begin(NewAuditEvent("ops", "a/b", "studies/t")));
  log().End(ended, "NOT_FOUND");
  EXPECT_THAT(Log(),
              ElementsAre(HasSubstr("log/begin"), "2023-11-14 ops a/b studies/t  NOT_FOUND"));
  now_ += 2 * kDay;
  Open();
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("log/begin"), HasSubstr("a/b"),
                                 "2023-11-16 ops StudyService/DeleteStudy studies/s  UNKNOWN"));
}

TEST_F(AuditLogTest, AnEndThatCannotBeWrittenIsWrittenWithTheNextEntry) {
  AuditEvent call = NewAuditEvent("ops", "a/b", "studies/t");
  ASSERT_OK_AND_ASSIGN(const uint64_t number, log().Begin(call));
  store_.FailWrites(UnavailableError("full"));
  log().End(number, "OK");
  EXPECT_FALSE(log().Begin(call).ok()) << "nothing may begin that is not noted";
  store_.FailWrites(OkStatus());
  ASSERT_OK(log().Add(NewAuditEvent("ops", "c/d")));
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("log/begin"), "2023-11-14 ops a/b studies/t  OK",
                                 "2023-11-14 ops c/d   OK"));
}

TEST_F(AuditLogTest, ACallByDayWaitsForItsDayToBeOver) {
  AuditEvent call = NewAuditEvent("lab", "TrainingService/CancelJob", "jobs/a");
  call.by_day = true;
  ASSERT_OK_AND_ASSIGN(const uint64_t number, log().Begin(call));
  log().End(number, "OK");
  EXPECT_EQ(Log().size(), 1u);
  Open();
  EXPECT_EQ(Log().size(), 1u) << "a restart tells nothing either";
  now_ += kDay;
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("log/begin"),
                                 "2023-11-14 lab TrainingService/CancelJob jobs/a  OK"));
}

// What a transport's own thread found must not wait for the disk.
TEST_F(AuditLogTest, ALateEventIsEnteredWithTheNextWrite) {
  const size_t writes = store_.writes();
  log().AddLater(NewAuditEvent("thief", "StudyService/SealStudy"));
  log().AddLater(NewAuditEvent("thief", "StudyService/DeleteStudy"));
  EXPECT_EQ(store_.writes(), writes);
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  EXPECT_EQ(store_.writes(), writes + 1);
  EXPECT_THAT(Log(), ElementsAre("2023-11-14 coppiced log/begin   OK",
                                 "2023-11-14 coppiced ledger/open datasets/d  OK",
                                 "2023-11-14 thief StudyService/SealStudy   OK",
                                 "2023-11-14 thief StudyService/DeleteStudy   OK"));
}

TEST_F(AuditLogTest, ALateEventOutlivesAWriteThatFails) {
  log().AddLater(NewAuditEvent("thief", "StudyService/SealStudy"));
  store_.FailWrites(ResourceExhaustedError("the disk is full"));
  EXPECT_FALSE(log().WriteLate().ok());
  store_.FailWrites(OkStatus());
  ASSERT_OK(log().WriteLate());
  ASSERT_OK(log().WriteLate());
  EXPECT_THAT(Log(), ElementsAre("2023-11-14 coppiced log/begin   OK",
                                 "2023-11-14 thief StudyService/SealStudy   OK"));
}

TEST_F(AuditLogTest, TellsOfHoldsAndOfTheirEnds) {
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  const Sha256Digest head = ledger().Get("d")->head;
  storage::StoreBatch hold;
  hold.Put(ledger::HoldKey("d"),
           ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed, .head = head}));
  ASSERT_OK(log().Apply(hold, {NewAuditEvent(kOfflineActor, "store/restore")}));
  Open();
  const ActorScope scope("ops");
  ASSERT_OK(ledger().Confirm("d", head));
  ASSERT_OK(log().Apply(hold));
  Open();
  ASSERT_OK(ledger().WriteOff("d", 9, 0));
  EXPECT_THAT(Log(), ElementsAre(HasSubstr("log/begin"), HasSubstr("ledger/open"),
                                 "2023-11-14 offline store/restore   OK",
                                 "2023-11-14 coppiced ledger/hold datasets/d  OK",
                                 "2023-11-14 ops ledger/confirm datasets/d  OK",
                                 "2023-11-14 ops ledger/hold datasets/d  OK",
                                 "2023-11-14 ops ledger/write-off datasets/d  OK"));
  Open();
}

// On a store of a version without a log, the ledgers' entries so far are trusted, later ones not.
TEST_F(AuditLogTest, BeginsOnAStoreThatHasLedgers) {
  MemoryStore old;
  {
    ASSERT_OK_AND_ASSIGN(const auto ledger, OpenLedger(old));
    ASSERT_OK(ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
    ASSERT_OK(ledger->Reserve("d", "a", Releases(5), {}));
  }
  {
    ASSERT_OK_AND_ASSIGN(const AuditedLedger opened, OpenAudited(old, now_));
    ASSERT_OK(opened.ledger->Settle("d", "a", {}, {}));
  }
  EXPECT_OK(OpenAudited(old, now_).status());
  {
    ASSERT_OK_AND_ASSIGN(const auto unaudited, OpenLedger(old));
    ASSERT_OK(unaudited->Reserve("d", "b", Releases(5), {}));
  }
  EXPECT_THAT(OpenAudited(old, now_).status(),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(ledger::LedgerKey("d", 3)),
                                                    HasSubstr("not in the audit log"))));
}

TEST_F(AuditLogTest, RefusesToRemoveLedgersByTheirPrefix) {
  for (const char* prefix : {"ledger/d/", "hold/", "l", ""}) {
    storage::StoreBatch batch;
    batch.DeletePrefix(prefix);
    EXPECT_THAT(log().Apply(batch), StatusIs(StatusCode::kInternal, HasSubstr("prefix")));
  }
}

// The log that a reader sees has no time of day and no hash of a ledger.
TEST_F(AuditLogTest, APageHoldsNothingOfTheClock) {
  ASSERT_OK(ledger().OpenAccount("d", BasicCap(kEpsilon), {}));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse page, log().Read(0, 0));
  now_ += 3600;
  MemoryStore other;
  ASSERT_OK_AND_ASSIGN(const AuditedLedger later, OpenAudited(other, now_));
  ASSERT_OK(later.ledger->OpenAccount("d", BasicCap(kEpsilon), {}));
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse same, later.log->Read(0, 0));
  ASSERT_EQ(page.entries_size(), same.entries_size());
  for (int i = 0; i < page.entries_size(); ++i) {
    v1::AuditEntry a = page.entries(i), b = same.entries(i);
    for (v1::AuditEntry* entry : {&a, &b}) {
      entry->clear_hash();
      entry->clear_ledger_link();  // each store has its own salt
    }
    EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
  }
}

}  // namespace
}  // namespace coppice::audit
