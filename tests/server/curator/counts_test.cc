// Counts of reports across restarts and crashes, and what is refused before it is counted.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Each;
using ::testing::HasSubstr;

constexpr ReportOutcome kAccepted = ReportOutcome::kAccepted;
constexpr ReportOutcome kBadPayload = ReportOutcome::kBadPayload;

class CountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Reopen(store_);
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(Spec("one")));
  }

  // Does not drain: what is not in the store is lost, as in a crash.
  void Reopen(storage::Store& store, const StudiesLimits& limits = {}) {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(
                                       store, models_, [this] { return now_; }, limits));
  }

  void SendGood(uint32_t count) {
    EXPECT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, count)));
  }
  void SendBad(uint32_t count) {
    auto reports = HonestReports(*studies_, study_, count);
    for (SubmittedReport& report : reports) report.payload.clear();
    EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(kBadPayload));
  }

  void ExpectCounts(uint64_t accepted, uint64_t bad) {
    const StudyInfo info = *studies_->Get("one");
    EXPECT_EQ(CountOf(info, kAccepted), accepted);
    EXPECT_EQ(CountOf(info, kBadPayload), bad);
    EXPECT_EQ(info.received, accepted + bad + info.failed);
    EXPECT_EQ(info.in_sums, accepted);
    EXPECT_OK(studies_->Reconcile());
  }

  int64_t now_ = 1000;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
};

TEST_F(CountsTest, CrashForgetsRejectionsThatNothingWroteAndNothingElse) {
  SendGood(3);
  SendBad(2);
  ExpectCounts(3, 2);
  Reopen(store_);
  ExpectCounts(3, 0);
}

TEST_F(CountsTest, ReportsOfNoStudyAreCountedTogether) {
  EXPECT_EQ(studies_->ReportsOfNoStudy(), 0u);
  EXPECT_THAT(*Send(*studies_, "none", Bytes(study_.fingerprint), {{"a", "b"}, {"c", "d"}}).get(),
              Each(ReportOutcome::kUnknownStudy));
  SendGood(1);
  EXPECT_EQ(studies_->ReportsOfNoStudy(), 2u);
  ExpectCounts(1, 0);
}

TEST_F(CountsTest, SweepKeepsRejections) {
  SendGood(3);
  SendBad(2);
  ASSERT_OK(studies_->Sweep());
  Reopen(store_);
  ExpectCounts(3, 2);
}

TEST_F(CountsTest, NextAcceptedReportKeepsRejections) {
  SendBad(2);
  SendGood(1);
  Reopen(store_);
  ExpectCounts(1, 2);
}

TEST_F(CountsTest, DrainKeepsRejections) {
  SendBad(2);
  studies_->Drain();
  Reopen(store_);
  ExpectCounts(0, 2);
}

TEST_F(CountsTest, RejectionsOfASealedStudyAreKept) {
  const auto reports = HonestReports(*studies_, study_, 2);
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK(SendAndWait(*studies_, study_, reports));
  ASSERT_OK(studies_->Sweep());
  Reopen(store_);
  EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kStudySealed), 2u);
}

TEST_F(CountsTest, SweepWithoutNewsWritesNothing) {
  SendGood(1);
  const size_t writes = store_.writes();
  ASSERT_OK(studies_->Sweep());
  SendBad(1);
  EXPECT_EQ(store_.writes(), writes) << "a rejection costs no write of its own";
  for (int i = 0; i < 3; ++i) ASSERT_OK(studies_->Sweep());
  EXPECT_EQ(store_.writes(), writes + 1);
}

TEST_F(CountsTest, SweepThatFailedIsMadeUpFor) {
  SendBad(2);
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_FALSE(studies_->Sweep().ok());
  store_.FailWrites(OkStatus());
  ASSERT_OK(studies_->Sweep());
  Reopen(store_);
  ExpectCounts(0, 2);
}

TEST_F(CountsTest, ReportsWhoseWriteFailedAreReceivedAndFailed) {
  const auto reports = HonestReports(*studies_, study_, 4);
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_FALSE(SendAndWait(*studies_, study_, reports).ok());
  EXPECT_EQ(studies_->Get("one")->failed, 4u);
  EXPECT_EQ(studies_->Get("one")->received, 4u);
  store_.FailWrites(OkStatus());
  ASSERT_OK(SendAndWait(*studies_, study_, reports));
  EXPECT_EQ(studies_->Get("one")->received, 8u);
  ExpectCounts(4, 0);
  Reopen(store_);
  EXPECT_EQ(studies_->Get("one")->received, 4u);
}

// The disk may hold a failed group that memory does not; the counts must still fit its sums.
TEST_F(CountsTest, SweepAfterAFailedGroupThatIsOnTheDiskLeavesAStoreThatAddsUp) {
  CrashingStore crashing(store_, {.write = 1, .kept = true, .fatal = false});
  Reopen(crashing);
  SendGood(3);
  EXPECT_FALSE(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 5)).ok());
  SendBad(2);
  ASSERT_OK(studies_->Sweep());
  EXPECT_OK(studies_->Reconcile());
  Reopen(store_);
  ExpectCounts(8, 0);
}

// Whichever write is the last, kept or lost, the curator opens and its counts agree.
TEST_F(CountsTest, CountsReconcileAfterACrashAtAnyWrite) {
  for (size_t write = 0; write < 6; ++write) {
    for (const bool kept : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "write " << write << (kept ? ", kept" : ", lost"));
      MemoryStore disk;
      Reopen(disk);
      ASSERT_OK_AND_ASSIGN(study_, studies_->Create(Spec("one")));
      CrashingStore crashing(disk, {.write = write, .kept = kept, .fatal = true});
      Reopen(crashing);
      const auto good = HonestReports(*studies_, study_, 8);
      auto bad = good;
      for (SubmittedReport& report : bad) report.payload.clear();
      for (size_t i = 0; i < 8; i += 2) {
        (void)SendAndWait(*studies_, study_, {bad[i], good[i], good[i + 1]});
        (void)SendAndWait(*studies_, study_, {bad[i + 1]});
        (void)studies_->Sweep();
      }
      Reopen(disk);
      const StudyInfo info = *studies_->Get("one");
      EXPECT_EQ(info.received, Received(info));
      EXPECT_OK(studies_->Reconcile());
    }
  }
}

TEST_F(CountsTest, MoreReportsThanTheRateAreRefusedWholeUntilTheNextSecond) {
  Reopen(store_, {.reports_per_second = 1000});
  const auto some = HonestReports(*studies_, study_, 600);
  EXPECT_OK(SendAndWait(*studies_, study_, some));
  EXPECT_THAT(SendAndWait(*studies_, study_, some),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("more than 1000 reports")));
  ExpectCounts(600, 0);
  EXPECT_OK(SendAndWait(*studies_, study_, {some.begin(), some.begin() + 400}));
  EXPECT_FALSE(SendAndWait(*studies_, study_, {some[0]}).ok());
  ++now_;
  EXPECT_OK(SendAndWait(*studies_, study_, some));
}

// Opening costs more than judging: who sends what cannot count must not cost more for it.
TEST_F(CountsTest, MessagesThatDoNotOpenAreBoundedByTheRatesOfAllStudies) {
  Reopen(store_, {.reports_per_second = 1000});
  ASSERT_OK(studies_->Create(Spec("two")));
  size_t opened = 0;
  while (!IsResourceExhausted(studies_->OpenMessage("", "", "").status())) ++opened;
  EXPECT_EQ(opened, 2000u);
  EXPECT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 1000)))
      << "what was opened still counts";
  ++now_;
  EXPECT_FALSE(IsResourceExhausted(studies_->OpenMessage("", "", "").status()));
}

TEST_F(CountsTest, RateIsOfEachStudyByItself) {
  Reopen(store_, {.reports_per_second = 1000});
  ASSERT_OK_AND_ASSIGN(const StudyInfo two, studies_->Create(Spec("two")));
  EXPECT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 1000)));
  EXPECT_OK(SendAndWait(*studies_, two, HonestReports(*studies_, two, 1000)));
}

}  // namespace
}  // namespace coppice::curator
