#include "server/store/vault/sealed_store.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/store/vault/private_records.h"
#include "server/store/vault/vault_records.h"
#include "tests/server/store/vault/vault_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::vault {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

const std::string kChunk = central::ChunkKey("a", 0);
const std::string kWrapped = "vault/dataset/a";

class SealedStoreTest : public ::testing::Test {
 protected:
  // Makes an empty store sealed under key 1, then writes all records.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
    ASSERT_OK(PutAll(*store, PrivateRecords()));
    ASSERT_OK(PutAll(*store, PublicRecords()));
  }
  std::string OnDisk(const std::string& key) const { return disk_.Get(key)->value_or(""); }

  testing::MemoryStore disk_;
};

TEST_F(SealedStoreTest, WhatIsPrivateIsSealedAndAllElseIsAsItWas) {
  EXPECT_EQ(ValuesWith(disk_, kSecret), 0u);
  EXPECT_EQ(ValuesWith(disk_, kPublic), PublicRecords().size());
  for (const auto& [key, value] : PublicRecords()) EXPECT_EQ(OnDisk(key), value) << key;
  for (const auto& [key, value] : PrivateRecords()) {
    EXPECT_EQ(OnDisk(key).size(), value.size() + kSealedOverhead) << key;
  }
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  ExpectAllReadable(*store);
  EXPECT_EQ(*store->Get("chunk/none/0"), std::nullopt);
}

TEST_F(SealedStoreTest, ADatasetAStudyAndTheDaemonHaveKeysOfTheirOwn) {
  std::set<std::string> wrapped;
  ASSERT_OK(disk_.Scan("vault/", [&](std::string_view key, std::string_view) {
    wrapped.emplace(key);
    return OkStatus();
  }));
  EXPECT_THAT(wrapped, ElementsAre("vault/daemon", "vault/dataset/a", "vault/dataset/b",
                                   "vault/dataset/c", "vault/sealing/s", "vault/study/s"));
  ASSERT_OK_AND_ASSIGN(const KeyRing ring, LoadKeyRing(disk_, KeysOf("1"), /*skip_damaged=*/false));
  std::set<std::string_view> keys;
  for (const auto& [unit, key] : ring) keys.insert(key->bytes());
  EXPECT_EQ(keys.size(), 6u);
}

TEST_F(SealedStoreTest, PrefixScansGiveTheirRecordsInOrder) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  std::vector<std::string> seen;
  ASSERT_OK(store->Scan("chunk/a/", [&](std::string_view, std::string_view value) {
    seen.emplace_back(value);
    return OkStatus();
  }));
  EXPECT_THAT(seen, ElementsAre(HasSubstr("chunk/a/00000000"), HasSubstr("chunk/a/00000001")));
  EXPECT_THAT(store->Scan("chunk/", [](auto, auto) { return AbortedError("enough"); }),
              StatusIs(StatusCode::kAborted, "enough"));
}

TEST_F(SealedStoreTest, ChangedCutSwappedOrPlainRecordsAreDataLossThatNamesThem) {
  const std::string sealed = OnDisk(kChunk);
  std::string flipped = sealed;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  for (const std::string& bytes :
       {flipped, sealed.substr(0, sealed.size() - 1), sealed.substr(0, 5), std::string(),
        OnDisk(central::ChunkKey("a", 1)), OnDisk(central::ChunkKey("b", 0)), OnDisk(kWrapped),
        std::string(kSecret)}) {
    ASSERT_OK(Put(disk_, kChunk, bytes));
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
    EXPECT_THAT(store->Get(kChunk),
                StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(kChunk), HasSubstr("not open"))));
    EXPECT_THAT(store->Scan("chunk/", [](auto, auto) { return OkStatus(); }),
                StatusIs(StatusCode::kDataLoss, HasSubstr(kChunk)));
    EXPECT_OK(store->Get(central::ChunkKey("b", 0)));
  }
}

TEST_F(SealedStoreTest, AChangedOrSwappedWrappedKeyIsDataLossThatNamesIt) {
  const std::string good = OnDisk(kWrapped);
  for (size_t byte = 0; byte < good.size(); ++byte) {
    std::string flipped = good;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1);
    ASSERT_OK(Put(disk_, kWrapped, flipped));
    EXPECT_THAT(OpenKeyed(disk_, "1"), StatusIs(StatusCode::kDataLoss, HasSubstr(kWrapped)));
  }
  ASSERT_OK(Put(disk_, kWrapped, OnDisk("vault/dataset/b")));
  EXPECT_THAT(OpenKeyed(disk_, "1"), StatusIs(StatusCode::kDataLoss, HasSubstr(kWrapped)));
}

TEST_F(SealedStoreTest, TheWrongKeyOpensNothingAndChangesNothing) {
  const auto before = disk_.pairs();
  EXPECT_THAT(OpenKeyed(disk_, "2"), StatusIs(StatusCode::kFailedPrecondition,
                                              AllOf(HasSubstr(KeysOf("1").current().id),
                                                    HasSubstr(KeysOf("2").current().id))));
  EXPECT_THAT(KeyedStore::Open(std::make_unique<DiskRef>(disk_), {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("sealed"), HasSubstr("--key-file"))));
  EXPECT_THAT(KeyedStore::OpenUnchanged(std::make_unique<DiskRef>(disk_), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--key-file")));
  EXPECT_EQ(disk_.pairs(), before);
}

TEST_F(SealedStoreTest, DeletingADatasetDeletesItsKeyInTheSameBatch) {
  const std::string sealed = OnDisk(kChunk);
  const size_t writes = disk_.writes();
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  storage::StoreBatch batch;
  batch.DeletePrefix(central::ChunkPrefix("a"));
  batch.Put(central::DatasetKey("a"), "deleted");
  ASSERT_OK(store->Apply(batch));
  EXPECT_EQ(disk_.writes(), writes + 1);
  EXPECT_EQ(*disk_.Get(kWrapped), std::nullopt);
  EXPECT_THAT(*store->Get(central::DatasetKey("a")), Optional(Eq("deleted")));
  // What a file system or a copy of the files has kept cannot be read, even with the key file.
  ASSERT_OK(Put(disk_, kChunk, sealed));
  EXPECT_THAT(store->Get(kChunk), StatusIs(StatusCode::kDataLoss, _));
  ASSERT_OK_AND_ASSIGN(const KeyedStore again, OpenKeyed(disk_, "1"));
  EXPECT_THAT(again->Get(kChunk), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_OK(again->Get(central::ChunkKey("b", 0)));
}

TEST_F(SealedStoreTest, OnlyWhatCoversAUnitDeletesItsKey) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  for (const std::string& prefix : {kChunk, std::string("chunk/a/0000"), std::string("sums/"),
                                    std::string("job/"), std::string("meta/ticket_key")}) {
    storage::StoreBatch batch;
    batch.DeletePrefix(prefix);
    ASSERT_OK(store->Apply(batch));
    EXPECT_TRUE(disk_.Get(kWrapped)->has_value()) << prefix;
    EXPECT_TRUE(disk_.Get("vault/daemon")->has_value()) << prefix;
  }
  storage::StoreBatch batch;
  batch.DeletePrefix("chunk/");
  batch.DeletePrefix(curator::JoinPrefix("s"));
  batch.DeletePrefix(curator::SealingPrefix("s"));
  ASSERT_OK(store->Apply(batch));
  for (const char* unit :
       {"vault/dataset/a", "vault/dataset/b", "vault/sealing/s", "vault/study/s"}) {
    EXPECT_EQ(*disk_.Get(unit), std::nullopt) << unit;
  }
  EXPECT_TRUE(disk_.Get("vault/daemon")->has_value());
}

TEST_F(SealedStoreTest, WhatIsDeletedAndWrittenInOneBatchHasAFreshKey) {
  const std::string before = OnDisk(kWrapped);
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  storage::StoreBatch batch;
  batch.DeletePrefix(central::ChunkPrefix("a"));
  batch.Put(kChunk, "anew");
  ASSERT_OK(store->Apply(batch));
  EXPECT_NE(OnDisk(kWrapped), before);
  EXPECT_THAT(*store->Get(kChunk), Optional(Eq("anew")));
  ASSERT_OK_AND_ASSIGN(const KeyedStore again, OpenKeyed(disk_, "1"));
  EXPECT_THAT(*again->Get(kChunk), Optional(Eq("anew")));
}

// A snapshot or anything else that a purge does not reach then has the secrets under no remaining
// key.
TEST_F(SealedStoreTest, ErasedSealingKeysLeaveTheKeyTheyWereSealedUnder) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  storage::StoreBatch made;
  const curator::SealingKeys keys = *curator::SealingKeys::Make("r", 1, made);
  ASSERT_OK(store->Apply(made));
  const std::string wrapped = OnDisk("vault/sealing/r");
  storage::StoreBatch erasing;
  keys.Erase("r", erasing);
  ASSERT_OK(store->Apply(erasing));
  EXPECT_NE(OnDisk("vault/sealing/r"), wrapped);
  EXPECT_TRUE(curator::SealingKeys::Load(*store, "r")->erased());
}

TEST_F(SealedStoreTest, AFailedBatchChangesNoKey) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  disk_.FailWrites(UnavailableError("the disk"));
  storage::StoreBatch deletes;
  deletes.DeletePrefix(central::ChunkPrefix("a"));
  EXPECT_THAT(store->Apply(deletes), StatusIs(StatusCode::kUnavailable, "the disk"));
  EXPECT_FALSE(Put(*store, central::ChunkKey("new", 0), "rows").ok());
  disk_.FailWrites(OkStatus());
  EXPECT_OK(store->Get(kChunk));
  ASSERT_OK(Put(*store, central::ChunkKey("new", 0), "rows"));
  EXPECT_THAT(*store->Get(central::ChunkKey("new", 0)), Optional(Eq("rows")));
  ASSERT_OK_AND_ASSIGN(const KeyedStore again, OpenKeyed(disk_, "1"));
  EXPECT_THAT(*again->Get(central::ChunkKey("new", 0)), Optional(Eq("rows")));
}

TEST_F(SealedStoreTest, AWriteThatTheCrashKeptOpensAfterwards) {
  for (const bool kept : {false, true}) {
    testing::MemoryStore disk;
    ASSERT_OK(OpenKeyed(disk, "1"));
    // The first opening wrote two batches: the format and the state.
    CrashingStore crashing(disk, {.write = 0, .kept = kept, .fatal = true});
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(crashing, "1"));
    EXPECT_FALSE(Put(*store, kChunk, "rows").ok());
    ASSERT_OK_AND_ASSIGN(const KeyedStore again, OpenKeyed(disk, "1"));
    ASSERT_OK_AND_ASSIGN(const auto rows, again->Get(kChunk));
    EXPECT_EQ(rows.has_value(), kept);
  }
}

TEST_F(SealedStoreTest, RewrappingLeavesTheFormerKeyNothingToOpen) {
  const std::string sealed = OnDisk(kChunk);
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
    const size_t writes = disk_.writes();
    ASSERT_OK_AND_ASSIGN(const auto former, store.sealed()->Rewrap(KeysOf("21")));
    EXPECT_THAT(former, Optional(KeysOf("1").current().id));
    EXPECT_EQ(store.sealed()->master_id(), KeysOf("2").current().id);
    EXPECT_EQ(disk_.writes(), writes + 2) << "all keys in one batch, then the state";
    EXPECT_THAT(disk_.purged(), Contains("vault/"));
    ExpectAllReadable(*store);
    ASSERT_OK(Put(*store, central::ChunkKey("new", 0), "rows"));
    ASSERT_OK_AND_ASSIGN(const auto again, store.sealed()->Rewrap(KeysOf("21")));
    EXPECT_EQ(again, std::nullopt);
  }
  EXPECT_EQ(OnDisk(kChunk), sealed) << "rows are not written anew";
  EXPECT_THAT(OpenKeyed(disk_, "1"), StatusIs(StatusCode::kFailedPrecondition, _));
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "2"));
  ExpectAllReadable(*store);
  EXPECT_THAT(*store->Get(central::ChunkKey("new", 0)), Optional(Eq("rows")));
}

TEST_F(SealedStoreTest, AKeyFileThatLacksTheFormerKeyIsNotTaken) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  const auto before = disk_.pairs();
  EXPECT_THAT(store.sealed()->Rewrap(KeysOf("2")), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(disk_.pairs(), before);
  EXPECT_OK(Put(*store, kChunk, "rows"));
  EXPECT_OK(OpenKeyed(disk_, "1"));
}

TEST_F(SealedStoreTest, OpeningWithANewFirstKeyRewraps) {
  std::string former;
  ASSERT_OK_AND_ASSIGN(const KeyedStore store,
                       OpenKeyed(disk_, "21", [&](VaultStep step, std::string_view key) {
                         EXPECT_EQ(step, VaultStep::kRewrapped);
                         former = std::string(key);
                       }));
  EXPECT_EQ(former, KeysOf("1").current().id);
  ExpectAllReadable(*store);
  EXPECT_OK(OpenKeyed(disk_, "2"));
}

TEST_F(SealedStoreTest, ACrashDuringRewrappingLosesNothing) {
  for (size_t write = 0; write < 2; ++write) {
    for (const bool kept : {false, true}) {
      testing::MemoryStore disk;
      {
        ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk, "1"));
        ASSERT_OK(PutAll(*store, PrivateRecords()));
        ASSERT_OK(PutAll(*store, PublicRecords()));
      }
      CrashingStore crashing(disk, {.write = write, .kept = kept, .fatal = true});
      ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(crashing, "1"));
      EXPECT_FALSE(store.sealed()->Rewrap(KeysOf("21")).ok());
      const bool rewrapped = write > 0 || kept;
      EXPECT_EQ(OpenKeyed(disk, "1").ok(), !rewrapped);
      ASSERT_OK_AND_ASSIGN(const KeyedStore again, OpenKeyed(disk, "21"));
      ExpectAllReadable(*again);
      EXPECT_THAT(disk.purged(), Contains("vault/"));
      EXPECT_OK(OpenKeyed(disk, "2"));
    }
  }
}

TEST_F(SealedStoreTest, AFailedRewrappingKeepsTheFormerKeyAndMayBeRepeated) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  disk_.FailWrites(UnavailableError("the disk"));
  EXPECT_FALSE(store.sealed()->Rewrap(KeysOf("21")).ok());
  disk_.FailWrites(OkStatus());
  EXPECT_EQ(store.sealed()->master_id(), KeysOf("1").current().id);
  ASSERT_OK(Put(*store, central::ChunkKey("new", 0), "rows"));
  EXPECT_OK(OpenKeyed(disk_, "1"));
  ASSERT_OK_AND_ASSIGN(const auto former, store.sealed()->Rewrap(KeysOf("21")));
  EXPECT_TRUE(former.has_value());
}

TEST_F(SealedStoreTest, PurgingRowsPurgesTheirKeyToo) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  ASSERT_OK(store->Purge(central::ChunkPrefix("a")));
  EXPECT_THAT(disk_.purged(), ElementsAre("chunk/a/", "vault/"));
  ASSERT_OK(store->Purge(curator::kManifestKeyKey));
  EXPECT_THAT(disk_.purged(), ElementsAre("chunk/a/", "vault/", "meta/manifest_key"));
}

TEST_F(SealedStoreTest, ForARepairWhatDoesNotOpenIsShownAndNamed) {
  ASSERT_OK(Put(disk_, kWrapped, "damaged"));
  ASSERT_OK(Put(disk_, central::JobKey("j"), "damaged"));
  ASSERT_OK_AND_ASSIGN(
      const KeyedStore store,
      KeyedStore::Open(std::make_unique<DiskRef>(disk_),
                       {.keys = KeysOf("1"), .unreadable = UnreadableRecords::kShow}));
  EXPECT_THAT(*store->Get(central::JobKey("j")), Optional(Eq("damaged")));
  EXPECT_THAT(*store->Get(kChunk), Optional(Eq(OnDisk(kChunk))));
  std::vector<std::string> unreadable;
  ASSERT_OK(
      store.sealed()->VisitUnreadable([&](std::string_view key) { unreadable.emplace_back(key); }));
  EXPECT_THAT(unreadable, ElementsAre(kWrapped, kChunk, central::ChunkKey("a", 1), "job/j/"));
  EXPECT_OK(store->Scan("", [](auto, auto) { return OkStatus(); }));
}

TEST_F(SealedStoreTest, NothingSealedParsesAsARecord) {
  for (const auto& [key, value] : PrivateRecords()) {
    EXPECT_FALSE(v1::RowBlock().ParseFromString(OnDisk(key)));
    EXPECT_FALSE(v1::ManifestKeyRecord().ParseFromString(OnDisk(key)));
    EXPECT_FALSE(v1::JobRecord().ParseFromString(OnDisk(key)));
  }
}

TEST_F(SealedStoreTest, BatchesWithoutPrivateRecordsWaitForNobody) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  disk_.HoldWrites();
  std::thread upload([&] { EXPECT_OK(Put(*store, kChunk, "rows")); });
  disk_.AwaitHeldWrite();
  // Reads go on, and a report's batch reaches the disk beside the upload.
  ExpectAllReadable(*store);
  std::thread report([&] { EXPECT_OK(Put(*store, curator::SumsKey("s", 0), "sums")); });
  EXPECT_TRUE(disk_.AwaitHeldWrites(2)) << "the report waits for the upload";
  disk_.LetWrites();
  upload.join();
  report.join();
  EXPECT_THAT(*store->Get(kChunk), Optional(Eq("rows")));
}

TEST_F(SealedStoreTest, ReadersMeetNoHalfChange) {
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk_, "1"));
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done) {
        EXPECT_OK(store->Scan("chunk/", [](auto, auto) { return OkStatus(); }));
        EXPECT_OK(store->Get(central::ChunkKey("b", 0)));
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const std::string id = StrCat("d", i);
    ASSERT_OK(Put(*store, central::ChunkKey(id, 0), "rows"));
    if (i % 10 == 0) {
      EXPECT_OK(store.sealed()->Rewrap(KeysOf(i % 20 == 0 ? "21" : "12")));
    }
    storage::StoreBatch batch;
    batch.DeletePrefix(central::ChunkPrefix(id));
    ASSERT_OK(store->Apply(batch));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

TEST(PrivateRecordsTest, PrefixesAreInOrderAndCoverWhatIsPrivate) {
  const absl::Span<const std::string_view> prefixes = PrivatePrefixes();
  for (size_t i = 1; i < prefixes.size(); ++i) EXPECT_LT(prefixes[i - 1], prefixes[i]);
  for (const auto& [key, value] : PrivateRecords()) {
    EXPECT_TRUE(UnitOf(key).has_value()) << key;
    EXPECT_TRUE(std::any_of(prefixes.begin(), prefixes.end(), [&k = key](std::string_view prefix) {
      return StartsWith(k, prefix);
    })) << key;
  }
  for (const auto& [key, value] : PublicRecords()) EXPECT_EQ(UnitOf(key), std::nullopt) << key;
  EXPECT_EQ(UnitOf("vault/daemon"), std::nullopt);
  EXPECT_EQ(UnitOf("meta/vault"), std::nullopt);
  EXPECT_EQ(UnitOf("meta/format"), std::nullopt);
  EXPECT_THAT(UnitOf("quarantine/quarantine/chunk/x/0"), Optional(Eq("dataset/x")));
}

// A new kind of record must be added here if it is not private.
TEST(PrivateRecordsTest, EveryKindOfRecordIsPrivateOrSaidNotToBe) {
  const std::set<std::string> plain = {
      "batch", "count", "endpoint", "erased", "gone", "hold", "labels", "ledger", "model",
      "outlived", "probe", "rows", "spent", "spool", "study", "summary", "sums", "trained", "vault",
      // Some of these kinds are private, and others not.
      "audit/entry/N", "audit/head", "audit/seal", "audit/ledger/DATASET/", "meta/format",
      "meta/failover", "meta/restored", "meta/token_use", "meta/vault"};
  const char* const source = std::getenv("COPPICE_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  std::ifstream document(std::string(source) + "/docs/storage.md");
  size_t kinds = 0;
  for (std::string line; std::getline(document, line) && line != "## What is private";) {
    if (!StartsWith(line, "| `")) continue;
    const std::string key = line.substr(3, line.find('`', 3) - 3);
    const std::string kind = key.substr(0, key.find('/'));
    ++kinds;
    // What is put aside is as private as it was.
    if (kind == "quarantine") continue;
    const bool by_key = kind == "meta" || kind == "audit";
    EXPECT_NE(UnitOf(key).has_value(), plain.contains(by_key ? key : kind)) << key;
  }
  EXPECT_GT(kinds, 20u) << "the table in docs/storage.md has another form";
}

}  // namespace
}  // namespace coppice::vault
