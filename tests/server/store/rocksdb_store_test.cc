#include "server/store/rocksdb/rocksdb_store.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
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
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

fs::path FileWith(const TempDir& dir, std::string_view extension) {
  for (const auto& entry : fs::directory_iterator(fs::path(dir.path()) / "rocksdb")) {
    if (EndsWith(entry.path().string(), extension)) return entry.path();
  }
  ADD_FAILURE() << "no file ending in " << extension;
  return {};
}

TEST(RocksDbStoreTest, KeepsBatchesAcrossReopening) {
  const TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    ASSERT_OK(Put(*store, "key", "value"));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  ASSERT_OK_AND_ASSIGN(const auto value, store->Get("key"));
  EXPECT_THAT(value, Optional(Eq("value")));
}

TEST(RocksDbStoreTest, MakesTheDataDirectoryForItsOwnerOnly) {
  const TempDir dir;
  const std::string path = dir.path() + "/data";
  ASSERT_OK(OpenRocksDbStore(path));
  for (const std::string& folder : {path, path + "/rocksdb"}) {
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
  }
}

TEST(RocksDbStoreTest, MissingParentIsUnavailableAndNamed) {
  const TempDir dir;
  EXPECT_THAT(OpenRocksDbStore(dir.path() + "/no/data"),
              StatusIs(StatusCode::kUnavailable, HasSubstr(dir.path() + "/no/data")));
}

TEST(RocksDbStoreTest, SecondOpenerIsToldThatTheFolderIsInUse) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  EXPECT_THAT(OpenRocksDbStore(dir.path()),
              StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("another process uses"),
                                                              HasSubstr(dir.path() + "/rocksdb"))));
}

TEST(RocksDbStoreTest, DamagedLogIsDataLossThatNamesTheFolder) {
  const TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    for (int i = 0; i < 100; ++i) ASSERT_OK(Put(*store, StrCat("key", i), "value"));
  }
  {
    std::fstream log(FileWith(dir, ".log"), std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(200);
    log.write("damage", 6);
  }
  EXPECT_THAT(OpenRocksDbStore(dir.path()),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr(dir.path() + "/rocksdb"), HasSubstr("nothing was changed"),
                             HasSubstr("Restore a copy"))));
}

TEST(RocksDbStoreTest, TornLastRecordIsForgotten) {
  const TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    ASSERT_OK(Put(*store, "whole", "value"));
    ASSERT_OK(Put(*store, "torn", "value"));
  }
  const fs::path log = FileWith(dir, ".log");
  fs::resize_file(log, fs::file_size(log) - 3);
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  ASSERT_OK_AND_ASSIGN(const auto whole, store->Get("whole"));
  EXPECT_THAT(whole, Optional(Eq("value")));
  ASSERT_OK_AND_ASSIGN(const auto torn, store->Get("torn"));
  EXPECT_EQ(torn, std::nullopt);
}

TEST(RocksDbStoreTest, LostCurrentFileIsDataLossAndNotANewStore) {
  const TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    ASSERT_OK(Put(*store, "key", "value"));
  }
  fs::remove(dir.path() + "/rocksdb/CURRENT");
  EXPECT_THAT(OpenRocksDbStore(dir.path()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("CURRENT is missing")));
  EXPECT_TRUE(fs::exists(FileWith(dir, ".log")));
}

bool AnyFileHas(const TempDir& dir, const std::string& bytes) {
  for (const auto& entry : fs::recursive_directory_iterator(dir.path())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    if (StrContains(content, bytes)) return true;
  }
  return false;
}

TEST(RocksDbStoreTest, PurgedBytesAreInNoFileAnyMore) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  // Some keys are in sorted files, some in the log, and neighbours in the same files.
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK(Put(*store, StrCat("row/one/", i), "secret one" + std::string(1 << 20, 'x')));
    ASSERT_OK(Put(*store, StrCat("row/two/", i), "secret two"));
  }
  ASSERT_OK(Put(*store, "row/one/replaced", "secret one, replaced"));
  ASSERT_OK(Put(*store, "row/one/replaced", "another value"));
  ASSERT_TRUE(AnyFileHas(dir, "secret one"));
  StoreBatch batch;
  batch.DeletePrefix("row/one/");
  ASSERT_OK(store->Apply(batch));
  EXPECT_TRUE(AnyFileHas(dir, "secret one")) << "deleting alone takes nothing out of the files";
  ASSERT_OK(store->Purge("row/one/"));
  EXPECT_FALSE(AnyFileHas(dir, "secret one"));
  EXPECT_FALSE(AnyFileHas(dir, "another value"));
  EXPECT_TRUE(AnyFileHas(dir, "secret two"));
  ASSERT_OK_AND_ASSIGN(const auto kept, store->Get("row/two/7"));
  EXPECT_THAT(kept, Optional(Eq("secret two")));
}

// A file system of its own that a test can fill.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=96m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

void FillDisk(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const std::string block(1 << 16, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

TEST(RocksDbStoreTest, WritesAgainOnceAFullDiskHasSpace) {
  const TempDir dir;
  const SmallDisk disk(dir.path());
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs root";
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    ASSERT_OK(Put(*store, "before", "value"));
    FillDisk(dir.path() + "/filler");

    const std::string large(1 << 20, 'y');
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(Put(*store, "during", large),
                  StatusIs(StatusCode::kResourceExhausted, HasSubstr("the disk is full")));
    }
    ASSERT_OK_AND_ASSIGN(const auto before, store->Get("before"));
    EXPECT_THAT(before, Optional(Eq("value")));
    ASSERT_OK_AND_ASSIGN(const auto during, store->Get("during"));
    EXPECT_EQ(during, std::nullopt);

    fs::remove(dir.path() + "/filler");
    ASSERT_OK(Put(*store, "after", "value"));
    ASSERT_OK(Put(*store, "later", "value"));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  for (const char* key : {"before", "after", "later"}) EXPECT_TRUE((*store->Get(key)).has_value());
  EXPECT_EQ(*store->Get("during"), std::nullopt);
}

// Limits this process's files to `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(RocksDbStoreTest, OpensItselfAgainAfterAFailedWrite) {
  const TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
    ASSERT_OK(Put(*store, "before", "value"));
    {
      const FileSizeLimit limit(1 << 16);
      EXPECT_THAT(Put(*store, "during", std::string(1 << 20, 'y')),
                  StatusIs(StatusCode::kUnavailable, HasSubstr(dir.path())));
    }
    ASSERT_OK_AND_ASSIGN(const auto before, store->Get("before"));
    EXPECT_THAT(before, Optional(Eq("value")));
    ASSERT_OK(Put(*store, "after", "value"));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir.path()));
  for (const char* key : {"before", "after"}) EXPECT_TRUE((*store->Get(key)).has_value());
  EXPECT_EQ(*store->Get("during"), std::nullopt);
}

}  // namespace
}  // namespace coppice::storage
