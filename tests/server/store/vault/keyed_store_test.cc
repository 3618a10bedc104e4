// Sealed stores on a real disk, every byte of which is searched.

#include "server/store/vault/keyed_store.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/store/vault/vault_fixture.h"
#include "tests/support/temp_dir.h"

namespace coppice::vault {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// How many files below `folder` hold `text`.
size_t FilesWith(const std::string& folder, const std::string& text) {
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    files += bytes.find(text) != std::string::npos ? 1 : 0;
  }
  return files;
}

class KeyedStoreTest : public ::testing::Test {
 protected:
  StatusOr<KeyedStore> OpenWith(const std::string& digits) {
    return OpenKeyedStore(data_dir_, {.keys = KeysOf(digits)});
  }

  const TempDir dir_;
  const std::string data_dir_ = dir_.path() + "/data";
  const std::string backups_ = dir_.path() + "/backups";
};

TEST_F(KeyedStoreTest, NoFileOfASealedStoreHoldsAPrivateByte) {
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore plain, OpenKeyedStore(data_dir_, {}));
    ASSERT_OK(FillPlain(*plain));
    EXPECT_GT(FilesWith(data_dir_, kSecret), 0u) << "in the log of a plain store";
  }
  EXPECT_GT(FilesWith(data_dir_, kSecret), 0u);
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenWith("1"));
    EXPECT_EQ(FilesWith(data_dir_, kSecret), 0u);
    EXPECT_GT(FilesWith(data_dir_, kPublic), 0u);
    ASSERT_OK(Put(*store, central::ChunkKey("a", 2), kSecret));
    ASSERT_OK(store->Backup({.folder = backups_}));
    ExpectAllReadable(*store);
  }
  EXPECT_EQ(FilesWith(dir_.path(), kSecret), 0u);
  EXPECT_EQ(FilesWith(dir_.path(), std::string(32, '\x11')), 0u) << "the master key";
  EXPECT_GT(FilesWith(backups_, kPublic), 0u);
}

TEST_F(KeyedStoreTest, APurgedDatasetsWrappedKeyIsInNoFile) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenWith("1"));
  ASSERT_OK(PutAll(*store, PrivateRecords()));
  std::string wrapped;
  {
    // Reads below the sealing layer.
    ASSERT_OK(store->Scan("vault/dataset/a", [&](std::string_view, std::string_view value) {
      wrapped = std::string(value.substr(kMasterKeyIdChars));
      return OkStatus();
    }));
  }
  ASSERT_OK(store->Backup({.folder = backups_}));  // writes a table
  ASSERT_GT(FilesWith(data_dir_, wrapped), 0u);
  storage::StoreBatch batch;
  batch.DeletePrefix(central::ChunkPrefix("a"));
  ASSERT_OK(store->Apply(batch));
  ASSERT_OK(store->Purge(central::ChunkPrefix("a")));
  EXPECT_EQ(FilesWith(data_dir_, wrapped), 0u);
}

TEST_F(KeyedStoreTest, AfterARotationNoFileHoldsAKeyWrappedUnderTheFormer) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenWith("1"));
  ASSERT_OK(PutAll(*store, PrivateRecords()));
  std::string wrapped;
  ASSERT_OK(store->Scan("vault/", [&](std::string_view, std::string_view value) {
    wrapped = std::string(value.substr(kMasterKeyIdChars));
    return OkStatus();
  }));
  ASSERT_GT(FilesWith(data_dir_, wrapped), 0u);
  ASSERT_OK(store.sealed()->Rewrap(KeysOf("21")));
  EXPECT_EQ(FilesWith(data_dir_, wrapped), 0u);
}

TEST_F(KeyedStoreTest, ABackupOfASealedStoreIsRestoredWithItsKeyAlone) {
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenWith("1"));
    ASSERT_OK(PutAll(*store, PrivateRecords()));
    ASSERT_OK(PutAll(*store, PublicRecords()));
    ASSERT_OK(store->Backup({.folder = backups_}));
    ASSERT_OK(store.sealed()->Rewrap(KeysOf("21")));
  }
  const std::string copy = dir_.path() + "/copy";
  fs::create_directory(copy);
  ASSERT_OK(storage::CopyBackup(backups_, 1, copy + "/rocksdb"));
  for (const char* keys : {"2", "3"}) {
    EXPECT_THAT(OpenKeyedStore(copy, {.keys = KeysOf(keys)}),
                StatusIs(StatusCode::kFailedPrecondition, _));
  }
  EXPECT_THAT(OpenKeyedStoreForReading(copy, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--key-file")));
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore read,
                         OpenKeyedStoreForReading(copy, {.keys = KeysOf("21")}));
    ExpectAllReadable(*read);
  }
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyedStore(copy, {.keys = KeysOf("21")}));
  ExpectAllReadable(*store);
}

}  // namespace
}  // namespace coppice::vault
