// Every byte of a store's tables and logs is changed, and every log cut: the damage is found.

#include "server/store/rocksdb/database_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Pairs = std::map<std::string, std::string>;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

StatusOr<Pairs> PairsIn(const std::string& data_dir) {
  const auto store = OpenRocksDbStoreForReading(data_dir);
  if (!store.ok()) return store.status();
  Pairs pairs;
  const Status read = (*store)->Scan("", [&](std::string_view key, std::string_view value) {
    pairs[std::string(key)] = std::string(value);
    return OkStatus();
  });
  if (!read.ok()) return read;
  return pairs;
}

class DatabaseFilesTest : public ::testing::Test {
 protected:
  void Put(Store& store, const std::string& key, size_t bytes) {
    StoreBatch batch;
    batch.Put(key, std::string(bytes, key.back()));
    ASSERT_OK(store.Apply(batch));
  }

  // Puts some records into a table and some into a log.
  void MakeStore() {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir_.path()));
    for (int i = 0; i < 9; ++i) Put(*store, StrCat("table/", i), 60);
    ASSERT_OK(store->Purge("table/"));
    for (int i = 0; i < 9; ++i) Put(*store, StrCat("log/", i), 60);
  }

  fs::path FileWith(const std::string& extension) const {
    for (const auto& entry : fs::directory_iterator(database_)) {
      if (entry.path().extension() == extension && entry.file_size() > 0) return entry.path();
    }
    ADD_FAILURE() << "no file with " << extension;
    return {};
  }

  std::vector<FileProblem> Problems() const {
    auto problems = CheckFiles(database_, [](const std::string&) {});
    EXPECT_OK(problems);
    return *std::move(problems);
  }

  const TempDir dir_;
  const std::string database_ = dir_.path() + "/rocksdb";
};

TEST_F(DatabaseFilesTest, APrivateFolderIsMadeForItsOwnerAndOneThatIsOpenIsRefused) {
  const fs::path folder = dir_.path() + "/private";
  const mode_t mask = umask(0);
  EXPECT_OK(MakePrivateFolder(folder));
  umask(mask);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  for (const unsigned mode : {0700u, 0750u, 0770u, 0500u}) {
    fs::permissions(folder, static_cast<fs::perms>(mode));
    EXPECT_OK(MakePrivateFolder(folder)) << std::oct << mode;
  }
  for (const unsigned mode : {0755u, 0711u, 0704u, 0702u, 01777u}) {
    fs::permissions(folder, static_cast<fs::perms>(mode));
    EXPECT_THAT(MakePrivateFolder(folder),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod o-rwx")))
        << std::oct << mode;
    EXPECT_OK(MakeFolder(folder));
    EXPECT_EQ(fs::status(folder).permissions(), static_cast<fs::perms>(mode)) << "left as it was";
  }
  EXPECT_THAT(MakePrivateFolder(dir_.path() + "/none/below"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("cannot make")));
}

TEST_F(DatabaseFilesTest, EveryFlippedByteOfATableOrALogIsFoundOrHarmless) {
  MakeStore();
  const Pairs before = *PairsIn(dir_.path());
  ASSERT_THAT(before, SizeIs(18));
  EXPECT_THAT(Problems(), IsEmpty());
  for (const std::string extension : {".sst", ".log"}) {
    const fs::path file = FileWith(extension);
    const std::string sound = ReadFile(file);
    for (size_t at = 0; at < sound.size(); ++at) {
      std::string flipped = sound;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
      WriteFile(file, flipped);
      const std::vector<FileProblem> problems = Problems();
      if (problems.empty()) {
        const StatusOr<Pairs> after = PairsIn(dir_.path());
        EXPECT_TRUE(!after.ok() || *after == before) << extension << " byte " << at;
      } else {
        EXPECT_EQ(problems[0].file, file.string());
      }
    }
    WriteFile(file, sound);
  }
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(DatabaseFilesTest, ALogThatACrashCutShortIsNoProblemAndATornTableIs) {
  MakeStore();
  const fs::path log = FileWith(".log");
  const std::string whole = ReadFile(log);
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFile(log, whole.substr(0, size));
    EXPECT_THAT(Problems(), IsEmpty()) << size;
  }
  const fs::path table = FileWith(".sst");
  fs::resize_file(table, fs::file_size(table) - 20);
  ASSERT_THAT(Problems(), SizeIs(1));
  EXPECT_EQ(Problems()[0].file, table.string());
}

TEST_F(DatabaseFilesTest, ALengthThatHidesTheRestOfALogIsTold) {
  MakeStore();
  const fs::path log = FileWith(".log");
  std::string bytes = ReadFile(log);
  bytes[5] = '\x7f';  // the first record claims 32 kilobytes
  WriteFile(log, bytes);
  // RocksDB takes this for a crash and forgets nine acknowledged batches.
  EXPECT_THAT(*PairsIn(dir_.path()), SizeIs(9));
  ASSERT_THAT(Problems(), SizeIs(1));
  EXPECT_THAT(Problems()[0].what, HasSubstr("the record at byte 0 is longer than what is left"));
}

TEST_F(DatabaseFilesTest, LargeRecordsOfSeveralBlocksAreSound) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir_.path()));
    for (const size_t bytes : {100, 32700, 32761, 40000, 200000, 7, 65536}) {
      Put(*store, StrCat("key", bytes), bytes);
    }
  }
  EXPECT_THAT(Problems(), IsEmpty());
  std::string bytes = ReadFile(FileWith(".log"));
  ASSERT_GT(bytes.size(), 300000u);
  bytes[100000] ^= 1;
  EXPECT_THAT(DamageOfLog(bytes), HasSubstr("does not have its checksum"));
}

TEST_F(DatabaseFilesTest, WhatAnotherProcessUsesIsLeftAlone) {
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStore(dir_.path()));
  for (const Status& status : {CheckFiles(database_, [](const std::string&) {}).status(),
                               SalvageFiles(database_), CopyFiles(database_, dir_.path() + "/copy"),
                               OpenRocksDbStoreForReading(dir_.path()).status()}) {
    EXPECT_THAT(status,
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another process uses")));
  }
}

TEST_F(DatabaseFilesTest, ReadingChangesNothingAndKeepsOthersOut) {
  MakeStore();
  std::map<std::string, std::string> before;
  for (const auto& entry : fs::directory_iterator(database_)) {
    before[entry.path().string()] = ReadFile(entry.path());
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksDbStoreForReading(dir_.path()));
    EXPECT_THAT(store->Apply({}), StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
    EXPECT_THAT(OpenRocksDbStore(dir_.path()),
                StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
  }
  for (const auto& entry : fs::directory_iterator(database_)) {
    EXPECT_EQ(before[entry.path().string()], ReadFile(entry.path())) << entry.path();
    before.erase(entry.path().string());
  }
  EXPECT_THAT(before, IsEmpty());
  EXPECT_OK(OpenRocksDbStore(dir_.path()));
}

TEST_F(DatabaseFilesTest, SalvagingKeepsWhatCanBeRead) {
  MakeStore();
  fs::remove(database_ + "/CURRENT");
  EXPECT_THAT(PairsIn(dir_.path()), StatusIs(StatusCode::kDataLoss, ::testing::_));
  ASSERT_OK(CopyFiles(database_, dir_.path() + "/copy"));
  EXPECT_THAT(CopyFiles(database_, dir_.path() + "/copy"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("exists already")));
  ASSERT_OK(SalvageFiles(database_));
  EXPECT_THAT(*PairsIn(dir_.path()), SizeIs(18));
}

TEST_F(DatabaseFilesTest, AFolderWithoutAStoreIsNotFound) {
  EXPECT_THAT(CheckFiles(database_, [](const std::string&) {}),
              StatusIs(StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(OpenRocksDbStoreForReading(dir_.path()),
              StatusIs(StatusCode::kNotFound, ::testing::_));
  EXPECT_FALSE(fs::exists(database_));
}

}  // namespace
}  // namespace coppice::storage
