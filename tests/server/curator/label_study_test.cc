// A study whose features are all public: its reports are kept, give a model, and go with the study.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/terms/public_values.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/label_record.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kDaySeconds = 24 * 60 * 60;

// The fixture's public rows say x > 1/2; devices answer y > 1/2.
StudySpec LabelSpec(MechanismKind mechanism) {
  const std::shared_ptr<const Table> rows = PublicRows();
  std::vector<Feature> features = rows->schema().features();
  for (Feature& feature : features) feature.is_public = true;
  StudySpec spec = Spec("one", /*trees=*/4);
  spec.public_rows = std::make_shared<const Table>(rows->WithSchema(
      std::make_shared<const Schema>(*Schema::Create(features, "label", {"no", "yes"}))));
  spec.partition.rule = SplitRule::kHybrid;
  spec.mechanism = mechanism;
  spec.settings.retention_days = 1;
  return spec;
}

class LabelStudyTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  void SetUp() override {
    Reopen();
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(LabelSpec(GetParam())));
  }

  void Reopen() {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_, [this] { return now_; }));
  }

  // One batch of honest reports about rows at random places.
  ReportBatch Reports(uint32_t count) {
    ReportBatch batch;
    const Schema& schema = *study_.terms->schema;
    const auto offer = *studies_->MakeOffer("one", count);
    const auto mechanism = *MakeLocalMechanism(study_.terms->mechanism, study_.terms->epsilon,
                                               {.leaves = 1, .classes = 2});
    for (const Ticket& ticket : offer.tickets) {
      const TicketDraw draw = DrawOf(ticket);
      const Row row = {places_.Unit(), places_.Unit()};
      batch.Add(ticket.ToBytes(),
                *mechanism->Randomize({.leaf = 0, .label = row[1] > 0.5 ? 1u : 0u},
                                      draw.Column(mechanism->columns()), noise_),
                EncodePublicValues(schema, (*study_.forest)[draw.Tree(4)], row));
    }
    return batch;
  }

  Answer Submit(ReportBatch reports) {
    std::promise<Answer> promise;
    studies_->Submit("one", Bytes(study_.fingerprint), std::move(reports),
                     [&promise](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }

  void SubmitMany(uint32_t batches) {
    for (uint32_t i = 0; i < batches; ++i) {
      ASSERT_THAT(*Submit(Reports(1000)), Each(ReportOutcome::kAccepted));
    }
  }

  StatusOr<models::ModelInfo> Build(const std::string& id, Evidence evidence = Evidence::kBoth) {
    return studies_->BuildModel("one", id, {.kind = EstimatorKind::kPooled, .evidence = evidence});
  }

  // How often the model correctly says whether y > 1/2.
  static double Hits(const Model& model) {
    PublicRandom random(5);
    double hits = 0;
    for (int i = 0; i < 1000; ++i) {
      const Row row = {random.Unit(), random.Unit()};
      hits += (model.Predict(row).label == 1) == (row[1] > 0.5) ? 1 : 0;
    }
    return hits / 1000;
  }

  size_t LabelRecords() const {
    size_t records = 0;
    EXPECT_OK(store_.Scan(LabelsPrefix("one"), [&](std::string_view, std::string_view) {
      ++records;
      return OkStatus();
    }));
    return records;
  }

  int64_t now_ = 1000;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
  OpenSslRandom noise_;
  PublicRandom places_{4};
};

TEST_P(LabelStudyTest, AModelLearnsWhatOnlyLabelsSay) {
  SubmitMany(6);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo of_public, Build("public", Evidence::kPublic));
  EXPECT_LT(Hits(*of_public.model), 0.6);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo both, Build("both"));
  EXPECT_GT(Hits(*both.model), 0.9);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo alone, Build("alone", Evidence::kReports));
  EXPECT_GT(Hits(*alone.model), 0.9);
  const Certificate& certificate = both.model->certificate();
  EXPECT_EQ(certificate.reports, 6000u);
  EXPECT_THAT(certificate.diagnosis, HasSubstr("labels alone are private"));
  EXPECT_THAT(certificate.releases[0].what, HasSubstr("its label"));
  EXPECT_THAT(certificate.neighbouring, HasSubstr("any label of one device"));
}

TEST_P(LabelStudyTest, ReportsOutliveTheDaemonAndModelsTheStore) {
  SubmitMany(3);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo before, Build("before"));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo after, Build("after"));
  EXPECT_EQ(*after.model, *before.model);
  EXPECT_EQ(*(*models_->Get("before")).model, *before.model);
}

TEST_P(LabelStudyTest, NoReportIsKeptTwice) {
  ReportBatch reports = Reports(500);
  ReportBatch again = reports;
  store_.FailWrites(UnavailableError("the disk is gone"));
  EXPECT_FALSE(Submit(reports).ok());
  store_.FailWrites(OkStatus());
  EXPECT_THAT(*Submit(std::move(reports)), Each(ReportOutcome::kAccepted));
  EXPECT_THAT(*Submit(std::move(again)), Each(ReportOutcome::kDuplicate));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo model, Build("model"));
  EXPECT_EQ(model.model->certificate().reports, 500u);
}

TEST_P(LabelStudyTest, AMissingRecordIsNoticed) {
  SubmitMany(2);
  ASSERT_EQ(LabelRecords(), 2u);
  storage::StoreBatch batch;
  batch.Delete(LabelsKey("one", 1000));
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(Build("model"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("one label a counted report")));
}

TEST_P(LabelStudyTest, ARecordOfOtherReportsIsNoticed) {
  SubmitMany(1);
  storage::StoreBatch batch;
  batch.Put(LabelsKey("one", 0), EncodeLabels({{.public_values = "", .payload = "odd"}}));
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(Build("model"), StatusIs(StatusCode::kDataLoss, HasSubstr("never accepted")));
}

TEST_P(LabelStudyTest, ReportsGoWithTheSums) {
  SubmitMany(1);
  ASSERT_OK(studies_->Seal("one"));
  now_ += 2 * kDaySeconds;
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(studies_->Get("one")->retired);
  EXPECT_EQ(LabelRecords(), 0u);
}

TEST_P(LabelStudyTest, ReportsGoWithTheStudy) {
  SubmitMany(1);
  ASSERT_EQ(LabelRecords(), 1u);
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_EQ(LabelRecords(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, LabelStudyTest,
                         ::testing::Values(MechanismKind::kSignedHadamard, MechanismKind::kDirect),
                         [](const auto& mechanism) {
                           return std::string(MechanismName(mechanism.param));
                         });

}  // namespace
}  // namespace coppice::curator
