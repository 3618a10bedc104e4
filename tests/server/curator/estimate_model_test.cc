#include <functional>
#include <future>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/describe/verdict.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/studies/study_model.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class EstimateModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Reopen();
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(Spec("one", /*trees=*/3)));
    ASSERT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 60)));
  }

  void Reopen() {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_));
  }

  std::vector<std::string> Ids(std::string_view study, const Page& page) const {
    std::vector<std::string> ids;
    for (const models::ModelSummary& info : models_->List(study, page)) ids.push_back(info.id);
    return ids;
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
};

TEST_F(EstimateModelTest, CertificateSaysWhatTheModelCostAndAssumed) {
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info, studies_->BuildModel("one", "model", {}));
  const Certificate& certificate = info.model->certificate();
  EXPECT_EQ(certificate.epsilon_nanos, 1'000'000'000u);
  ASSERT_EQ(certificate.releases.size(), 1u);
  EXPECT_EQ(certificate.releases[0].epsilon_nanos, 1'000'000'000u);
  EXPECT_EQ(certificate.releases[0].times, 1u);
  EXPECT_OK(CheckCertificate(certificate));
  EXPECT_EQ(certificate.mechanism, "laplace_split");
  EXPECT_EQ(certificate.neighbouring, "any value of one device's row for any other (local)");
  EXPECT_THAT(certificate.public_inputs, Contains(HasSubstr("64 public rows")));
  EXPECT_EQ(certificate.estimator, EstimatorOptions().ToString());
  EXPECT_EQ(certificate.reports, 60u);
  EXPECT_EQ(certificate.public_rows, 64u);
  EXPECT_EQ(certificate.fingerprint, ToHex(study_.fingerprint));
  EXPECT_EQ(certificate.code_version, COPPICE_VERSION);
  EXPECT_EQ(info.created_unix_seconds, 1000);
}

TEST_F(EstimateModelTest, OnlyModelsOfASealedStudyPromiseReadersMore) {
  ASSERT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 940)));
  // The operator is no reader of models, and numbers of reports follow from no row.
  ASSERT_OK(studies_->GetCounts("one", {}, Viewer::kOperator));
  EXPECT_FALSE(studies_->Get("one", Viewer::kOperator)->alarms.empty());
  EXPECT_TRUE(studies_->Get("one", Viewer::kReader)->alarms.empty());
  ASSERT_OK(studies_->ReportsOverTime("one"));
  EXPECT_FALSE(studies_->Get("one")->seen_early);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_FALSE(studies_->Get("one", Viewer::kReader)->alarms.empty());
  ASSERT_OK(studies_->GetCounts("one", {}, Viewer::kReader));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo sealed, studies_->BuildModel("one", "sealed", {}));
  const ReadersBound& readers = sealed.model->certificate().readers;
  EXPECT_EQ(readers.honest_reports, 900);
  EXPECT_GT(readers.epsilon_nanos, 0);
  EXPECT_LT(readers.epsilon_nanos, sealed.model->certificate().epsilon_nanos / 2);
  EXPECT_OK(CheckCertificate(sealed.model->certificate())) << "the releases cost what they did";
}

// Two views of sums differ by the reports that came between, which arrival times tie to devices.
class SeenEarlyTest : public EstimateModelTest {
 protected:
  // Shows a reader something of the open study, restarts the curator, seals the study, and returns
  // the certificate of its final model.
  Certificate CertificateAfter(const std::function<Status()>& show) {
    EXPECT_OK(show());
    EXPECT_TRUE(studies_->Get("one")->seen_early);
    Reopen();
    EXPECT_TRUE(studies_->Get("one")->seen_early);
    EXPECT_OK(studies_->Seal("one"));
    const StatusOr<models::ModelInfo> built = studies_->BuildModel("one", "final", {});
    EXPECT_OK(built);
    EXPECT_TRUE(studies_->Get("one")->seen_early);
    EXPECT_OK(VerifyModel(ToProto(*built->model)).status);
    return built->model->certificate();
  }
  static void ExpectNoPromise(const Certificate& certificate) {
    EXPECT_EQ(certificate.readers, ReadersBound());
    EXPECT_THAT(certificate.public_inputs, Contains(HasSubstr("before the last report had come")));
  }
};

TEST_F(SeenEarlyTest, CountsOfAnOpenStudyEndThePromiseToReaders) {
  ExpectNoPromise(
      CertificateAfter([&] { return studies_->GetCounts("one", {}, Viewer::kReader).status(); }));
}

TEST_F(SeenEarlyTest, AModelOfAnOpenStudyEndsThePromiseToReaders) {
  ExpectNoPromise(
      CertificateAfter([&] { return studies_->BuildModel("one", "early", {}).status(); }));
}

TEST_F(SeenEarlyTest, WhatIsRefusedIsNotSeen) {
  EXPECT_FALSE(studies_->GetCounts("one", {.tree = 99}, Viewer::kReader).ok());
  EXPECT_FALSE(studies_->GetCounts("one", {.confidence = 7}, Viewer::kReader).ok());
  EXPECT_FALSE(studies_->BuildModel("one", "No id", {}).ok());
  EXPECT_FALSE(studies_->Get("one")->seen_early);
}

// Else a crash, or a final model that is built at once, would promise what is broken.
TEST_F(SeenEarlyTest, NothingIsShownBeforeItIsNoted) {
  store_.FailWrites(UnavailableError("the disk is gone"));
  EXPECT_THAT(studies_->GetCounts("one", {}, Viewer::kReader),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(studies_->BuildModel("one", "early", {}),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
  EXPECT_FALSE(studies_->Get("one")->seen_early);
  store_.FailWrites(OkStatus());
  EXPECT_OK(studies_->GetCounts("one", {}, Viewer::kReader));
  const size_t writes = store_.writes();
  EXPECT_OK(studies_->GetCounts("one", {}, Viewer::kReader)) << "one note is enough";
  EXPECT_EQ(store_.writes(), writes);
}

// Whichever comes first, no promise is made beside counts that lack reports.
TEST_F(SeenEarlyTest, CountsThatRaceWithTheFinalModelAreNotedOrAreFinal) {
  for (int round = 0; round < 20; ++round) {
    const std::string id = StrCat("race-", round);
    ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies_->Create(Spec(id)));
    ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 900)));
    auto counts = std::async(std::launch::async,
                             [&] { return studies_->GetCounts(id, {}, Viewer::kReader); });
    ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 100)));
    ASSERT_OK(studies_->Seal(id));
    ASSERT_OK_AND_ASSIGN(const models::ModelInfo built, studies_->BuildModel(id, id, {}));
    const bool promised = built.model->certificate().readers.epsilon_nanos > 0;
    ASSERT_OK_AND_ASSIGN(const StudyCounts seen, counts.get());
    EXPECT_TRUE(!promised || seen.reports == 1000) << seen.reports;
    EXPECT_EQ(studies_->Get(id)->seen_early, !promised);
  }
}

// What a version that did not note it showed is not known.
TEST_F(SeenEarlyTest, AStudyOfAnEarlierVersionMayHaveBeenSeen) {
  v1::StudyRecord record;
  ASSERT_TRUE(record.ParseFromString(**store_.Get(StudyKey("one"))));
  EXPECT_TRUE(record.unseen());
  record.clear_unseen();
  storage::StoreBatch batch;
  batch.Put(StudyKey("one"), record.SerializeAsString());
  ASSERT_OK(store_.Apply(batch));
  Reopen();
  EXPECT_TRUE(studies_->Get("one")->seen_early);
  ASSERT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 940)));
  ASSERT_OK(studies_->Seal("one"));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo built, studies_->BuildModel("one", "final", {}));
  ExpectNoPromise(built.model->certificate());
}

// By a mechanism whose two-sided mass grows as leaves go.
TEST_F(EstimateModelTest, PrunedTreesPromiseReadersNoMoreThanTheyBear) {
  StudySpec spec = Spec("direct");
  spec.mechanism = MechanismKind::kDirect;
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies_->Create(std::move(spec)));
  ASSERT_OK(SendAndWait(*studies_, study, HonestReports(*studies_, study, 1000)));
  ASSERT_OK(studies_->Seal("direct"));
  const auto build = [&](const char* model, EstimatorKind kind) {
    const auto built = studies_->BuildModel("direct", model, {.kind = kind});
    EXPECT_OK(built);
    EXPECT_OK(VerifyModel(ToProto(*built->model)).status);
    return *built;
  };
  const models::ModelInfo whole = build("whole", EstimatorKind::kWeighted);
  const models::ModelInfo pruned = build("pruned", EstimatorKind::kPrune);
  ASSERT_LT(pruned.model->forest()[0].num_leaves(), whole.model->forest()[0].num_leaves());
  EXPECT_GT(pruned.model->certificate().readers.epsilon_nanos,
            whole.model->certificate().readers.epsilon_nanos);
}

TEST_F(EstimateModelTest, HasAnEstimateForEveryLeafOfEveryTree) {
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info, studies_->BuildModel("one", "model", {}));
  ASSERT_THAT(info.model->leaves(), SizeIs(3));
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_THAT(info.model->leaves()[t], SizeIs((*study_.forest)[t].num_leaves()));
  }
}

TEST_F(EstimateModelTest, PublicOnlyEstimatorFindsThePublicRule) {
  const EstimatorOptions options{.kind = EstimatorKind::kWeighted,
                                 .lambda = std::numeric_limits<double>::infinity()};
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info, studies_->BuildModel("one", "", options));
  EXPECT_EQ(info.model->Predict(Row{0.1, 0.1}).label, 0u);
  EXPECT_EQ(info.model->Predict(Row{0.9, 0.9}).label, 1u);
}

TEST_F(EstimateModelTest, SameIdStudyAndEstimatorReturnTheModelThatIsThere) {
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo made, studies_->BuildModel("one", "model", {}));
  ASSERT_OK(SendAndWait(*studies_, study_, HonestReports(*studies_, study_, 1)));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo again, studies_->BuildModel("one", "model", {}));
  EXPECT_EQ(again.model->certificate().reports, 60u);
  EXPECT_EQ(*again.model, *made.model);
}

TEST_F(EstimateModelTest, SameIdForAnotherEstimatorOrStudyAlreadyExists) {
  ASSERT_OK(studies_->BuildModel("one", "model", {}));
  EXPECT_THAT(studies_->BuildModel("one", "model", {.kind = EstimatorKind::kPrune}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("estimator")));
  ASSERT_OK(studies_->Create(Spec("two")));
  EXPECT_THAT(studies_->BuildModel("two", "model", {}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("studies/one")));
}

TEST_F(EstimateModelTest, MakesAnIdWhenNoneIsAsked) {
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info, studies_->BuildModel("one", "", {}));
  EXPECT_THAT(info.id, MatchesRegex("[a-z0-9]{12}"));
}

TEST_F(EstimateModelTest, SurvivesReopening) {
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo made, studies_->BuildModel("one", "model", {}));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info, models_->Get("model"));
  EXPECT_EQ(info.source, "studies/one");
  EXPECT_EQ(info.created_unix_seconds, 1000);
  EXPECT_EQ(*info.model, *made.model);
}

TEST_F(EstimateModelTest, ListGoesPageByPageOfOneStudyOrAll) {
  ASSERT_OK(studies_->Create(Spec("two")));
  for (const char* id : {"c", "a"}) ASSERT_OK(studies_->BuildModel("one", id, {}));
  ASSERT_OK(studies_->BuildModel("two", "b", {}));
  EXPECT_THAT(Ids("", {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Ids("studies/one", {}), ElementsAre("a", "c"));
  EXPECT_THAT(Ids("", {.size = 1, .after = "a"}), ElementsAre("b"));
}

TEST_F(EstimateModelTest, BuildNamesWhatIsWrong) {
  EXPECT_THAT(studies_->BuildModel("two", "", {}),
              StatusIs(StatusCode::kNotFound, HasSubstr("two")));
  EXPECT_THAT(studies_->BuildModel("one", "No", {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("model_id")));
  EXPECT_THAT(studies_->BuildModel("one", "", {.lambda = -1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("lambda")));
  EXPECT_THAT(models_->Get("none"), StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(EstimateModelTest, ModelThatCannotBeStoredIsNotThere) {
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_THAT(studies_->BuildModel("one", "model", {}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
  EXPECT_THAT(models_->Get("model"), StatusIs(StatusCode::kNotFound, HasSubstr("model")));
}

TEST_F(EstimateModelTest, MayBeBuiltFromASealedStudy) {
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_OK(studies_->BuildModel("one", "model", {.kind = EstimatorKind::kPrune}));
}

}  // namespace
}  // namespace coppice::curator
