#include "server/datasets/datasets.h"

#include <chrono>
#include <future>
#include <limits>
#include <string_view>

#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/dataset_record.h"
#include "server/datasets/stored_block.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

class DatasetsTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    central_ = Central();
    ASSERT_OK_AND_ASSIGN(central_, OpenCentral(store_, {}));
  }
  Datasets& datasets() { return *central_.datasets; }
  uint64_t Rows(std::string_view id) { return datasets().Get(id)->rows; }

  MemoryStore store_;
  Central central_;
};

TEST_F(DatasetsTest, CreateReturnsTheDatasetThatGetReturnsAlsoAfterReopening) {
  ASSERT_OK_AND_ASSIGN(const DatasetInfo made, datasets().Create(SpecOf("d")));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const DatasetInfo got, datasets().Get("d", ledger::kAllEntries));
    EXPECT_EQ(got.id, "d");
    EXPECT_EQ(got.state, DatasetState::kUploading);
    EXPECT_EQ(got.created_unix_seconds, 1000);
    EXPECT_EQ(*got.schema, *made.schema);
    EXPECT_EQ(got.rows, 0u);
    EXPECT_EQ(got.account.cap.epsilon_nanos, 10 * kEpsilon);
    EXPECT_THAT(got.account.entries, SizeIs(1));
    Reopen();
  }
}

TEST_F(DatasetsTest, ARepeatedRequestReturnsItsDatasetAndAnotherOneDoesNot) {
  DatasetSpec spec = SpecOf("");
  ASSERT_OK_AND_ASSIGN(const DatasetInfo made, datasets().Create(spec));
  EXPECT_THAT(made.id, MatchesRegex("[a-z0-9]{12}"));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const DatasetInfo again, datasets().Create(spec));
  EXPECT_EQ(again.id, made.id);
  spec.cap.epsilon_nanos += 1;
  EXPECT_THAT(datasets().Create(spec),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("another request")));
  EXPECT_THAT(datasets().List({}), SizeIs(1));
}

TEST_F(DatasetsTest, BadRequestsNameTheField) {
  DatasetSpec spec = SpecOf("No");
  EXPECT_THAT(datasets().Create(spec), StatusIs(kInvalid, HasSubstr("dataset_id")));
  spec = SpecOf("d");
  spec.request_id.clear();
  EXPECT_THAT(datasets().Create(spec), StatusIs(kInvalid, HasSubstr("request_id")));
  spec = SpecOf("d", /*epsilon_nanos=*/0);
  EXPECT_THAT(datasets().Create(spec), StatusIs(kInvalid, HasSubstr("epsilon")));
  EXPECT_THAT(datasets().Get("d"), StatusIs(StatusCode::kNotFound, HasSubstr("d")));
}

TEST_F(DatasetsTest, BlocksAreAppendedInOrderAndLoadedAsOneTable) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  ASSERT_OK(UploadBlock(datasets(), "d", 0, Block(70), false));
  Reopen();
  EXPECT_EQ(Rows("d"), 70u);
  ASSERT_OK(UploadBlock(datasets(), "d", 70, Block(30), false));
  ASSERT_OK_AND_ASSIGN(const DatasetInfo done, UploadBlock(datasets(), "d", 100, {}, true));
  EXPECT_EQ(done.state, DatasetState::kReady);
  Reopen();
  ASSERT_OK_AND_ASSIGN(const Table table, RowsOf(datasets(), "d"));
  ASSERT_EQ(table.num_rows(), 100u);
  EXPECT_EQ(table.value(69, 0), 69);
  EXPECT_EQ(table.value(70, 0), 0);
  EXPECT_EQ(table.value(71, 1), 1);
  EXPECT_EQ(table.label(98), 0u);
  EXPECT_EQ(table.label(99), kUnlabelled);
}

TEST_F(DatasetsTest, AnUploadIsStoredInBlocksOfBoundedSize) {
  DatasetSpec spec = SpecOf("d");
  std::vector<Feature> features;
  for (int i = 0; i < 30; ++i) features.push_back(Numeric(std::to_string(i), 0, 10'000));
  spec.schema = std::make_shared<const Schema>(*Schema::Create(features, "label", {"no", "yes"}));
  ASSERT_OK(datasets().Create(spec));
  const BlockFormat format(spec.schema);
  Table rows(spec.schema);
  for (size_t i = 0; i <= format.rows_per_block(); ++i) {
    rows.Append(Row(30, static_cast<double>(i)), 0);
  }
  ASSERT_OK(datasets().Upload("d", 0, rows, /*complete=*/false));
  ASSERT_OK(datasets().Upload("d", rows.num_rows(), rows, /*complete=*/true));
  EXPECT_EQ(**store_.Get(ChunkKey("d", 2)), format.Encode(rows, 0, format.rows_per_block()));
  EXPECT_EQ(**store_.Get(ChunkKey("d", 3)), format.Encode(rows, format.rows_per_block(), 1));
  EXPECT_EQ(store_.Get(ChunkKey("d", 4))->has_value(), false);
  ASSERT_OK_AND_ASSIGN(const Table table, RowsOf(datasets(), "d"));
  ASSERT_EQ(table.num_rows(), 2 * rows.num_rows());
  for (size_t i = 0; i < table.num_rows(); ++i) {
    ASSERT_EQ(table.value(i, 29), rows.value(i % rows.num_rows(), 29));
  }
}

TEST_F(DatasetsTest, RowsOfAnotherSchemaOrTooManyOfThemAreRefused) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  Table other(std::make_shared<const Schema>(*Schema::Create(
      {Numeric("age", 0, 99), Categorical("town", {"a", "b"})}, "label", {"no", "yes"})));
  other.Append(Row{1, 1}, 0);
  EXPECT_THAT(datasets().Upload("d", 0, other, false), StatusIs(kInvalid, HasSubstr("schema")));
  Table many(CentralSchema());  // an equal schema object
  for (size_t i = 0; i <= kMaxRowsPerBlock; ++i) many.Append(Row{1, 1}, 0);
  EXPECT_THAT(datasets().Upload("d", 0, many, false), StatusIs(kInvalid, HasSubstr("65536")));
  Table one(CentralSchema());
  one.Append(Row{1, 1}, 0);
  EXPECT_OK(datasets().Upload("d", 0, one, false));
  EXPECT_EQ(Rows("d"), 1u);
}

TEST_F(DatasetsTest, AWrongFirstRowIsRefusedAndSaysWhereToGoOn) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  ASSERT_OK(UploadBlock(datasets(), "d", 0, Block(5), false));
  for (const uint64_t first : {uint64_t{0}, uint64_t{4}, uint64_t{6}}) {
    EXPECT_THAT(UploadBlock(datasets(), "d", first, Block(5), false),
                StatusIs(kPrecondition, HasSubstr("has 5 rows")));
  }
  EXPECT_EQ(Rows("d"), 5u);
}

TEST_F(DatasetsTest, ABlockWithABadValueIsRefusedAndNothingOfItStored) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  const size_t writes = store_.writes();
  v1::RowBlock block = Block(3);
  block.mutable_columns(0)->set_values(2, 4711);
  EXPECT_THAT(
      UploadBlock(datasets(), "d", 0, block, false),
      StatusIs(kInvalid, AllOf(HasSubstr("row 2"), HasSubstr("age"), Not(HasSubstr("4711")))));
  block = Block(3);
  block.mutable_columns(1)->set_values(0, 0.5);
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false), StatusIs(kInvalid, HasSubstr("town")));
  block = Block(3);
  block.set_labels(1, 2);
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false),
              StatusIs(kInvalid, HasSubstr("rows.labels[1]")));
  block = Block(3);
  block.add_labels(0);
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false),
              StatusIs(kInvalid, HasSubstr("rows.columns[0]")));
  block = Block(3);
  block.add_columns();
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false),
              StatusIs(kInvalid, HasSubstr("one a feature")));
  block = Block(3);
  block.add_targets(1);
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false),
              StatusIs(kInvalid, HasSubstr("rows.targets")));
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, Block(65537), false),
              StatusIs(kInvalid, HasSubstr("65536")));
  EXPECT_THAT(UploadBlock(datasets(), "d", 0, {}, false),
              StatusIs(kInvalid, HasSubstr("complete")));
  EXPECT_EQ(Rows("d"), 0u);
  EXPECT_EQ(store_.writes(), writes);
  // Missing values and the largest block are fine.
  block = Block(65536);
  block.mutable_columns(0)->set_values(7, kMissingValue);
  EXPECT_OK(UploadBlock(datasets(), "d", 0, block, false));
}

TEST_F(DatasetsTest, TargetsMustBeNumbersWithinTheirBounds) {
  DatasetSpec spec = SpecOf("d");
  spec.schema = std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("age", 0, 100)}, "price", {.min = 0, .max = 9}));
  ASSERT_OK(datasets().Create(spec));
  v1::RowBlock block;
  block.add_columns()->add_values(1);
  for (const double bad : {-1.0, 9.5, std::numeric_limits<double>::quiet_NaN()}) {
    block.clear_targets();
    block.add_targets(bad);
    EXPECT_THAT(UploadBlock(datasets(), "d", 0, block, false),
                StatusIs(kInvalid, HasSubstr("rows.targets[0]")));
  }
  block.set_targets(0, 9);
  ASSERT_OK(UploadBlock(datasets(), "d", 0, block, true));
  ASSERT_OK_AND_ASSIGN(const Table table, RowsOf(datasets(), "d"));
  EXPECT_EQ(table.target(0), 9);
}

TEST_F(DatasetsTest, ACompleteDatasetTakesNoRowsButMayBeCompletedAgain) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d"), 3));
  EXPECT_THAT(UploadBlock(datasets(), "d", 3, Block(1), false),
              StatusIs(kPrecondition, HasSubstr("no more rows")));
  EXPECT_OK(UploadBlock(datasets(), "d", 3, {}, true));
  EXPECT_EQ(Rows("d"), 3u);
}

TEST_F(DatasetsTest, LimitsAreKept) {
  ASSERT_OK_AND_ASSIGN(const auto ledger, ledger::Ledger::Open(store_, [] { return int64_t{0}; }));
  ASSERT_OK_AND_ASSIGN(const auto small,
                       Datasets::Open(store_, *ledger, [] { return int64_t{0}; }, {.rows = 10}));
  ASSERT_OK(small->Create(SpecOf("small")));
  ASSERT_OK(UploadBlock(*small, "small", 0, Block(8), false));
  EXPECT_THAT(UploadBlock(*small, "small", 8, Block(3), false),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("at most 10 rows")));
  EXPECT_OK(UploadBlock(*small, "small", 8, Block(2), true));
}

TEST_F(DatasetsTest, AllDatasetsOfAnOwnerShareItsQuotaOfBytes) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("first"), 10));
  ASSERT_OK(datasets().Create(SpecOf("second")));
  const auto upload = [&](uint64_t most) {
    const auto rows = ParseRows(Block(10), *datasets().GetSchema("second"));
    return datasets().Upload("second", 0, *rows, /*complete=*/true, most).status();
  };
  EXPECT_THAT(upload(100), StatusIs(StatusCode::kResourceExhausted, HasSubstr("quota is 100")));
  EXPECT_EQ(datasets().Get("second")->rows, 0u);
  EXPECT_OK(upload(100'000));
}

TEST_F(DatasetsTest, SchemasCountForTheQuotaOfBytesAndDatasetsForTheirs) {
  const auto create = [&](const std::string& id, uint64_t datasets, uint64_t bytes) {
    DatasetSpec spec = SpecOf(id);
    spec.owner = "lab";
    spec.most_datasets = datasets;
    spec.most_bytes = bytes;
    return this->datasets().Create(spec).status();
  };
  EXPECT_THAT(create("a", 0, 1), StatusIs(StatusCode::kResourceExhausted,
                                          HasSubstr("rows and schemas of the datasets of lab")));
  const uint64_t schema = BytesOf(*SpecOf("a").schema);
  ASSERT_OK(create("a", 1, schema));
  ASSERT_OK(create("a", 1, schema)) << "the same request again";
  EXPECT_THAT(create("b", 1, 0), StatusIs(StatusCode::kResourceExhausted,
                                          HasSubstr("lab may have 1 dataset, and has")));
  EXPECT_THAT(create("b", 2, 2 * schema - 1), StatusIs(StatusCode::kResourceExhausted, _));
  ASSERT_OK(datasets().Delete("a"));
  EXPECT_OK(create("b", 1, schema)) << "what was deleted does not count";
}

// Otherwise whoever makes and deletes datasets of large schemas takes memory for good.
TEST_F(DatasetsTest, TheSchemaGoesWithTheDataset) {
  DatasetSpec spec = SpecOf("d");
  ASSERT_OK(MakeDataset(datasets(), spec));
  ASSERT_OK(datasets().Delete("d"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(datasets().Get("d")->schema, nullptr);
    v1::DatasetRecord record;
    ASSERT_TRUE(record.ParseFromString(**store_.Get(DatasetKey("d"))));
    EXPECT_FALSE(record.has_schema());
    EXPECT_THAT(datasets().GetSchema("d").status(),
                StatusIs(kPrecondition, HasSubstr("was deleted")));
    EXPECT_THAT(datasets().Create(spec).status(),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("was deleted")));
    Reopen();
  }
}

TEST_F(DatasetsTest, ADatasetWithoutRowsIsOneToo) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  EXPECT_THAT(datasets().Use("d"), StatusIs(kPrecondition, HasSubstr("still takes rows")));
  ASSERT_OK(UploadBlock(datasets(), "d", 0, {}, true));
  EXPECT_OK(datasets().Use("d"));
  ASSERT_OK_AND_ASSIGN(const Table table, RowsOf(datasets(), "d"));
  EXPECT_EQ(table.num_rows(), 0u);
}

TEST_F(DatasetsTest, DeletingTakesTheRowsAndLeavesTheLedgerAndTheName) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d-more")));
  ASSERT_OK(datasets().Delete("d"));
  EXPECT_THAT(store_.purged(), ElementsAre("chunk/d/"));
  EXPECT_EQ(store_.Get(ChunkKey("d", 0))->has_value(), false);
  EXPECT_EQ(store_.Get(ChunkKey("d-more", 0))->has_value(), true);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const DatasetInfo info, datasets().Get("d", ledger::kAllEntries));
    EXPECT_EQ(info.state, DatasetState::kDeleted);
    EXPECT_EQ(info.rows, 0u);
    EXPECT_THAT(info.account.entries, SizeIs(1));
    EXPECT_THAT(datasets().Use("d"), StatusIs(kPrecondition, HasSubstr("was deleted")));
    EXPECT_THAT(UploadBlock(datasets(), "d", 0, Block(1), false),
                StatusIs(kPrecondition, HasSubstr("was deleted")));
    EXPECT_THAT(datasets().Create(SpecOf("d")),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("request_id")));
    DatasetSpec same_id = SpecOf("d");
    same_id.request_id = "another";
    EXPECT_THAT(datasets().Create(same_id),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("never used again")));
    EXPECT_OK(datasets().Delete("d"));
    Reopen();
  }
  EXPECT_THAT(store_.purged(), SizeIs(1)) << "once is enough";
  EXPECT_OK(RowsOf(datasets(), "d-more"));
}

// Else whoever completes a dataset again and again, which writes nothing, would learn how long the
// blocks of other owners take, and so how many rows they have.
TEST_F(DatasetsTest, NobodyWaitsForAnUploadToAnotherDataset) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("done"), 3));
  ASSERT_OK(datasets().Create(SpecOf("mine")));
  ASSERT_OK(datasets().Create(SpecOf("other")));
  store_.HoldWrites(ChunkPrefix("other"));
  auto upload = std::async(std::launch::async,
                           [&] { return UploadBlock(datasets(), "other", 0, Block(5), true); });
  store_.AwaitHeldWrite();
  auto rest = std::async(std::launch::async, [&] {
    EXPECT_OK(UploadBlock(datasets(), "done", 3, {}, true));
    EXPECT_OK(UploadBlock(datasets(), "mine", 0, Block(2), false));
    EXPECT_OK(datasets().Create(SpecOf("new")));
    EXPECT_OK(datasets().Create(SpecOf("mine"))) << "a request that is repeated";
    EXPECT_OK(datasets().Delete("done"));
  });
  EXPECT_EQ(rest.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  EXPECT_NE(upload.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  store_.LetWrites();
  rest.wait();
  EXPECT_EQ(upload.get()->rows, 5u);
}

TEST_F(DatasetsTest, CompletingAgainWaitsForNoWriteAtAll) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("done"), 3));
  ASSERT_OK(datasets().Create(SpecOf("other")));
  store_.HoldWrites();
  auto upload = std::async(std::launch::async,
                           [&] { return UploadBlock(datasets(), "other", 0, Block(5), false); });
  auto creation = std::async(std::launch::async, [&] { return datasets().Create(SpecOf("new")); });
  EXPECT_TRUE(store_.AwaitHeldWrites(2));
  auto again =
      std::async(std::launch::async, [&] { return UploadBlock(datasets(), "done", 3, {}, true); });
  EXPECT_EQ(again.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  store_.LetWrites();
  EXPECT_OK(again.get());
  EXPECT_OK(upload.get());
  EXPECT_OK(creation.get());
}

TEST_F(DatasetsTest, BlocksThatAreBeingWrittenCountAgainstTheQuotaOfTheirOwner) {
  for (const char* id : {"a", "b"}) {
    DatasetSpec spec = SpecOf(id);
    spec.owner = "owner";
    ASSERT_OK(datasets().Create(spec));
  }
  DatasetSpec spec = SpecOf("c");
  spec.owner = "somebody else";
  ASSERT_OK(datasets().Create(spec));
  Table rows(CentralSchema());
  for (int i = 0; i < 10; ++i) rows.Append(Row{1, 1}, 0);
  // Room for one block, beside the schemas of both.
  const uint64_t quota = BlockFormat(CentralSchema()).Encode(rows, 0, 10).size() * 3 / 2 +
                         2 * BytesOf(*CentralSchema());
  const auto upload = [&](const char* id) {
    return datasets().Upload(id, 0, rows, /*complete=*/false, quota);
  };
  store_.HoldWrites(ChunkPrefix("a"));
  auto first = std::async(std::launch::async, [&] { return upload("a"); });
  ASSERT_TRUE(store_.AwaitHeldWrites(1));
  EXPECT_THAT(upload("b"), StatusIs(StatusCode::kResourceExhausted, HasSubstr("quota")));
  EXPECT_OK(upload("c"));
  // A block that is not stored leaves its room to others.
  store_.FailWrites(UnavailableError("the disk is gone"));
  store_.LetWrites();
  EXPECT_THAT(first.get(), StatusIs(StatusCode::kUnavailable, ::testing::_));
  store_.FailWrites(OkStatus());
  EXPECT_OK(upload("b"));
  EXPECT_THAT(upload("a"), StatusIs(StatusCode::kResourceExhausted, HasSubstr("quota")));
}

constexpr int64_t kDay = 24 * 60 * 60;

TEST(DatasetStateTest, OthersThanTheOwnerSeeThatItIsReadyFromTheNextDayOn) {
  DatasetEntry entry;
  entry.created_unix_seconds = 10 * kDay + 5;
  EXPECT_EQ(StateForOthers(entry, 10 * kDay + 6), DatasetState::kUploading);
  EXPECT_EQ(StateForOthers(entry, 12 * kDay), DatasetState::kUploading);
  entry.state = DatasetState::kReady;
  entry.completed_unix_seconds = 10 * kDay + 7;
  EXPECT_EQ(StateForOthers(entry, 11 * kDay - 1), DatasetState::kUploading);
  EXPECT_EQ(StateForOthers(entry, 11 * kDay), DatasetState::kReady);
  entry.state = DatasetState::kDeleted;
  EXPECT_EQ(StateForOthers(entry, 10 * kDay + 8), DatasetState::kDeleted);
}

TEST(DatasetStateTest, ARecordWithoutTheTimeOfItsCompletionHasThatOfItsCreation) {
  DatasetEntry entry;
  entry.state = DatasetState::kReady;
  entry.created_unix_seconds = 10 * kDay + 5;
  entry.schema = CentralSchema();
  entry.request_hash = std::string(32, 'h');
  ASSERT_OK_AND_ASSIGN(const DatasetEntry ready, DecodeDataset("key", EncodeDataset(entry)));
  EXPECT_EQ(StateForOthers(ready, 11 * kDay - 1), DatasetState::kUploading);
  EXPECT_EQ(StateForOthers(ready, 11 * kDay), DatasetState::kReady);
}

TEST_F(DatasetsTest, WhenADatasetWasCompletedIsStored) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  const auto stored = [&] { return *DecodeDataset("key", **store_.Get(DatasetKey("d"))); };
  EXPECT_EQ(stored().completed_unix_seconds, 1000);
  EXPECT_EQ(datasets().Get("d")->state_for_others, DatasetState::kUploading) << "it is of today";
  ASSERT_OK(datasets().Delete("d"));
  EXPECT_EQ(stored().completed_unix_seconds, 1000);
}

// A repair leaves a dataset like this if its record was damaged.
TEST_F(DatasetsTest, TheRowsOfADatasetWithoutARecordCanBeDeletedAndItsBudgetStaysSpent) {
  ASSERT_OK(datasets().Create(SpecOf("d")));
  ASSERT_OK(UploadBlock(datasets(), "d", 0, Block(5), /*complete=*/true));
  storage::StoreBatch quarantine;
  quarantine.Delete(DatasetKey("d"));
  ASSERT_OK(store_.Apply(quarantine));
  Reopen();
  EXPECT_THAT(datasets().Get("d"), StatusIs(StatusCode::kNotFound, HasSubstr("d")));
  for (int again = 0; again < 2; ++again) {
    EXPECT_OK(datasets().Delete("d"));
    EXPECT_OK(store_.Scan(ChunkPrefix("d"), [](std::string_view, std::string_view) {
      return InternalError("a row is left");
    }));
  }
  EXPECT_THAT(store_.purged(), ElementsAre(ChunkPrefix("d"), ChunkPrefix("d")));
  EXPECT_OK(central_.ledger->Get("d"));
  EXPECT_THAT(datasets().Create(SpecOf("d")),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("ledger")));
  EXPECT_THAT(datasets().Delete("e"), StatusIs(StatusCode::kNotFound, HasSubstr("e")));
}

TEST_F(DatasetsTest, ADatasetInUseIsNotDeleted) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  {
    ASSERT_OK_AND_ASSIGN(const DatasetUse use, datasets().Use("d"));
    EXPECT_THAT(datasets().Delete("d"), StatusIs(kPrecondition, HasSubstr("cancel them")));
  }
  EXPECT_OK(datasets().Delete("d"));
}

TEST_F(DatasetsTest, ADeletionThatWasCutShortIsEndedAtTheNextStart) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  // The second write of a deletion notes that the files are clean.
  CrashingStore dying(store_, {.write = 1, .fatal = true});
  ASSERT_OK_AND_ASSIGN(const Central doomed, OpenCentral(dying, {}));
  EXPECT_FALSE(doomed.datasets->Delete("d").ok());
  ASSERT_THAT(store_.purged(), SizeIs(1));
  Reopen();
  EXPECT_THAT(store_.purged(), ElementsAre("chunk/d/", "chunk/d/"));
  EXPECT_EQ(datasets().Get("d")->state, DatasetState::kDeleted);
}

TEST_F(DatasetsTest, AFailedDeletionIsRepeatedBeforeAnythingElse) {
  for (const bool kept : {false, true}) {
    MemoryStore disk;
    CrashingStore store(disk, {.write = 2, .kept = kept});
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {}));
    ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
    EXPECT_FALSE(central.datasets->Delete("d").ok());
    EXPECT_THAT(central.datasets->Use("d"), StatusIs(kPrecondition, HasSubstr("delete it again")));
    EXPECT_OK(central.datasets->Delete("d"));
    EXPECT_EQ(central.datasets->Get("d")->state, DatasetState::kDeleted);
  }
}

// Continues an upload from any state of `datasets`.
Status GoOn(Datasets& datasets) {
  COPPICE_RETURN_IF_ERROR(datasets.Create(SpecOf("d")).status());
  if (datasets.Get("d")->rows == 0) {
    COPPICE_RETURN_IF_ERROR(UploadBlock(datasets, "d", 0, Block(4), false).status());
  }
  if (datasets.Get("d")->rows == 4) {
    COPPICE_RETURN_IF_ERROR(UploadBlock(datasets, "d", 4, Block(3), false).status());
  }
  return UploadBlock(datasets, "d", 7, {}, true).status();
}

TEST_F(DatasetsTest, EveryWriteOfAnUploadMayFailAndTheCallerGoesOnFromTheCount) {
  constexpr size_t kWrites = 4;
  for (size_t fault = 0; fault < 4 * kWrites; ++fault) {
    SCOPED_TRACE(fault);
    const WriteFault how{.write = fault / 4, .kept = fault % 2 == 0, .fatal = fault / 2 % 2 == 0};
    MemoryStore disk;
    CrashingStore store(disk, how);
    {
      ASSERT_OK_AND_ASSIGN(const Central first, OpenCentral(store, {}));
      EXPECT_FALSE(GoOn(*first.datasets).ok());
      if (!how.fatal) {
        EXPECT_OK(GoOn(*first.datasets));
      }
    }
    ASSERT_OK_AND_ASSIGN(const Central second, OpenCentral(disk, {}));
    ASSERT_OK(GoOn(*second.datasets));
    ASSERT_OK_AND_ASSIGN(const Table table, RowsOf(*second.datasets, "d"));
    EXPECT_EQ(table.num_rows(), 7u);
    EXPECT_THAT(second.datasets->List({}), SizeIs(1));
  }
}

TEST_F(DatasetsTest, DamagedRecordsAreDataLoss) {
  ASSERT_OK(MakeDataset(datasets(), SpecOf("d")));
  storage::StoreBatch batch;
  const BlockFormat format(CentralSchema());
  batch.Put(ChunkKey("d", 0), format.Encode(*ParseRows(Block(9), CentralSchema()), 0, 9));
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(RowsOf(datasets(), "d"), StatusIs(StatusCode::kDataLoss, HasSubstr("dataset/d/")));
  storage::StoreBatch worse;
  worse.DeletePrefix(ChunkPrefix("d"));
  worse.Put(DatasetKey("d"), "\xff\xff");
  ASSERT_OK(store_.Apply(worse));
  EXPECT_THAT(RowsOf(datasets(), "d"), StatusIs(StatusCode::kDataLoss, HasSubstr("chunk/d/")));
  EXPECT_THAT(OpenCentral(store_, {}).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("dataset/d/")));
}

}  // namespace
}  // namespace coppice::central
