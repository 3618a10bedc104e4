// Counts that agree, and planted ones that do not.

#include "server/curator/reconcile.h"

#include "server/curator/store_keys.h"
#include "server/curator/study_record.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: the fixture is all of this file's vocabulary.
using ::testing::AllOf;
using ::testing::HasSubstr;

StudyTotals Good() {
  return {.study = "one",
          .received = 20,
          .waiting = 4,
          .answered = 15,
          .outcomes = 15,
          .failed = 1,
          .accepted = 7,
          .in_sums = 7,
          .open = true,
          .spent_tickets = 7};
}

TEST(ReconcileTest, EqualCountsAreFine) {
  EXPECT_OK(ReconcileTotals(Good()));
  StudyTotals sealed = Good();
  sealed.open = false;
  sealed.spent_tickets = 0;
  EXPECT_OK(ReconcileTotals(sealed));
  sealed.retired = true;
  sealed.in_sums = 0;
  EXPECT_OK(ReconcileTotals(sealed));
}

TEST(ReconcileTest, OneOffIsFoundAndNamesTheStudyAndBothNumbers) {
  const struct {
    uint64_t StudyTotals::*count;
    const char* one;
    const char* other;
  } twins[] = {{&StudyTotals::received, "received 21", "waiting 20"},
               {&StudyTotals::waiting, "received 20", "waiting 21"},
               {&StudyTotals::failed, "received 20", "waiting 21"},
               {&StudyTotals::outcomes, "answered 15", "rejected 16"},
               {&StudyTotals::accepted, "accepted 8", "in the sums 7"},
               {&StudyTotals::in_sums, "accepted 7", "in the sums 8"},
               {&StudyTotals::spent_tickets, "accepted 7", "spent tickets 8"}};
  for (const auto& twin : twins) {
    StudyTotals totals = Good();
    ++(totals.*twin.count);
    EXPECT_THAT(ReconcileTotals(totals), StatusIs(absl::StatusCode::kInternal,
                                                  AllOf(HasSubstr("study one"), HasSubstr(twin.one),
                                                        HasSubstr(twin.other))));
  }
}

TEST(ReconcileTest, CuratorReconcilesAfterEveryKindOfReport) {
  MemoryStore store;
  std::optional<Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  EXPECT_OK(studies->Reconcile());
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(Spec("one", /*trees=*/3)));
  auto reports = HonestReports(*studies, study, 20);
  reports[3].payload.clear();
  reports[4].ticket.clear();
  for (int i = 0; i < 2; ++i) ASSERT_OK(SendAndWait(*studies, study, reports));
  EXPECT_OK(studies->Reconcile());
  ASSERT_OK(studies->Seal("one"));
  ASSERT_OK(SendAndWait(*studies, study, reports));
  EXPECT_OK(studies->Reconcile());
}

class PlantedBugTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_));
    ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies_->Create(Spec("one")));
    ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 7)));
    ASSERT_OK(studies_->Reconcile());
  }

  void ExpectMismatch(const std::string& one, const std::string& other) {
    EXPECT_THAT(studies_->Reconcile(),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr("study one"), HasSubstr(one), HasSubstr(other))));
  }

  // A model made again with a certificate that says `reports`.
  void Doctor(const std::string& id, uint64_t reports) {
    ModelInfo info = *models_->Get(id);
    Certificate certificate = info.model->certificate();
    certificate.reports = reports;
    info.model = std::make_shared<const Model>(*Model::Create(
        info.model->schema(), {Tree::SingleLeaf()}, {{{{0.25, 0.75}, 0.5, 1, 0}}}, certificate));
    models_->Publish(info);
  }

  MemoryStore store_;
  std::optional<Models> models_;
  std::unique_ptr<Studies> studies_;
};

TEST_F(PlantedBugTest, DoctoredRecordIsFoundWhileTheCuratorRuns) {
  Counts counts;
  counts.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)] = 8;
  counts.answered = 8;
  StoreBatch batch;
  batch.Put(CountsKey("one"), EncodeCounts(counts));
  ASSERT_OK(store_.Apply(batch));
  ExpectMismatch("outcome 1 7", "in the store 8");
}

TEST_F(PlantedBugTest, ModelOfMoreReportsThanThereAreIsFound) {
  ASSERT_OK(studies_->BuildModel("one", "early", {}));
  EXPECT_OK(studies_->Reconcile());
  Doctor("early", 6);
  EXPECT_OK(studies_->Reconcile());
  Doctor("early", 8);
  ExpectMismatch("accepted 7", "in its model early 8");
}

TEST_F(PlantedBugTest, FinalModelThatLacksAReportIsFound) {
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK(studies_->BuildModel("one", "last", {}));
  EXPECT_OK(studies_->Reconcile());
  Doctor("last", 6);
  ExpectMismatch("accepted 7", "in its final model last 6");
}

}  // namespace
}  // namespace coppice
