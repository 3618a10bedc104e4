// The simulated disk loses what it should, and the store over it keeps its promise.

#include "tests/faults/faulty_disk.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FaultyDisk;
using ::coppice::testing::LogFault;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::coppice::testing::Unsynced;
using ::testing::_;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

class FaultyDiskTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    store_.reset();
    ASSERT_OK_AND_ASSIGN(store_, storage::OpenRocksDbStore(folder_.path(), disk_.env()));
    disk_.AwaitIdle();
  }
  void CutPower(Unsynced unsynced, uint64_t seed = 1) {
    disk_.Stop();
    store_.reset();
    disk_.CutPower(unsynced, seed);
    Open();
  }
  void Kill() {
    disk_.Stop();
    store_.reset();
    disk_.Kill();
    Open();
  }

  Status Put(const std::string& key, const std::string& value) {
    storage::StoreBatch batch;
    batch.Put(key, value);
    return store_->Apply(batch);
  }
  std::optional<std::string> Get(const std::string& key) { return *store_->Get(key); }

  TempDir folder_;
  FaultyDisk disk_;
  std::unique_ptr<storage::Store> store_;
};

TEST_F(FaultyDiskTest, APowerCutKeepsWhatWasSynced) {
  for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kTorn, Unsynced::kKept}) {
    ASSERT_OK(Put("key", "value"));
    ASSERT_OK(Put("last", std::to_string(static_cast<int>(unsynced))));
    CutPower(unsynced);
    EXPECT_THAT(Get("key"), Optional(Eq("value")));
    EXPECT_THAT(Get("last"), Optional(Eq(std::to_string(static_cast<int>(unsynced)))));
  }
}

TEST_F(FaultyDiskTest, ADiskThatLiesAboutSyncsLosesThem) {
  disk_.LieAboutSyncs();
  ASSERT_OK(Put("key", "value"));
  Kill();
  EXPECT_THAT(Get("key"), Optional(Eq("value"))) << "a crash of the process loses nothing";
  ASSERT_OK(Put("second", "value"));
  disk_.Stop();
  store_.reset();
  disk_.CutPower(Unsynced::kLost, 1);
  const auto opened = storage::OpenRocksDbStore(folder_.path(), disk_.env());
  EXPECT_TRUE(!opened.ok() || *(*opened)->Get("second") == std::nullopt);
}

TEST_F(FaultyDiskTest, OpeningSurvivesACrashAtEveryChangeOfTheDisk) {
  ASSERT_OK(Put("key", "value"));
  for (uint32_t changes = 0; changes < 40; ++changes) {
    store_.reset();
    disk_.StopAfter(changes);
    const bool opened = storage::OpenRocksDbStore(folder_.path(), disk_.env()).ok();
    disk_.AwaitIdle();
    if (opened && !disk_.stopped()) return;  // the crash would come after the last change
    disk_.CutPower(Unsynced::kTorn, changes);
    Open();
    ASSERT_THAT(Get("key"), Optional(Eq("value"))) << changes;
  }
}

TEST_F(FaultyDiskTest, AFullDiskRefusesAndThenTakesWritesAgain) {
  ASSERT_OK(Put("before", "value"));
  disk_.SayNearlyFull(true);
  EXPECT_THAT(Put("nearly", "value"), StatusIs(StatusCode::kResourceExhausted, _));
  disk_.SayNearlyFull(false);
  disk_.Fill(true);
  EXPECT_THAT(Put("full", "value"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("disk is full")));
  disk_.Fill(false);
  ASSERT_OK(Put("after", "value"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Get("before"), Optional(Eq("value")));
    EXPECT_EQ(Get("nearly"), std::nullopt);
    EXPECT_EQ(Get("full"), std::nullopt);
    EXPECT_THAT(Get("after"), Optional(Eq("value")));
    Kill();
  }
}

TEST_F(FaultyDiskTest, ABatchWhoseWriteFailedIsNotThereAfterwards) {
  for (const LogFault fault : {LogFault::kShortWrite, LogFault::kFailedSync}) {
    const std::string name = std::to_string(static_cast<int>(fault));
    ASSERT_OK(Put("before" + name, "value"));
    disk_.FailLogWrite(fault, /*skipped=*/0);
    EXPECT_THAT(Put("failed" + name, "value"), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_EQ(Get("failed" + name), std::nullopt) << name;
    ASSERT_OK(Put("after" + name, "value"));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(Get("before" + name), Optional(Eq("value")));
      EXPECT_EQ(Get("failed" + name), std::nullopt) << name;
      EXPECT_THAT(Get("after" + name), Optional(Eq("value")));
      CutPower(Unsynced::kLost);
    }
  }
}

TEST_F(FaultyDiskTest, ASyncOfOneFolderKeepsNoNamesOfAnother) {
  const std::string path = folder_.path() + "/elsewhere";
  std::filesystem::create_directory(path);
  std::unique_ptr<rocksdb::WritableFile> file;
  std::unique_ptr<rocksdb::Directory> other, own;
  ASSERT_TRUE(disk_.env()->NewDirectory(folder_.path(), &other).ok());
  ASSERT_TRUE(disk_.env()->NewDirectory(path, &own).ok());
  for (const bool synced : {false, true}) {
    ASSERT_TRUE(disk_.env()->NewWritableFile(path + "/file", &file, {}).ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE((synced ? own : other)->Fsync().ok());
    file.reset();
    CutPower(Unsynced::kLost);
    EXPECT_EQ(std::filesystem::exists(path + "/file"), synced);
  }
}

TEST_F(FaultyDiskTest, ABackupIsMetWhileItIsMade) {
  const std::string folder = folder_.path() + "/backups";
  ASSERT_OK(Put("before", "value"));
  bool met = false;
  disk_.MeetIn(folder, /*changes=*/2, [&] {
    met = true;
    EXPECT_OK(Put("meanwhile", "value"));
  });
  ASSERT_OK(store_->Backup({.folder = folder}));
  EXPECT_TRUE(met);
  EXPECT_THAT(Get("meanwhile"), Optional(Eq("value")));
}

TEST_F(FaultyDiskTest, ABackupThatIsCutShortAnywhereHarmsNoOther) {
  const std::string folder = folder_.path() + "/backups";
  for (uint32_t changes = 0; changes < 200; ++changes) {
    ASSERT_OK(Put("key", std::to_string(changes)));
    ASSERT_OK_AND_ASSIGN(const storage::StoreBackup good,
                         store_->Backup({.folder = folder, .keep = 2}));
    ASSERT_OK(Put("more", std::to_string(changes)));
    disk_.StopAfter(changes);
    const bool made = store_->Backup({.folder = folder, .keep = 2}).ok();
    disk_.AwaitIdle();
    if (made && !disk_.stopped()) return;  // the crash would come after the last change
    CutPower(static_cast<Unsynced>(changes % 3), changes);
    ASSERT_OK_AND_ASSIGN(const std::vector<storage::StoreBackup> there,
                         storage::ListBackups(folder));
    bool found = false;
    for (const storage::StoreBackup& backup : there) {
      EXPECT_OK(storage::VerifyBackup(folder, backup.id)) << changes;
      found |= backup.id == good.id;
    }
    EXPECT_TRUE(found) << changes;
  }
  FAIL() << "a backup has fewer changes than that";
}

}  // namespace
}  // namespace coppice
