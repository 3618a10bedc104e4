// Checking, repairing and restoring a sealed store.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/daemon/maintenance/restore.h"
#include "server/datasets/central_keys.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/vault/keyed_store.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/temp_dir.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSealedNow = 5000;

vault::KeyFile KeyOfDigit(char digit) { return *vault::KeyFile::Parse(std::string(64, digit)); }

class SealedRecordsTest : public ::testing::Test {
 protected:
  // A study, and two datasets of which the first has a job.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const vault::KeyedStore store, Open());
    {
      std::optional<models::Models> models;
      ASSERT_OK_AND_ASSIGN(const auto studies, testing::OpenStudies(*store, models));
      ASSERT_OK(studies->Create(testing::Spec("one")));
    }
    testing::FakeTrainer trainer;
    ASSERT_OK_AND_ASSIGN(const testing::Central central, testing::OpenCentral(*store, {&trainer}));
    ASSERT_OK(testing::MakeDataset(*central.datasets, testing::SpecOf("d")));
    ASSERT_OK(testing::MakeDataset(*central.datasets, testing::SpecOf("e")));
    ASSERT_OK(central.jobs->Submit(testing::RequestOf("j")));
    ASSERT_EQ(testing::AwaitEnd(*central.jobs, "j").state, central::JobState::kDone);
    ASSERT_OK(store->Backup({.folder = backups_}));
  }
  StatusOr<vault::KeyedStore> Open() { return vault::OpenKeyedStore(data_dir_, {.keys = keys_}); }
  // Starts as the daemon does.
  Status Start() {
    COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, Open());
    std::optional<models::Models> models;
    COPPICE_RETURN_IF_ERROR(testing::OpenStudies(*store, models).status());
    testing::FakeTrainer trainer;
    return testing::OpenCentral(*store, {&trainer}).status();
  }
  // Changes the files under the store.
  void Damage(const std::string& key) {
    ASSERT_OK_AND_ASSIGN(const auto disk, storage::OpenRocksDbStore(data_dir_));
    std::string bytes = disk->Get(key)->value();
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    storage::StoreBatch batch;
    batch.Put(key, bytes);
    ASSERT_OK(disk->Apply(batch));
  }
  std::vector<std::string> ProblemKeys() {
    const auto findings = CheckStore(data_dir_, silent_, keys_);
    EXPECT_OK(findings);
    std::vector<std::string> keys;
    for (const Problem& problem : findings->problems) keys.push_back(problem.key);
    return keys;
  }

  const ProgressCallback silent_ = [](const std::string&) {};
  const std::optional<vault::KeyFile> keys_ = KeyOfDigit('1');
  const testing::TempDir dir_;
  const std::string data_dir_ = dir_.path() + "/data";
  const std::string backups_ = dir_.path() + "/backups";
};

TEST_F(SealedRecordsTest, ASoundStoreIsReadThroughItsSeal) {
  EXPECT_THAT(ProblemKeys(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Findings findings, CheckStore(data_dir_, silent_, keys_));
  EXPECT_THAT(findings.notes, IsEmpty()) << findings.notes.front().key;
  EXPECT_EQ(findings.counts.at("dataset"), 2u);
  EXPECT_OK(Start());
}

TEST_F(SealedRecordsTest, WithoutItsKeysNothingIsDoneToIt) {
  const std::string kept = dir_.path() + "/kept";
  const std::string restored = dir_.path() + "/restored";
  for (const std::optional<vault::KeyFile>& keys :
       {std::optional<vault::KeyFile>(), std::optional(KeyOfDigit('2'))}) {
    for (const Status& status :
         {CheckStore(data_dir_, silent_, keys).status(),
          RepairStore(data_dir_, kept, kSealedNow, silent_, keys).status(),
          RestoreStore(backups_, 0, restored, kSealedNow, silent_, nullptr, keys).status()}) {
      EXPECT_THAT(status, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(kept));
  EXPECT_FALSE(std::filesystem::exists(restored + "/rocksdb"));
  EXPECT_THAT(ProblemKeys(), IsEmpty());
}

TEST_F(SealedRecordsTest, ADamagedRecordIsNamedAndARepairPutsItAside) {
  for (const std::string& key :
       {std::string(curator::kTicketKeyKey), central::JobKey("j"), central::DatasetKey("d")}) {
    Damage(key);
    EXPECT_FALSE(Start().ok());
    EXPECT_THAT(ProblemKeys(), Contains(key));
    ASSERT_OK_AND_ASSIGN(const Findings findings, CheckStore(data_dir_, silent_, keys_));
    EXPECT_TRUE(std::any_of(findings.notes.begin(), findings.notes.end(), [&](const Note& note) {
      return note.key == key && note.what == "does not open with its key";
    }));
    ASSERT_OK_AND_ASSIGN(
        const RepairResult result,
        RepairStore(data_dir_, dir_.path() + "/kept" + IdInKey(key), kSealedNow, silent_, keys_));
    EXPECT_THAT(result.left.problems, IsEmpty()) << result.left.problems.front().key;
    EXPECT_OK(Start()) << key;
  }
}

TEST_F(SealedRecordsTest, ADamagedWrappedKeyCostsWhatItSealedAndNoMore) {
  Damage("vault/dataset/d");
  EXPECT_THAT(Start(), StatusIs(StatusCode::kDataLoss, HasSubstr("vault/dataset/d")));
  EXPECT_THAT(ProblemKeys(), Contains("vault/dataset/d"));
  ASSERT_OK(RepairStore(data_dir_, dir_.path() + "/kept", kSealedNow, silent_, keys_));
  ASSERT_OK(Start());
  ASSERT_OK_AND_ASSIGN(const vault::KeyedStore store, Open());
  testing::FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const testing::Central central, testing::OpenCentral(*store, {&trainer}));
  EXPECT_THAT(testing::RowsOf(*central.datasets, "d"), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_OK(testing::RowsOf(*central.datasets, "e"));
  EXPECT_OK(central.datasets->Delete("d"));
}

TEST_F(SealedRecordsTest, ADamagedKeyOfTheDaemonIsMadeAnew) {
  Damage("vault/daemon");
  EXPECT_FALSE(Start().ok());
  ASSERT_OK(RepairStore(data_dir_, dir_.path() + "/kept", kSealedNow, silent_, keys_));
  EXPECT_OK(Start());
}

TEST_F(SealedRecordsTest, ARestoredStoreOpensWithItsKeys) {
  const std::string restored = dir_.path() + "/restored";
  ASSERT_OK_AND_ASSIGN(const RestoreResult result,
                       RestoreStore(backups_, 0, restored, kSealedNow, silent_, nullptr, keys_));
  EXPECT_THAT(result.findings.problems, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const vault::KeyedStore store,
                       vault::OpenKeyedStore(restored, {.keys = keys_}));
  testing::FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const testing::Central central, testing::OpenCentral(*store, {&trainer}));
  EXPECT_OK(testing::RowsOf(*central.datasets, "d"));
}

}  // namespace
}  // namespace coppice::maintenance
