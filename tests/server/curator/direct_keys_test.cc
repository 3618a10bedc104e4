// The curator's direct keys in the store: made, replaced by time, erased, and what is opened when.

#include "server/curator/keys/direct_keys.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
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
using ::coppice::testing::IsOk;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kStart = 1'700'000'000;
constexpr int64_t kPeriod = DirectKeys::kPeriodSeconds;

class DirectKeysTest : public ::testing::Test {
 protected:
  std::unique_ptr<DirectKeys> Open(int64_t now = kStart) {
    auto opened = DirectKeys::Open(store_, now);
    EXPECT_OK(opened);
    return *std::move(opened);
  }
  static seal::SealedRequest SealFor(const DirectKey& key) {
    return *seal::SealRequest(static_cast<seal::Aead>(key.suite), key.key, "reports", 64);
  }
  static StatusOr<seal::OpenedRequest> OpenWith(const DirectKeys& keys,
                                                const seal::SealedRequest& request) {
    const auto text = [](const auto& bytes) { return std::string(bytes.begin(), bytes.end()); };
    return keys.OpenMessage(text(request.key), text(request.message.encapsulated),
                            request.message.ciphertext);
  }
  std::vector<std::string> Records() const {
    std::vector<std::string> keys;
    EXPECT_OK(store_.Scan(kDirectKeyPrefix, [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return OkStatus();
    }));
    return keys;
  }

  MemoryStore store_;
};

TEST_F(DirectKeysTest, AKeyIsMadeOnceAndKept) {
  const DirectKey made = Open()->current();
  EXPECT_EQ(Open()->current(), made);
  EXPECT_EQ(Records().size(), 1u);
}

TEST_F(DirectKeysTest, OpensWhatIsSealedForItsKey) {
  const auto keys = Open();
  ASSERT_OK_AND_ASSIGN(const seal::OpenedRequest opened, OpenWith(*keys, SealFor(keys->current())));
  EXPECT_EQ(opened.content, "reports");
}

TEST_F(DirectKeysTest, AMessageForAnotherKeyNamesNothingOfIt) {
  const auto keys = Open();
  const seal::SealingKey other = *seal::SealingKey::Generate();
  const seal::SealedRequest request = SealFor({.suite = 1, .key = other.public_key()});
  EXPECT_THAT(OpenWith(*keys, request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no such key")));
  EXPECT_THAT(keys->OpenMessage("", "", ""),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no such key")));
}

TEST_F(DirectKeysTest, TimeReplacesTheKeyAndTheEarlierOneOpensAsLongAgain) {
  const auto keys = Open();
  const seal::SealedRequest early = SealFor(keys->current());
  const DirectKey first = keys->current();
  EXPECT_OK(keys->Rotate(kStart + kPeriod - 1));
  EXPECT_EQ(keys->current(), first);
  EXPECT_OK(keys->Rotate(kStart + kPeriod));
  EXPECT_NE(keys->current().key, first.key);
  EXPECT_THAT(OpenWith(*keys, early), IsOk());
  EXPECT_OK(keys->Rotate(kStart + 2 * kPeriod - 1));
  EXPECT_THAT(OpenWith(*keys, early), IsOk());
  EXPECT_OK(keys->Rotate(kStart + 2 * kPeriod));
  EXPECT_THAT(OpenWith(*keys, early),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("GetCuratorKeys")));
  EXPECT_THAT(OpenWith(*keys, SealFor(keys->current())), IsOk());
  EXPECT_EQ(Records().size(), 2u);
}

TEST_F(DirectKeysTest, AfterALongSleepOnlyANewKeyIsLeft) {
  const DirectKey first = Open()->current();
  const auto keys = Open(kStart + 10 * kPeriod);
  EXPECT_NE(keys->current().key, first.key);
  EXPECT_EQ(Records().size(), 1u);
}

TEST_F(DirectKeysTest, AClockSetBackReplacesAndErasesNothing) {
  const auto keys = Open();
  const DirectKey first = keys->current();
  EXPECT_OK(keys->Rotate(kStart - 100 * kPeriod));
  EXPECT_EQ(keys->current(), first);
  EXPECT_EQ(Records().size(), 1u);
}

TEST_F(DirectKeysTest, ARelayedStudysKeyOpensNoMessage) {
  const auto keys = Open();
  const DirectKey current = keys->current();
  auto sender =
      seal::Sender::Create(seal::Aead::kAes128Gcm, current.key, "coppice.v1.sealed_report");
  seal::SealedRequest request{.key = seal::SealingKeyIdOf(seal::Aead::kAes128Gcm, current.key)};
  request.message = *sender->Seal("", std::string(64, '\0'));
  EXPECT_THAT(OpenWith(*keys, request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not open")));
}

TEST_F(DirectKeysTest, ADamagedRecordIsNamed) {
  Open();
  const std::string record = Records()[0];
  for (const auto& change : std::vector<void (*)(v1::SealingKeyRecord&)>{
           [](v1::SealingKeyRecord& key) { key.clear_secret(); },
           [](v1::SealingKeyRecord& key) { key.set_suite(2); },
           [](v1::SealingKeyRecord& key) { key.mutable_public_key()->pop_back(); },
           [](v1::SealingKeyRecord& key) { key.mutable_public_key()->back() ^= 1; },
           [](v1::SealingKeyRecord& key) { key.mutable_secret()->back() ^= 1; }}) {
    MemoryStore damaged;
    v1::SealingKeyRecord key;
    ASSERT_TRUE(key.ParseFromString(**store_.Get(record)));
    change(key);
    storage::StoreBatch batch;
    batch.Put(record, key.SerializeAsString());
    ASSERT_OK(damaged.Apply(batch));
    EXPECT_THAT(DirectKeys::Open(damaged, kStart),
                StatusIs(StatusCode::kDataLoss, HasSubstr("meta/direct_key/")));
  }
}

TEST_F(DirectKeysTest, AStoreThatFailsKeepsTheKeyThatDevicesWereTold) {
  CrashingStore failing(store_, {.write = 1});
  auto keys = *DirectKeys::Open(failing, kStart);
  const DirectKey told = keys->current();
  EXPECT_THAT(keys->Rotate(kStart + kPeriod), StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_EQ(keys->current(), told);
}

// Deleting a record leaves its bytes in a file until the store is purged of them.
TEST(ErasedDirectKeyTest, LeavesTheStoresFiles) {
  const testing::TempDir folder;
  std::string secret;
  {
    auto store = *storage::OpenRocksDbStore(folder.path());
    auto keys = *DirectKeys::Open(*store, kStart);
    ASSERT_OK(store->Scan(kDirectKeyPrefix, [&](std::string_view, std::string_view bytes) {
      v1::SealingKeyRecord record;
      EXPECT_TRUE(record.ParseFromString(std::string(bytes)));
      secret = record.secret();
      return OkStatus();
    }));
    ASSERT_OK(keys->Rotate(kStart + kPeriod));
    ASSERT_OK(keys->Rotate(kStart + 2 * kPeriod));
    ASSERT_OK(PurgeErased(*store));
  }
  ASSERT_EQ(secret.size(), 32u);
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(bytes.find(secret), std::string::npos) << file.path();
  }
}

}  // namespace
}  // namespace coppice::curator
