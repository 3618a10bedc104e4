// Public rows of datasets and of jobs: what is stored, for how long, and what is refused.

#include "server/datasets/public_rows.h"

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/rows_digest.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/dataset_record.h"
#include "server/datasets/job_record.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;

PublicRowBlock PublicBlock(int rows) { return std::make_shared<const v1::RowBlock>(Block(rows)); }

std::string DigestOf(int rows) { return RowsDigest(*ParseRows(Block(rows), CentralSchema())); }

DatasetSpec SpecWithPublicRows(const std::string& id, int rows) {
  DatasetSpec spec = SpecOf(id);
  spec.public_rows = PublicBlock(rows);
  return spec;
}

JobRequest RequestWithPublicRows(const std::string& id, int rows) {
  JobRequest request = RequestOf(id);
  request.spec.public_rows = PublicBlock(rows);
  return request;
}

class PublicRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plain_.info().public_rows = false;
    Reopen();
  }
  void TearDown() override { trainer_.Let(); }
  void Reopen() {
    central_ = Central();
    ASSERT_OK_AND_ASSIGN(central_, OpenCentral(store_, {&trainer_, &plain_}));
  }
  Datasets& datasets() { return *central_.datasets; }
  Jobs& jobs() { return *central_.jobs; }
  uint64_t Spent() { return central_.ledger->Get("d")->spent.epsilon_nanos; }
  v1::JobRecord JobRecordOf(const std::string& id) {
    v1::JobRecord record;
    EXPECT_TRUE(record.ParseFromString(**store_.Get(JobKey(id))));
    return record;
  }

  FakeTrainer trainer_, plain_{"plain"};
  MemoryStore store_;
  Central central_;
};

TEST_F(PublicRowsTest, ADatasetKeepsThemAndItsJobsStartFromThem) {
  ASSERT_OK(MakeDataset(datasets(), SpecWithPublicRows("d", 30)));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(datasets().Get("d")->public_rows, (PublicRowsId{.rows = 30, .sha256 = DigestOf(30)}));
    const std::string job = StrCat("j", i);
    ASSERT_OK_AND_ASSIGN(const JobInfo queued, jobs().Submit(RequestOf(job)));
    EXPECT_EQ(queued.public_rows.sha256, DigestOf(30));
    EXPECT_EQ(AwaitEnd(jobs(), job).state, JobState::kDone);
    EXPECT_EQ(trainer_.public_rows_seen(), 30u);
    Reopen();
  }
  EXPECT_EQ(jobs().Get("j0")->public_rows, (PublicRowsId{.rows = 30, .sha256 = DigestOf(30)}));
}

TEST_F(PublicRowsTest, AJobMayBringItsOwnOrStartFromNone) {
  ASSERT_OK(MakeDataset(datasets(), SpecWithPublicRows("d", 30)));
  ASSERT_OK(jobs().Submit(RequestWithPublicRows("own", 25)));
  EXPECT_EQ(AwaitEnd(jobs(), "own").public_rows.sha256, DigestOf(25));
  EXPECT_EQ(trainer_.public_rows_seen(), 25u);
  JobRequest without = RequestOf("without");
  without.spec.without_public_rows = true;
  ASSERT_OK(jobs().Submit(without));
  EXPECT_EQ(AwaitEnd(jobs(), "without").public_rows, PublicRowsId());
  EXPECT_EQ(trainer_.public_rows_seen(), 0u);
  without.request_id = "another";
  without.id = "both";
  without.spec.public_rows = PublicBlock(25);
  EXPECT_THAT(jobs().Submit(without).status(),
              StatusIs(kInvalid, HasSubstr("spec.public_rows: must not be set together")));
}

TEST_F(PublicRowsTest, AQueuedJobKeepsItsOwnThroughARestartAndDropsThemWhenItBegins) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("running")));
  trainer_.AwaitRuns(1);
  ASSERT_OK(jobs().Submit(RequestWithPublicRows("queued", 25)));
  ASSERT_OK(jobs().Submit(RequestWithPublicRows("cancelled", 25)));
  EXPECT_EQ(JobRecordOf("queued").job().spec().public_rows().labels_size(), 25);
  EXPECT_FALSE(ToProto(*jobs().Get("queued")).spec().has_public_rows());
  ASSERT_OK(jobs().Cancel("cancelled"));
  EXPECT_FALSE(JobRecordOf("cancelled").job().spec().has_public_rows());
  central_ = Central();
  trainer_.Let();
  Reopen();
  EXPECT_EQ(AwaitEnd(jobs(), "queued").state, JobState::kDone);
  EXPECT_EQ(trainer_.public_rows_seen(), 25u);
  EXPECT_FALSE(JobRecordOf("queued").job().spec().has_public_rows());
  EXPECT_EQ(JobRecordOf("queued").job().public_rows_sha256(), DigestOf(25));
}

TEST_F(PublicRowsTest, AnAlgorithmWithoutUseForThemRefusesBeforeAnythingIsCharged) {
  ASSERT_OK(MakeDataset(datasets(), SpecWithPublicRows("d", 30)));
  JobRequest request = RequestOf("j");
  request.spec.algorithm = "plain";
  const auto refused = StatusIs(
      kInvalid, AllOf(HasSubstr("spec.algorithm: plain cannot start from public rows: choose fake"),
                      HasSubstr("start without any")));
  EXPECT_THAT(jobs().Preview(request.spec).status(), refused);
  EXPECT_THAT(jobs().Submit(request).status(), refused);
  EXPECT_EQ(Spent(), 0u);
  request.spec.without_public_rows = true;
  ASSERT_OK(jobs().Submit(request));
  EXPECT_EQ(AwaitEnd(jobs(), "j").state, JobState::kDone);
}

TEST_F(PublicRowsTest, RowsThatDoNotFitAreRefusedWhereverTheyCome) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  v1::RowBlock wrong = Block(30);
  wrong.mutable_columns(1)->set_values(3, 7);
  v1::RowBlock many;
  many.mutable_labels()->Resize(kMaxPublicRows + 1, 0);
  const std::pair<v1::RowBlock, const char*> cases[] = {
      {wrong, "public_rows: rows: row 3 of the block"},
      {many, "public_rows: must be at most 20000, are 20001: a random part of them"},
      {{}, "public_rows: must have a row, or not be set"}};
  for (const auto& [block, why] : cases) {
    DatasetSpec spec = SpecOf("e");
    spec.public_rows = std::make_shared<const v1::RowBlock>(block);
    EXPECT_THAT(datasets().Create(spec).status(), StatusIs(kInvalid, HasSubstr(why)));
    JobRequest request = RequestOf("j");
    request.spec.public_rows = spec.public_rows;
    EXPECT_THAT(jobs().Submit(request).status(), StatusIs(kInvalid, HasSubstr(why)));
    EXPECT_THAT(jobs().Preview(request.spec).status(), StatusIs(kInvalid, HasSubstr(why)));
  }
  EXPECT_EQ(Spent(), 0u);
}

// A schema of very many features makes rows large.
TEST_F(PublicRowsTest, TheirValuesAreCountedToo) {
  std::vector<Feature> features;
  for (int i = 0; i < 1024; ++i) features.push_back(Numeric(StrCat("x", i), 0, 1));
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create(std::move(features), "y", {"a", "b"}));
  v1::RowBlock block;
  block.mutable_labels()->Resize(2049, 0);
  EXPECT_THAT(
      ParsePublicRows("public_rows", std::make_shared<const v1::RowBlock>(block), schema).status(),
      StatusIs(kInvalid, HasSubstr("must be at most 2048, are 2049")));
}

TEST_F(PublicRowsTest, ARepeatedRequestIsTheSameOnlyWithTheSameRows) {
  ASSERT_OK(MakeDataset(datasets(), SpecWithPublicRows("d", 30)));
  EXPECT_OK(datasets().Create(SpecWithPublicRows("d", 30)));
  for (const int rows : {0, 31}) {
    DatasetSpec spec = SpecOf("d");
    if (rows > 0) spec.public_rows = PublicBlock(rows);
    EXPECT_THAT(datasets().Create(spec).status(),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("from another request")));
  }
  ASSERT_OK(jobs().Submit(RequestWithPublicRows("j", 25)));
  EXPECT_OK(jobs().Submit(RequestWithPublicRows("j", 25)));
  JobRequest without = RequestOf("j");
  without.spec.without_public_rows = true;
  for (const JobRequest& request : {RequestWithPublicRows("j", 26), RequestOf("j"), without}) {
    EXPECT_THAT(jobs().Submit(request).status(),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("from another request")));
  }
}

TEST_F(PublicRowsTest, TheyCountForTheQuotaAndGoWithTheDataset) {
  DatasetSpec spec = SpecWithPublicRows("d", 30);
  spec.owner = "lab";
  const uint64_t bytes = BytesOf(*spec.schema) + Block(30).ByteSizeLong();
  spec.most_bytes = bytes - 1;
  EXPECT_THAT(datasets().Create(spec).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr(StrCat("have ", bytes))));
  EXPECT_FALSE((*store_.Get(PublicRowsKey("d"))).has_value());
  spec.most_bytes = bytes;
  ASSERT_OK(datasets().Create(spec));
  EXPECT_TRUE((*store_.Get(PublicRowsKey("d"))).has_value());
  ASSERT_OK(datasets().Delete("d"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE((*store_.Get(PublicRowsKey("d"))).has_value());
    EXPECT_EQ(datasets().Get("d")->public_rows, PublicRowsId());
    Reopen();
  }
}

TEST_F(PublicRowsTest, DamagedOnesEndTheJobAndGiveItsCostBack) {
  ASSERT_OK(MakeDataset(datasets(), SpecWithPublicRows("d", 30)));
  trainer_.Hold();
  ASSERT_OK(jobs().Submit(RequestOf("running")));
  trainer_.AwaitRuns(1);
  ASSERT_OK(jobs().Submit(RequestOf("j")));
  storage::StoreBatch batch;
  batch.Put(PublicRowsKey("d"), Block(29).SerializeAsString());
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(datasets().LoadPublicRows("d").status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("chunk/d/public")));
  EXPECT_THAT(jobs().Submit(RequestOf("later")).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("chunk/d/public")));
  trainer_.Let();
  const JobInfo ended = AwaitEnd(jobs(), "j");
  EXPECT_EQ(ended.state, JobState::kCancelled);
  EXPECT_THAT(ended.reason, AllOf(HasSubstr("chunk/d/public"), HasSubstr("refunded")));
  EXPECT_EQ(Spent(), kEpsilon) << "of the one that ran";
}

}  // namespace
}  // namespace coppice::central
