// The sealing keys of a relayed study in the store: made, replaced, erased, and what a crash or a
// damaged record leaves of them.

#include "server/curator/keys/sealing_keys.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::CrashingStore;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class SealingKeysTest : public ::testing::Test {
 protected:
  // The keys of study "one" after this many rotations of the first.
  SealingKeys MakeKeys(size_t rotations) {
    storage::StoreBatch batch;
    SealingKeys keys = *SealingKeys::Make("one", 1000, batch);
    for (size_t i = 1; i <= rotations; ++i) {
      keys = *keys.Rotate("one", 1000 + static_cast<int64_t>(i), batch);
    }
    EXPECT_OK(store_.Apply(batch));
    return keys;
  }

  std::string RecordOf(const StoredSealingKey& key) {
    return **store_.Get(SealingKeyKey("one", key.name));
  }

  void Change(const StoredSealingKey& key,
              const std::function<void(v1::SealingKeyRecord& record)>& change) {
    v1::SealingKeyRecord record;
    ASSERT_TRUE(record.ParseFromString(RecordOf(key)));
    change(record);
    storage::StoreBatch batch;
    batch.Put(SealingKeyKey("one", key.name), record.SerializeAsString());
    ASSERT_OK(store_.Apply(batch));
  }

  MemoryStore store_;
};

TEST_F(SealingKeysTest, AreLoadedAsTheyWereMade) {
  const SealingKeys made = MakeKeys(2);
  ASSERT_OK_AND_ASSIGN(const SealingKeys loaded, SealingKeys::Load(store_, "one"));
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded.current().name, made.current().name);
  EXPECT_EQ(loaded.current().first_sequence, 3u);
  EXPECT_EQ(loaded.current().created_unix_seconds, 1002);
  EXPECT_EQ(loaded.current().secret->secret(), made.current().secret->secret());
  EXPECT_EQ(loaded.current().secret->public_key(), made.current().public_key);
  EXPECT_EQ(seal::SealingKeyIdOf(loaded.current().aead, loaded.current().public_key),
            loaded.current().name);
  EXPECT_FALSE(loaded.erased());
}

TEST_F(SealingKeysTest, EarlierKeysAreFoundByTheirNames) {
  storage::StoreBatch batch;
  const SealingKeys first = *SealingKeys::Make("one", 1000, batch);
  const SealingKeys second = *first.Rotate("one", 1001, batch);
  ASSERT_NE(second.Find(first.current().name), nullptr);
  EXPECT_EQ(second.Find(first.current().name)->public_key, first.current().public_key);
  EXPECT_NE(second.current().public_key, first.current().public_key);
  EXPECT_EQ(first.Find(second.current().name), nullptr);
  EXPECT_EQ(first.size(), 1u) << "a rotation changes no value that others hold";
}

TEST_F(SealingKeysTest, AStudyHasItsOwn) {
  MakeKeys(0);
  EXPECT_THAT(SealingKeys::Load(store_, "on"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("sealing/on/ has no key")));
}

TEST_F(SealingKeysTest, AKeyIsReplacedABoundedNumberOfTimes) {
  const SealingKeys most = MakeKeys(SealingKeys::kMaxKeys - 1);
  storage::StoreBatch batch;
  EXPECT_THAT(most.Rotate("one", 1, batch),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("make a new study")));
  EXPECT_TRUE(batch.puts().empty());
  EXPECT_EQ(SealingKeys::Load(store_, "one")->size(), SealingKeys::kMaxKeys);
}

TEST_F(SealingKeysTest, ErasedKeysHaveNoSecretInTheStoreAndKeepTheirNames) {
  const SealingKeys keys = MakeKeys(1);
  const seal::SealingKey::Secret secret = keys.current().secret->secret();
  storage::StoreBatch batch;
  const SealingKeys erased = keys.Erase("one", batch);
  ASSERT_OK(store_.Apply(batch));
  EXPECT_TRUE(erased.erased());
  EXPECT_TRUE(SealingKeys::Load(store_, "one")->erased());
  EXPECT_EQ(SealingKeys::Load(store_, "one")->current().name, keys.current().name);
  EXPECT_THAT(RecordOf(keys.current()),
              ::testing::Not(HasSubstr(std::string(secret.begin(), secret.end()))));
  storage::StoreBatch more;
  EXPECT_THAT(erased.Rotate("one", 1, more), StatusIs(StatusCode::kFailedPrecondition, _));
}

// Whichever write of the erasure is the last, the secrets are gone in the end.
TEST_F(SealingKeysTest, ACrashBetweenErasingAndPurgingIsMadeUpForLater) {
  for (size_t write = 0; write < 3; ++write) {
    for (const bool kept : {false, true}) {
      SCOPED_TRACE(StrCat("write ", write, kept ? " kept" : " lost"));
      const SealingKeys keys = MakeKeys(0);
      CrashingStore dying(store_, {.write = write, .kept = kept, .fatal = true});
      storage::StoreBatch batch;
      const SealingKeys erased = keys.Erase("one", batch);
      if (dying.Apply(batch).ok()) PurgeErased(dying).IgnoreError();
      ASSERT_OK_AND_ASSIGN(const SealingKeys loaded, SealingKeys::Load(store_, "one"));
      const bool applied = write > 0 || kept;
      EXPECT_EQ(loaded.erased(), applied);
      const bool noted = store_.Get(ErasedKey("one"))->has_value();
      EXPECT_EQ(noted, applied && (write == 0 || (write == 1 && !kept)));
      EXPECT_OK(PurgeErased(store_));
      EXPECT_FALSE(store_.Get(ErasedKey("one"))->has_value());
      storage::StoreBatch clear;
      clear.DeletePrefix(SealingPrefix("one"));
      ASSERT_OK(store_.Apply(clear));
    }
  }
}

bool AnyFileHolds(const std::string& folder, const seal::SealingKey::Secret& secret) {
  const std::string bytes(secret.begin(), secret.end());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    if (StrContains(content, bytes)) return true;
  }
  return false;
}

TEST(SealingKeysOnDiskTest, NoFileHoldsAnErasedSecret) {
  const testing::TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(folder.path()));
  storage::StoreBatch made;
  const SealingKeys first = *SealingKeys::Make("one", 1, made);
  const SealingKeys keys = *first.Rotate("one", 2, made);
  const SealingKeys other = *SealingKeys::Make("two", 1, made);
  ASSERT_OK(store->Apply(made));
  storage::StoreBatch erasing;
  keys.Erase("one", erasing);
  ASSERT_OK(store->Apply(erasing));
  EXPECT_TRUE(AnyFileHolds(folder.path(), keys.current().secret->secret()))
      << "writing over it alone takes nothing out of the files";
  ASSERT_OK(PurgeErased(*store));
  EXPECT_FALSE(AnyFileHolds(folder.path(), first.current().secret->secret()));
  EXPECT_FALSE(AnyFileHolds(folder.path(), keys.current().secret->secret()));
  EXPECT_TRUE(AnyFileHolds(folder.path(), other.current().secret->secret()));
  EXPECT_TRUE(SealingKeys::Load(*store, "one")->erased());
}

TEST_F(SealingKeysTest, DamagedRecordsAreDataLossThatNamesThem) {
  struct Damage {
    std::function<void(v1::SealingKeyRecord& record)> change;
    const char* what;
  };
  const std::vector<Damage> damages = {
      {[](auto& record) { record.set_suite(2); }, "has an unknown suite"},
      {[](auto& record) { record.set_suite(3); }, "holds another key than it is named for"},
      {[](auto& record) { record.mutable_public_key()->pop_back(); }, "of another length"},
      {[](auto& record) { (*record.mutable_public_key())[0] ^= 1; }, "than it is named for"},
      {[](auto& record) { record.mutable_secret()->pop_back(); }, "secret of another length"},
      {[](auto& record) { (*record.mutable_secret())[5] ^= 1; }, "has halves of two keys"},
      {[](auto& record) { record.clear_secret(); }, "some keys with their secrets"},
      {[](auto& record) { record.set_first_sequence(1); }, "lacks a key, or has two"},
      {[](auto& record) { record.set_first_sequence(3); }, "lacks a key, or has two"},
  };
  const SealingKeys keys = MakeKeys(1);
  const std::string sound = RecordOf(keys.current());
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    Change(keys.current(), damage.change);
    EXPECT_THAT(SealingKeys::Load(store_, "one"),
                StatusIs(StatusCode::kDataLoss, HasSubstr(damage.what)));
    storage::StoreBatch mend;
    mend.Put(SealingKeyKey("one", keys.current().name), sound);
    ASSERT_OK(store_.Apply(mend));
  }
  storage::StoreBatch batch;
  batch.Put(SealingKeyKey("one", keys.current().name), "\xff");
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(SealingKeys::Load(store_, "one"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not parse")));
}

}  // namespace
}  // namespace coppice::curator
