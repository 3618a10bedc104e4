#include "server/store/rocksdb/backups.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/store/put.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

using ::coppice::testing::IsOk;
using ::coppice::testing::Put;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

std::vector<fs::path> FilesUnder(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  return files;
}

void FlipByte(const fs::path& path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(at);
  file.put(byte);
}

class BackupsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(store_, OpenRocksDbStore(data_dir_)); }

  // The store that the backup restores to.
  std::unique_ptr<Store> Restored(uint32_t id) {
    const std::string data_dir = StrCat(dir_.path(), "/restored", id);
    fs::create_directory(data_dir);
    EXPECT_OK(VerifyBackup(folder_, id));
    EXPECT_OK(CopyBackup(folder_, id, data_dir + "/rocksdb"));
    auto store = OpenRocksDbStore(data_dir);
    EXPECT_OK(store);
    return *std::move(store);
  }

  const TempDir dir_;
  const std::string data_dir_ = dir_.path() + "/data";
  const std::string folder_ = dir_.path() + "/backups";
  std::unique_ptr<Store> store_;
};

TEST_F(BackupsTest, ABackupHoldsWhatWasAppliedBeforeAndNothingLater) {
  ASSERT_OK(Put(*store_, "before", "value"));
  ASSERT_OK_AND_ASSIGN(const StoreBackup first, store_->Backup({.folder = folder_}));
  ASSERT_OK(Put(*store_, "later", "value"));
  ASSERT_OK_AND_ASSIGN(const StoreBackup second, store_->Backup({.folder = folder_}));
  EXPECT_GT(second.id, first.id);
  EXPECT_GT(first.bytes, 0u);
  const auto one = Restored(first.id);
  EXPECT_THAT(*one->Get("before"), Optional(Eq("value")));
  EXPECT_EQ(*one->Get("later"), std::nullopt);
  EXPECT_THAT(*Restored(second.id)->Get("later"), Optional(Eq("value")));
}

TEST_F(BackupsTest, AStoreListsItsBackupsOldestFirstAlsoBeforeTheFirst) {
  EXPECT_THAT(*store_->ListBackups(folder_), SizeIs(0));
  ASSERT_OK(Put(*store_, "key", "value"));
  ASSERT_OK_AND_ASSIGN(const StoreBackup first, store_->Backup({.folder = folder_}));
  ASSERT_OK_AND_ASSIGN(const StoreBackup second, store_->Backup({.folder = folder_}));
  ASSERT_OK_AND_ASSIGN(const std::vector<StoreBackup> listed, store_->ListBackups(folder_));
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[0].id, first.id);
  EXPECT_EQ(listed[1].id, second.id);
  EXPECT_EQ(listed[0].bytes, first.bytes);
  EXPECT_EQ(listed[0].unix_seconds, first.unix_seconds);
}

TEST_F(BackupsTest, BackupsAreListedWhileOthersAreMadeAndRemoved) {
  std::atomic<bool> stop{false};
  std::thread maker([&] {
    for (int i = 0; i < 8; ++i) {
      ASSERT_OK(Put(*store_, StrCat("key/", i), std::string(100'000, 'x')));
      ASSERT_OK(store_->Backup({.folder = folder_, .keep = 2}));
    }
    stop = true;
  });
  while (!stop) {
    const StatusOr<std::vector<StoreBackup>> listed = store_->ListBackups(folder_);
    EXPECT_OK(listed);
    for (size_t i = 1; listed.ok() && i < listed->size(); ++i) {
      EXPECT_LT((*listed)[i - 1].id, (*listed)[i].id);
    }
  }
  maker.join();
  EXPECT_THAT(*store_->ListBackups(folder_), SizeIs(2));
}

TEST_F(BackupsTest, TheFolderIsForItsOwnerOnly) {
  ASSERT_OK(store_->Backup({.folder = folder_}));
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(BackupsTest, NothingAcknowledgedBeforeABackupIsMissingThoughWritingGoesOn) {
  std::atomic<int> acknowledged{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      ASSERT_OK(Put(*store_, StrCat("key/", i), std::string(20000, 'x')));
      acknowledged = i + 1;
    }
  });
  while (acknowledged < 100) std::this_thread::yield();
  std::vector<std::pair<uint32_t, int>> backups;
  for (int i = 0; i < 3; ++i) {
    const int before = acknowledged;
    const StatusOr<StoreBackup> made = store_->Backup({.folder = folder_});
    EXPECT_OK(made);
    if (made.ok()) backups.emplace_back(made->id, before);
  }
  stop = true;
  writer.join();
  ASSERT_THAT(backups, SizeIs(3));
  for (const auto& [id, before] : backups) {
    const auto restored = Restored(id);
    int there = 0;
    // There must be no gap: no batch is there without those before it.
    while (restored->Get(StrCat("key/", there))->has_value()) ++there;
    EXPECT_GE(there, before);
    EXPECT_EQ(*restored->Get(StrCat("key/", there + 1)), std::nullopt);
  }
}

TEST_F(BackupsTest, OldBackupsAreRemovedForNewOnes) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(Put(*store_, StrCat(i), "value"));
    ASSERT_OK(store_->Backup({.folder = folder_, .keep = 2}));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<StoreBackup> left, ListBackups(folder_));
  ASSERT_THAT(left, SizeIs(2));
  EXPECT_LT(left[0].id, left[1].id);
  EXPECT_THAT(*Restored(left[0].id)->Get("2"), Optional(Eq("value")));
}

TEST_F(BackupsTest, AnInterruptedBackupDoesNotCountAndTheNextWorks) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK(Put(*store_, StrCat(i), std::string(1 << 20, static_cast<char>('a' + i))));
  }
  EXPECT_THAT(
      store_->Backup({.folder = folder_,
                      .progress = [](uint64_t bytes) { return bytes < (uint64_t{4} << 20); }}),
      StatusIs(StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(*ListBackups(folder_), SizeIs(0));
  ASSERT_OK_AND_ASSIGN(const StoreBackup whole, store_->Backup({.folder = folder_}));
  EXPECT_TRUE(Restored(whole.id)->Get("39")->has_value());
}

TEST_F(BackupsTest, DamageOfAnyFileOfABackupIsFound) {
  for (int i = 0; i < 50; ++i) ASSERT_OK(Put(*store_, StrCat(i), std::string(1000, 'x')));
  ASSERT_OK_AND_ASSIGN(const StoreBackup made, store_->Backup({.folder = folder_}));
  for (const fs::path& file : FilesUnder(folder_, ".sst")) {
    FlipByte(file, static_cast<int64_t>(fs::file_size(file) / 2));
    EXPECT_THAT(VerifyBackup(folder_, made.id),
                StatusIs(StatusCode::kDataLoss, HasSubstr("damaged")));
    FlipByte(file, static_cast<int64_t>(fs::file_size(file) / 2));
    EXPECT_OK(VerifyBackup(folder_, made.id));
    fs::resize_file(file, fs::file_size(file) - 1);
    EXPECT_FALSE(VerifyBackup(folder_, made.id).ok());
  }
}

TEST_F(BackupsTest, ADamagedStoreIsNotBackedUpInPlaceOfAGoodOne) {
  for (int i = 0; i < 50; ++i) ASSERT_OK(Put(*store_, StrCat(i), std::string(1000, 'x')));
  ASSERT_OK(store_->Backup({.folder = folder_, .keep = 1}));
  const std::vector<fs::path> tables = FilesUnder(data_dir_, ".sst");
  ASSERT_THAT(tables, SizeIs(1));
  FlipByte(tables[0], 2000);
  EXPECT_THAT(store_->Backup({.folder = folder_, .keep = 1}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("no backup is made of a damaged store")));
  EXPECT_THAT(*ListBackups(folder_), SizeIs(1));
}

TEST_F(BackupsTest, PurgingAndBackingUpAtOnceDoNotDisturbEachOther) {
  for (int i = 0; i < 20; ++i) ASSERT_OK(Put(*store_, StrCat(i), std::string(1 << 20, 'x')));
  std::thread purger([&] {
    for (int i = 0; i < 5; ++i) EXPECT_OK(store_->Purge(StrCat(i)));
  });
  for (int i = 0; i < 3; ++i) EXPECT_OK(store_->Backup({.folder = folder_}));
  purger.join();
  ASSERT_OK_AND_ASSIGN(const std::vector<StoreBackup> made, ListBackups(folder_));
  for (const StoreBackup& backup : made) EXPECT_OK(VerifyBackup(folder_, backup.id));
}

TEST_F(BackupsTest, AFolderWithoutBackupsIsNotFoundAndStaysAsItIs) {
  EXPECT_THAT(ListBackups(folder_), StatusIs(StatusCode::kNotFound, HasSubstr(folder_)));
  EXPECT_FALSE(fs::exists(folder_));
  ASSERT_OK(store_->Backup({.folder = folder_}));
  EXPECT_THAT(VerifyBackup(folder_, 7), StatusIs(StatusCode::kNotFound, ::testing::_));
}

}  // namespace
}  // namespace coppice::storage
