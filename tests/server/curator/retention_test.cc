// What is left of a study after its retention.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/studies/studies.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSealed = 1000;
constexpr int64_t kDay = 24 * 60 * 60;

class RetentionTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(store_); }

  void Reopen(storage::Store& store) {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store, models_, [this] { return now_; }));
  }

  // A sealed study of five reports with a model.
  void MakeStudy(uint32_t retention_days) {
    StudySpec spec = Spec("one", /*trees=*/2);
    spec.settings.retention_days = retention_days;
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(spec));
    reports_ = HonestReports(*studies_, study_, 5);
    ASSERT_OK(SendAndWait(*studies_, study_, reports_));
    ASSERT_OK(studies_->Seal("one"));
    ASSERT_OK(studies_->BuildModel("one", "model", {}));
  }

  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    EXPECT_OK(store_.Scan("", [&](std::string_view key, std::string_view) {
      const std::string kind(key.substr(0, key.find('/')));
      if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
      return OkStatus();
    }));
    return kinds;
  }

  void ExpectRetired() {
    const StudyInfo info = *studies_->Get("one");
    EXPECT_TRUE(info.retired);
    EXPECT_EQ(info.state, StudyState::kBuilt);
    EXPECT_EQ(CountOf(info, ReportOutcome::kAccepted), 5u);
    EXPECT_EQ(info.in_sums, 0u);
    EXPECT_TRUE(info.alarms.empty());
    EXPECT_OK(models_->Get("model"));
    EXPECT_THAT(*SendAndWait(*studies_, study_, reports_), Each(ReportOutcome::kStudySealed));
    EXPECT_THAT(studies_->BuildModel("one", "other", {}),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sums were deleted")));
    EXPECT_OK(studies_->BuildModel("one", "model", {})) << "that is there";
    StudySpec again = Spec("one");
    again.request_id = "another";
    EXPECT_THAT(studies_->Create(again),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("study_id")));
    EXPECT_OK(studies_->Reconcile());
  }

  int64_t now_ = kSealed;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
  std::vector<SubmittedReport> reports_;
};

TEST_F(RetentionTest, SumsRowsAndTicketsGoAndWhatRefusesReportsStays) {
  MakeStudy(30);
  EXPECT_THAT(Kinds(),
              ElementsAre("count", "meta", "model", "rows", "spent", "study", "summary", "sums"));
  now_ = kSealed + 30 * kDay;
  ASSERT_OK(studies_->Sweep());
  EXPECT_THAT(Kinds(), ElementsAre("count", "meta", "model", "study", "summary"));
  ExpectRetired();
  now_ = kSealed;  // the clock is set back
  Reopen(store_);
  ExpectRetired();
  EXPECT_OK(studies_->Sweep());
  EXPECT_OK(studies_->Delete("one"));
}

TEST_F(RetentionTest, ForecastsEndWithThePublicRows) {
  MakeStudy(30);
  ASSERT_OK_AND_ASSIGN(const PublicSide side, studies_->GetPublicSide("one"));
  EXPECT_EQ(side.terms->epsilon, *Budget::FromEpsilon(1));
  EXPECT_EQ(side.rows->num_rows(), PublicRows()->num_rows());
  EXPECT_EQ(*side.forest, *study_.forest);
  EXPECT_EQ(side.partition, study_.partition);
  EXPECT_THAT(studies_->GetPublicSide("two"), StatusIs(StatusCode::kNotFound, HasSubstr("two")));
  now_ = kSealed + 30 * kDay;
  ASSERT_OK(studies_->Sweep());
  EXPECT_THAT(studies_->GetPublicSide("one"),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("its public rows were deleted 30 days after sealing")));
}

TEST_F(RetentionTest, AStudyOfTheSchemaAloneHasNoPublicRows) {
  StudySpec spec = Spec("bare");
  spec.partition = {
      .rule = SplitRule::kHybrid, .trees = 2, .use_labels = false, .from_schema = true};
  spec.public_rows =
      std::make_shared<const Table>(*RowsFromSchema(PublicRows()->shared_schema(), /*seed=*/1));
  ASSERT_OK(studies_->Create(spec));
  EXPECT_THAT(studies_->GetPublicSide("bare"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("made from its schema alone")));
}

TEST_F(RetentionTest, NothingGoesBeforeItsTimeOrWithoutOne) {
  MakeStudy(30);
  now_ = kSealed + 30 * kDay - 1;
  ASSERT_OK(studies_->Sweep());
  EXPECT_FALSE(studies_->Get("one")->retired);
  EXPECT_OK(studies_->BuildModel("one", "late", {}));

  StudySpec for_ever = Spec("two");
  ASSERT_OK(studies_->Create(for_ever));
  ASSERT_OK(studies_->Seal("two"));
  StudySpec open = Spec("three");
  open.settings.retention_days = 1;
  ASSERT_OK(studies_->Create(open));
  now_ = kSealed + 100'000 * kDay;
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(studies_->Get("one")->retired);
  EXPECT_FALSE(studies_->Get("two")->retired);
  EXPECT_FALSE(studies_->Get("three")->retired);
  EXPECT_OK(studies_->BuildModel("two", "", {}));
}

TEST_F(RetentionTest, RetentionOfAnExpiredStudyBeginsWhenItExpired) {
  StudySpec spec = Spec("one");
  spec.settings.expires_unix_seconds = kSealed + 10;
  spec.settings.retention_days = 1;
  ASSERT_OK(studies_->Create(spec));
  now_ = kSealed + 10 + kDay;  // no call noticed the end
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(studies_->Get("one")->retired);
}

TEST_F(RetentionTest, CrashLeavesAStudyWholeOrRetired) {
  MakeStudy(30);
  now_ = kSealed + 30 * kDay;
  Reopen(store_);  // replaces the direct key, so that the sweep's first write is the study's
  for (const bool kept : {false, true}) {
    SCOPED_TRACE(kept);
    CrashingStore crashing(store_, {.write = 0, .kept = kept, .fatal = true});
    Reopen(crashing);
    EXPECT_FALSE(studies_->Sweep().ok());
    Reopen(store_);
    EXPECT_EQ(studies_->Get("one")->retired, kept);
    EXPECT_OK(studies_->Reconcile());
  }
  ExpectRetired();
}

}  // namespace
}  // namespace coppice::curator
