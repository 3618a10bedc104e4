// Each report is judged once, counted at most once, and never lost once it was accepted.

#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr ReportOutcome kAccepted = ReportOutcome::kAccepted;
constexpr ReportOutcome kDuplicate = ReportOutcome::kDuplicate;

enum class Engine { kMemory, kRocksDb };

class ReportsTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    Reopen();
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(Spec("one", /*trees=*/3)));
  }

  void Reopen() {
    studies_.reset();
    rocksdb_.reset();
    if (GetParam() == Engine::kRocksDb) {
      ASSERT_OK_AND_ASSIGN(rocksdb_, storage::OpenRocksDbStore(folder_.path()));
    }
    storage::Store& store = rocksdb_ != nullptr ? *rocksdb_ : memory_;
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store, models_));
  }

  StudyInfo Now() const { return *studies_->Get("one"); }

  TempDir folder_;
  MemoryStore memory_;
  std::unique_ptr<storage::Store> rocksdb_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
};

TEST_P(ReportsTest, EachReportIsAcceptedExactlyOnce) {
  const auto reports = HonestReports(*studies_, study_, 50);
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(kAccepted));
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(kDuplicate));
  Reopen();
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(kDuplicate));
  EXPECT_EQ(CountOf(Now(), kAccepted), 50u);
  EXPECT_EQ(CountOf(Now(), kDuplicate), 100u);
  EXPECT_EQ(Received(Now()), 150u);
}

TEST_P(ReportsTest, DuplicateInTheSameBatchIsCountedOnce) {
  auto reports = HonestReports(*studies_, study_, 2);
  reports.push_back(reports[0]);
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports),
              ElementsAre(kAccepted, kAccepted, kDuplicate));
  EXPECT_EQ(CountOf(Now(), kAccepted), 2u);
}

TEST_P(ReportsTest, ModelsRestOnTheSumOfExactlyTheAcceptedReports) {
  const auto reports = HonestReports(*studies_, study_, 40);
  for (int i = 0; i < 2; ++i) ASSERT_OK(SendAndWait(*studies_, study_, reports));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo before, studies_->BuildModel("one", "before", {}));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo after, studies_->BuildModel("one", "after", {}));
  EXPECT_EQ(before.model->certificate().reports, 40u);
  EXPECT_EQ(*before.model, *after.model);
}

TEST_P(ReportsTest, EveryRejectionHasItsOutcomeAndIsCounted) {
  auto reports = HonestReports(*studies_, study_, 4);
  reports[0].ticket[20] = static_cast<char>(reports[0].ticket[20] ^ 1);
  reports[1].ticket.pop_back();
  reports[2].payload.pop_back();
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports),
              ElementsAre(ReportOutcome::kBadTicket, ReportOutcome::kBadTicket,
                          ReportOutcome::kBadPayload, kAccepted));
  EXPECT_THAT(*Send(*studies_, "one", std::string(32, 'x'), reports).get(),
              Each(ReportOutcome::kStaleFingerprint));
  EXPECT_THAT(*Send(*studies_, "one", "short", reports).get(),
              Each(ReportOutcome::kStaleFingerprint));
  EXPECT_THAT(*Send(*studies_, "two", Bytes(study_.fingerprint), reports).get(),
              Each(ReportOutcome::kUnknownStudy));
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kBadTicket), 2u);
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kBadPayload), 1u);
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kStaleFingerprint), 8u);
  EXPECT_EQ(Received(Now()), 12u);
}

// A message of another length could be told apart on the way.
TEST_P(ReportsTest, OneLengthOfTheirMessageIsTakenAlone) {
  const auto reports = HonestReports(*studies_, study_, 3);
  const auto send = [&](const std::string& fingerprint, uint64_t message_bytes) {
    ReportBatch batch = BatchOf(reports);
    batch.set_message_bytes(message_bytes);
    std::promise<StatusOr<std::vector<ReportOutcome>>> done;
    studies_->Submit("one", fingerprint, std::move(batch),
                     [&](auto outcomes) { done.set_value(std::move(outcomes)); });
    return done.get_future().get();
  };
  int taken = 0;
  for (uint64_t bytes = 64; bytes <= 8192; bytes += 64) {
    const auto outcomes = send(Bytes(study_.fingerprint), bytes);
    if (outcomes.ok()) {
      EXPECT_THAT(*outcomes, Each(kAccepted));
      ++taken;
    } else {
      EXPECT_THAT(outcomes, StatusIs(StatusCode::kInvalidArgument, HasSubstr("is padded to")));
    }
    // Reports of other terms were padded by those.
    EXPECT_THAT(*send(std::string(32, 'x'), bytes), Each(ReportOutcome::kStaleFingerprint));
  }
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(CountOf(Now(), kAccepted), 3u);
}

TEST_P(ReportsTest, BadPayloadDoesNotSpendItsTicket) {
  auto reports = HonestReports(*studies_, study_, 1);
  auto broken = reports;
  broken[0].payload.push_back('x');
  broken.push_back(reports[0]);
  EXPECT_THAT(*SendAndWait(*studies_, study_, broken),
              ElementsAre(ReportOutcome::kBadPayload, kAccepted));
}

TEST_P(ReportsTest, TicketOfAnotherStudyIsBad) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo two, studies_->Create(Spec("two", /*trees=*/3)));
  EXPECT_THAT(*SendAndWait(*studies_, two, HonestReports(*studies_, study_, 1)),
              ElementsAre(ReportOutcome::kBadTicket));
}

TEST_P(ReportsTest, SealedStudyTakesNone) {
  const auto reports = HonestReports(*studies_, study_, 2);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(ReportOutcome::kStudySealed));
  EXPECT_EQ(CountOf(Now(), ReportOutcome::kStudySealed), 2u);
  EXPECT_EQ(Received(Now()), 2u);
}

TEST_P(ReportsTest, DeletedStudyTakesNone) {
  const auto reports = HonestReports(*studies_, study_, 2);
  ASSERT_OK(SendAndWait(*studies_, study_, reports));
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_THAT(*SendAndWait(*studies_, study_, reports), Each(ReportOutcome::kStudyDeleted));
}

TEST_P(ReportsTest, EmptyBatchIsAnswered) {
  EXPECT_THAT(*SendAndWait(*studies_, study_, {}), SizeIs(0));
}

TEST_P(ReportsTest, DrainAnswersWhatIsQueuedAndRefusesWhatComes) {
  auto reports = HonestReports(*studies_, study_, 20);
  std::vector<std::future<Answer>> answers;
  for (const SubmittedReport& report : reports) {
    answers.push_back(Send(*studies_, "one", Bytes(study_.fingerprint), {report}));
  }
  studies_->Drain();
  for (auto& answer : answers) EXPECT_THAT(*answer.get(), ElementsAre(kAccepted));
  EXPECT_THAT(SendAndWait(*studies_, study_, reports),
              StatusIs(StatusCode::kUnavailable, HasSubstr("shutting down")));
  studies_->Drain();
  EXPECT_EQ(Received(Now()), 20u);
}

TEST_P(ReportsTest, ManySubmittersAtOnceLoseAndRepeatNothing) {
  constexpr int kThreads = 4;
  const auto reports = HonestReports(*studies_, study_, 200);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<std::future<Answer>> answers;
      for (size_t i = 0; i < reports.size(); i += 10) {
        answers.push_back(Send(*studies_, "one", Bytes(study_.fingerprint),
                               {reports.begin() + i, reports.begin() + i + 10}));
      }
      for (auto& answer : answers) EXPECT_OK(answer.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountOf(Now(), kAccepted), 200u);
  EXPECT_EQ(CountOf(Now(), kDuplicate), 200u * (kThreads - 1));
  Reopen();
  EXPECT_EQ(CountOf(Now(), kAccepted), 200u);
}

TEST_P(ReportsTest, NoReportIsAcceptedAfterSealReturns) {
  const auto reports = HonestReports(*studies_, study_, 100);
  std::vector<std::future<Answer>> answers;
  std::thread sender([&] {
    for (const SubmittedReport& report : reports) {
      answers.push_back(Send(*studies_, "one", Bytes(study_.fingerprint), {report}));
    }
  });
  ASSERT_OK_AND_ASSIGN(const StudyInfo sealed, studies_->Seal("one"));
  sender.join();
  uint64_t accepted = 0;
  for (auto& answer : answers) {
    const ReportOutcome outcome = answer.get()->front();
    EXPECT_TRUE(outcome == kAccepted || outcome == ReportOutcome::kStudySealed);
    if (outcome == kAccepted) ++accepted;
  }
  EXPECT_EQ(CountOf(sealed, kAccepted), accepted);
  EXPECT_EQ(Received(Now()), 100u);
}

INSTANTIATE_TEST_SUITE_P(Engines, ReportsTest, ::testing::Values(Engine::kMemory, Engine::kRocksDb),
                         [](const auto& test) {
                           return test.param == Engine::kMemory ? "Memory" : "RocksDb";
                         });

}  // namespace
}  // namespace coppice::curator
