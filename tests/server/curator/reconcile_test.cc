// Counts that agree, and planted counts that do not.

#include "server/curator/studies/reconcile.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
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

TEST(ReconcileTest, ADifferenceOfOneIsFoundAndNamesTheStudyAndBothNumbers) {
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
    EXPECT_THAT(ReconcileTotals(totals),
                StatusIs(StatusCode::kInternal, AllOf(HasSubstr("study one"), HasSubstr(twin.one),
                                                      HasSubstr(twin.other))));
  }
}

TEST(ReconcileTest, CuratorReconcilesAfterEveryKindOfReport) {
  MemoryStore store;
  std::optional<models::Models> models;
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

TEST(ReconcileTest, AModelMayLackReportsThatCameLaterUnlessItIsTheFinalOne) {
  const StudyReports open{.accepted = 7};
  const StudyReports built{.accepted = 7, .final_model = "m"};
  for (const uint64_t reports : {0, 6, 7, 8}) {
    const ModelReports model{.study = "one", .model = "m", .reports = reports};
    EXPECT_EQ(ReconcileModel(model, open).ok(), reports <= 7) << reports;
    EXPECT_EQ(ReconcileModel(model, built).ok(), reports == 7) << reports;
  }
}

class AllModelsTest : public ::testing::Test {
 protected:
  void Publish(const std::string& id, const std::string& source, uint64_t reports) {
    Certificate certificate;
    certificate.reports = reports;
    models_.Publish({.id = id,
                     .source = source,
                     .created_unix_seconds = 1,
                     .model = std::make_shared<const Model>(
                         *Model::Create(PublicRows()->schema(), {Tree::SingleLeaf()},
                                        {{{{0.25, 0.75}, 0.5, 1, 0}}}, certificate))});
  }

  models::Models models_;
  ModelsWithLostReports outlived_;
};

TEST_F(AllModelsTest, VisitsEachModelOfAStudyOnceAndNoModelOfAJob) {
  std::map<std::string, size_t> asked;
  const auto seven = [&](const std::string& study) -> std::optional<StudyReports> {
    ++asked[study];
    if (study == "gone") return std::nullopt;
    return StudyReports{.accepted = 7};
  };
  for (size_t i = 0; i < 2'500; ++i) Publish(StrCat("m", i), "studies/one", 7);
  Publish("other", "studies/two", 6);
  Publish("of-gone", "studies/gone", 9);
  Publish("of-job", "jobs/j", 9);
  EXPECT_OK(ReconcileModels(models_, outlived_, seven));
  EXPECT_EQ(asked, (std::map<std::string, size_t>{{"one", 2'500}, {"two", 1}, {"gone", 1}}));
  Publish("z", "studies/one", 8);
  EXPECT_THAT(ReconcileModels(models_, outlived_, seven),
              StatusIs(StatusCode::kInternal, HasSubstr("in its model z 8")));
}

TEST_F(AllModelsTest, OnlyAModelNotedAsOutlivingItsReportsIsExcused) {
  const auto seven = [](const std::string&) { return StudyReports{.accepted = 7}; };
  const ModelReports noted{.study = "one", .model = "m", .reports = 9};
  ASSERT_OK(outlived_.Add(OutlivedKey("one", "m"), EncodeOutlived(noted, 7, /*now=*/5)));
  Publish("m", "studies/one", 9);
  EXPECT_OK(ReconcileModels(models_, outlived_, seven));
  for (const uint64_t reports : {8, 10}) {
    Publish("m", "studies/one", reports);
    EXPECT_FALSE(ReconcileModels(models_, outlived_, seven).ok()) << reports;
  }
  Publish("m", "studies/two", 9);
  EXPECT_FALSE(ReconcileModels(models_, outlived_, seven).ok()) << "of another study";
  Publish("m", "studies/one", 9);
  Publish("n", "studies/one", 9);
  EXPECT_FALSE(ReconcileModels(models_, outlived_, seven).ok()) << "another model";
}

// A study goes on while its models are checked, so models built meanwhile rest on more reports than
// the study had when it was asked.
TEST_F(AllModelsTest, ModelsThatAreBuiltMeanwhileRaiseNoFalseAlarm) {
  for (size_t i = 0; i < 1'500; ++i) Publish(StrCat("m", i), "studies/one", 7);
  uint64_t accepted = 7;
  EXPECT_OK(
      ReconcileModels(models_, outlived_, [&](const std::string&) -> std::optional<StudyReports> {
        const StudyReports now{.accepted = accepted++};
        Publish(StrCat("z", accepted), "studies/one", accepted);
        return now;
      }));
}

TEST(ReconcileTest, CuratorReconcilesWhileReportsComeAndModelsAreBuilt) {
  MemoryStore store;
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(Spec("one")));
  const auto reports = HonestReports(*studies, study, 60);
  std::atomic<bool> done = false;
  std::thread builder([&] {
    for (size_t i = 0; i < reports.size(); ++i) {
      EXPECT_OK(SendAndWait(*studies, study, {reports[i]}));
      EXPECT_OK(studies->BuildModel("one", StrCat("m", i), {}));
    }
    EXPECT_OK(studies->Seal("one"));
    EXPECT_OK(studies->BuildModel("one", "last", {}));
    done = true;
  });
  while (!done) EXPECT_OK(studies->Reconcile());
  builder.join();
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
                StatusIs(StatusCode::kInternal,
                         AllOf(HasSubstr("study one"), HasSubstr(one), HasSubstr(other))));
  }

  // Replaces a model's certificate by one that says `reports`.
  void Doctor(const std::string& id, uint64_t reports) {
    models::ModelInfo info = *models_->Get(id);
    Certificate certificate = info.model->certificate();
    certificate.reports = reports;
    info.model = std::make_shared<const Model>(*Model::Create(
        info.model->schema(), {Tree::SingleLeaf()}, {{{{0.25, 0.75}, 0.5, 1, 0}}}, certificate));
    models_->Publish(info);
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
};

TEST_F(PlantedBugTest, DoctoredRecordIsFoundWhileTheCuratorRuns) {
  Counts counts;
  counts.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)] = 8;
  counts.answered = 8;
  storage::StoreBatch batch;
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
}  // namespace coppice::curator
