#include "client/cli/central/dataset_upload.h"

#include <numeric>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "tests/client/cli/fake_datasets.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeTrainingCurator;
using ::coppice::testing::Numeric;
using ::coppice::testing::SampleSchema;
using ::coppice::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;

Table TableOf(size_t rows) {
  Table table(std::make_shared<const Schema>(SampleSchema()));
  for (size_t i = 0; i < rows; ++i) table.Append(Row{static_cast<double>(i % 10)}, i % 2);
  return table;
}

class DatasetUploadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dataset_.set_name("datasets/d1");
    dataset_.set_state(v1::DATASET_STATE_UPLOADING);
    curator_.datasets->dataset = dataset_;
  }

  Status Upload(const Table& table) {
    COPPICE_RETURN_IF_ERROR(CheckTakesRows(dataset_));
    const Remote remote = *Remote::Connect(curator_.flags());
    RowUpload upload(remote, hooks_, dataset_);
    COPPICE_RETURN_IF_ERROR(upload.Add(table));
    return upload.Finish();
  }

  void ExpectAllRowsOnce(const Table& table) {
    EXPECT_EQ(curator_.datasets->first_column,
              std::vector<double>(table.column(0).begin(), table.column(0).end()));
    EXPECT_EQ(curator_.datasets->labels,
              std::vector<uint32_t>(table.labels().begin(), table.labels().end()));
    EXPECT_EQ(curator_.datasets->dataset.state(), v1::DATASET_STATE_READY);
    EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_READY);
    EXPECT_EQ(dataset_.rows(), table.num_rows());
  }

  FakeTrainingCurator curator_;
  v1::Dataset dataset_;
  UploadHooks hooks_{.progress = [](uint64_t) {}, .stop = [] { return false; }};
};

TEST_F(DatasetUploadTest, EveryRowArrivesOnceAndInOrder) {
  const Table table = TableOf(200'000);
  std::vector<uint64_t> seen;
  hooks_.progress = [&](uint64_t rows) { seen.push_back(rows); };
  ASSERT_OK(Upload(table));
  ExpectAllRowsOnce(table);
  EXPECT_EQ(curator_.datasets->streams, 1);
  EXPECT_EQ(seen, (std::vector<uint64_t>{65'536, 131'072, 196'608, 200'000}));
  EXPECT_THAT(curator_.datasets->block_bytes, Each(Le(2u << 20)));
}

TEST_F(DatasetUploadTest, AnEmptyTableIsCompletedToo) {
  ASSERT_OK(Upload(TableOf(0)));
  ExpectAllRowsOnce(TableOf(0));
}

TEST_F(DatasetUploadTest, LargeTablesGoInSeveralStreamsThatEachNameTheDataset) {
  std::vector<Feature> features;
  for (int i = 0; i < 1000; ++i) features.push_back(Numeric(StrCat("x", i), 0, 10));
  Table table(std::make_shared<const Schema>(*Schema::Create(features, "y", {"no", "yes"})));
  for (size_t i = 0; i < 2600; ++i) table.Append(Row(1000, static_cast<double>(i % 10)), i % 2);
  ASSERT_OK(Upload(table));
  ExpectAllRowsOnce(table);
  EXPECT_EQ(curator_.datasets->named, (std::vector<std::string>{"datasets/d1", "datasets/d1"}));
  EXPECT_THAT(curator_.datasets->block_bytes, Each(Le(2u << 20)));
}

TEST_F(DatasetUploadTest, NumbersToPredictTravelAsTargets) {
  Table table(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 10)}, "y", Target{.min = 0, .max = 1})));
  table.AppendTarget(Row{1}, 0.25);
  table.AppendTarget(Row{2}, 0.5);
  ASSERT_OK(Upload(table));
  EXPECT_EQ(curator_.datasets->targets, (std::vector<double>{0.25, 0.5}));
  EXPECT_TRUE(curator_.datasets->labels.empty());
}

TEST_F(DatasetUploadTest, ABrokenStreamIsContinuedFromWhatIsStored) {
  curator_.datasets->stored_of_stream = {1, 0, 0, 2};
  const Table table = TableOf(300'000);
  ASSERT_OK(Upload(table));
  ExpectAllRowsOnce(table);
  EXPECT_EQ(curator_.datasets->streams, 5);
}

TEST_F(DatasetUploadTest, ALostAnswerToTheLastRowsIsNotAFailure) {
  curator_.datasets->lose_answers = 1;
  const Table table = TableOf(1000);
  ASSERT_OK(Upload(table));
  ExpectAllRowsOnce(table);
  EXPECT_EQ(curator_.datasets->streams, 1);
}

TEST_F(DatasetUploadTest, GivesUpAfterSeveralStreamsThatBringNothing) {
  curator_.datasets->stored_of_stream = std::vector<int>(100, 0);
  EXPECT_THAT(Upload(TableOf(10)), StatusIs(StatusCode::kUnavailable, "cut off"));
  EXPECT_EQ(curator_.datasets->streams, 5);
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_UPLOADING);
}

TEST_F(DatasetUploadTest, AnErrorThatWillNotPassIsNotTriedAgain) {
  curator_.datasets->stored_of_stream = {0};
  curator_.datasets->failure = {grpc::StatusCode::INVALID_ARGUMENT, "rows: no"};
  EXPECT_THAT(Upload(TableOf(10)), StatusIs(StatusCode::kInvalidArgument, "rows: no"));
  EXPECT_EQ(curator_.datasets->streams, 1);
}

TEST_F(DatasetUploadTest, StopsBetweenBlocksAndKeepsWhatIsStored) {
  uint64_t sent = 0;
  hooks_.progress = [&](uint64_t rows) { sent = rows; };
  hooks_.stop = [&] { return sent > 65'536; };
  EXPECT_THAT(Upload(TableOf(300'000)),
              StatusIs(StatusCode::kCancelled, HasSubstr("131072 rows stored")));
  EXPECT_EQ(dataset_.rows(), 131'072);
  EXPECT_EQ(dataset_.state(), v1::DATASET_STATE_UPLOADING);

  hooks_.stop = [] { return false; };
  ASSERT_OK(Upload(TableOf(300'000)));
  ExpectAllRowsOnce(TableOf(300'000));
}

// As a query's rows come: nobody holds the table.
TEST_F(DatasetUploadTest, RowsArriveInOrderInWhateverPiecesTheyAreAdded) {
  curator_.datasets->stored_of_stream = {1, 0, 3};
  dataset_.set_rows(0);
  const Table table = TableOf(3'000'000);
  const Remote remote = *Remote::Connect(curator_.flags());
  RowUpload upload(remote, hooks_, dataset_);
  for (size_t row = 0, piece = 1; row < table.num_rows(); piece = piece * 3 % 70'001 + 1) {
    std::vector<size_t> rows(std::min(piece, table.num_rows() - row));
    std::iota(rows.begin(), rows.end(), row);
    ASSERT_OK(upload.Add(table.Select(rows)));
    row += rows.size();
  }
  ASSERT_OK(upload.Finish());
  ExpectAllRowsOnce(table);
}

TEST_F(DatasetUploadTest, RowsOfSomebodyElseAreNotMixedWithOurs) {
  curator_.datasets->first_column = {7, 7};  // uploaded after dataset_ was read
  curator_.datasets->labels = {0, 0};
  curator_.datasets->dataset.set_rows(2);
  EXPECT_THAT(Upload(TableOf(1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("someone else is uploading")));
  EXPECT_EQ(curator_.datasets->labels.size(), 2);
}

TEST_F(DatasetUploadTest, OnlyAnUnfinishedUploadOfNoMoreRowsCanGoOn) {
  dataset_.set_rows(11);
  EXPECT_THAT(Upload(TableOf(10)),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("11 rows already, but the file has only 10")));
  dataset_.set_state(v1::DATASET_STATE_READY);
  EXPECT_THAT(Upload(TableOf(10)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is complete")));
  dataset_.set_state(v1::DATASET_STATE_DELETED);
  EXPECT_THAT(Upload(TableOf(10)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is deleted")));
  EXPECT_EQ(curator_.datasets->streams, 0);
}

TEST(RowsPerBlockTest, BlocksStayWithinTheServersLimits) {
  EXPECT_EQ(RowsPerBlock(1), 65'536);
  EXPECT_LE(RowsPerBlock(1000) * 8008, 1u << 20);
  EXPECT_EQ(RowsPerBlock(10'000'000), 1);
}

}  // namespace
}  // namespace coppice::cli
