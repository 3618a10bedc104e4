// A plain store becomes a sealed one, wherever the sealing is interrupted.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/store/vault/private_records.h"
#include "server/store/vault/vault_records.h"
#include "tests/server/store/vault/vault_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::vault {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

VaultPhase PhaseOf(const storage::Store& disk) { return (*ReadVaultState(disk))->phase; }

void ExpectSealedAndPurged(const testing::MemoryStore& disk) {
  EXPECT_EQ(PhaseOf(disk), VaultPhase::kSealed);
  EXPECT_EQ(ValuesWith(disk, kSecret), 0u);
  EXPECT_EQ(ValuesWith(disk, kPublic), PublicRecords().size());
  for (const std::string_view prefix : PrivatePrefixes()) {
    EXPECT_THAT(disk.purged(), Contains(std::string(prefix)));
  }
}

TEST(AdoptionTest, ANewStoreIsSealedFromTheStartAndItsFormatComesFirst) {
  testing::MemoryStore disk;
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store,
                         OpenKeyed(disk, "1", [](auto, auto) { FAIL() << "nothing to tell"; }));
    ASSERT_NE(store.sealed(), nullptr);
    ASSERT_OK(storage::OpenFormat(*store));
  }
  EXPECT_THAT(disk.purged(), ::testing::IsEmpty());
  EXPECT_TRUE(*storage::HasFormat(disk));
  EXPECT_EQ(PhaseOf(disk), VaultPhase::kSealed);
}

TEST(AdoptionTest, APlainStoreIsSealedAndItsFilesAreWrittenAnew) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  EXPECT_EQ(ValuesWith(disk, kSecret), PrivateRecords().size()) << "they are found while plain";
  std::vector<VaultStep> steps;
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk, "1", [&](VaultStep step, auto) {
                           steps.push_back(step);
                         }));
    ExpectAllReadable(*store);
  }
  EXPECT_THAT(steps, ElementsAre(VaultStep::kSealing));
  ExpectSealedAndPurged(disk);
  // The next opening has nothing left to do.
  const auto sealed = disk.pairs();
  ASSERT_OK(OpenKeyed(disk, "1", [](auto, auto) { FAIL() << "nothing to tell"; }));
  EXPECT_EQ(disk.pairs(), sealed);
}

TEST(AdoptionTest, WithoutKeysAPlainStoreStaysAsItIs) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  const auto before = disk.pairs();
  {
    ASSERT_OK_AND_ASSIGN(const KeyedStore store,
                         KeyedStore::Open(std::make_unique<DiskRef>(disk), {}));
    EXPECT_EQ(store.sealed(), nullptr);
    ExpectAllReadable(*store);
  }
  // Reading it with keys does not change it either.
  ASSERT_OK_AND_ASSIGN(
      const KeyedStore store,
      KeyedStore::OpenUnchanged(std::make_unique<DiskRef>(disk), {.keys = KeysOf("1")}));
  ExpectAllReadable(*store);
  EXPECT_EQ(disk.pairs(), before);
}

// Has values so large that several batches are needed.
Status FillLarge(storage::Store& disk) {
  COPPICE_RETURN_IF_ERROR(FillPlain(disk));
  for (int chunk = 0; chunk < 5; ++chunk) {
    const std::string rows = kSecret + std::string(size_t{9} << 20, 'r');
    COPPICE_RETURN_IF_ERROR(Put(disk, central::ChunkKey("large", chunk), rows));
  }
  return OkStatus();
}

TEST(AdoptionTest, ACrashAtAnyWriteIsFinishedByTheNextOpening) {
  testing::MemoryStore plain;
  ASSERT_OK(FillLarge(plain));
  bool any_half_sealed = false;
  for (size_t write = 0;; ++write) {
    bool reached = false;
    for (const bool kept : {false, true}) {
      testing::MemoryStore disk;
      ASSERT_OK(PutAll(disk, plain.pairs()));
      CrashingStore crashing(disk, {.write = write, .kept = kept, .fatal = true});
      reached = !OpenKeyed(crashing, "1").ok();
      if (!reached) break;
      if ((*ReadVaultState(disk)).has_value() && PhaseOf(disk) == VaultPhase::kSealing) {
        any_half_sealed |=
            ValuesWith(disk, kSecret) > 0 && !(*ReadVaultState(disk))->sealed_to.empty();
        EXPECT_THAT(
            KeyedStore::OpenUnchanged(std::make_unique<DiskRef>(disk), {.keys = KeysOf("1")}),
            StatusIs(StatusCode::kFailedPrecondition, HasSubstr("start the daemon")));
      }
      EXPECT_EQ(CheckNotHalfSealed(disk).ok(),
                !(*ReadVaultState(disk)).has_value() || PhaseOf(disk) == VaultPhase::kSealed);
      // With another first key too, sealing goes on under the key that it began with.
      ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk, "21"));
      ExpectAllReadable(*store);
      ASSERT_OK_AND_ASSIGN(const auto large, store->Get(central::ChunkKey("large", 4)));
      EXPECT_EQ(large->size(), sizeof kSecret - 1 + (size_t{9} << 20));
      ExpectSealedAndPurged(disk);
    }
    if (!reached) {
      EXPECT_GE(write, 5u) << "several batches";
      break;
    }
  }
  EXPECT_TRUE(any_half_sealed);
}

TEST(AdoptionTest, APurgeThatFailedIsRepeatedByTheNextOpening) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  CrashingStore crashing(disk, {.write = 2, .kept = false, .fatal = true});
  EXPECT_FALSE(OpenKeyed(crashing, "1").ok());
  EXPECT_EQ(PhaseOf(disk), VaultPhase::kPurging);
  EXPECT_FALSE(CheckNotHalfSealed(disk).ok());
  const size_t purged = disk.purged().size();
  ASSERT_OK(OpenKeyed(disk, "1"));
  EXPECT_GT(disk.purged().size(), purged);
  ExpectSealedAndPurged(disk);
}

TEST(AdoptionTest, NothingIsSealedTwiceThoughTheStateIsAnOlderOne) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  ASSERT_OK(OpenKeyed(disk, "1"));
  const auto sealed = disk.pairs();
  storage::StoreBatch batch;  // mended files may leave this
  PutVaultState({.master_id = KeysOf("1").current().id, .phase = VaultPhase::kSealing}, batch);
  ASSERT_OK(disk.Apply(batch));
  ASSERT_OK_AND_ASSIGN(const KeyedStore store, OpenKeyed(disk, "1"));
  ExpectAllReadable(*store);
  EXPECT_EQ(disk.pairs(), sealed);
}

TEST(AdoptionTest, AHalfSealedStoreNeedsTheKeyThatItBeganWith) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  CrashingStore crashing(disk, {.write = 1, .kept = false, .fatal = true});
  EXPECT_FALSE(OpenKeyed(crashing, "1").ok());
  const auto before = disk.pairs();
  EXPECT_THAT(OpenKeyed(disk, "2"), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(KeyedStore::Open(std::make_unique<DiskRef>(disk), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--key-file")));
  EXPECT_EQ(disk.pairs(), before);
}

TEST(AdoptionTest, ANewerOrFormatlessStoreIsLeftAlone) {
  for (const bool newer : {true, false}) {
    testing::MemoryStore disk;
    ASSERT_OK(PutAll(disk, PrivateRecords()));
    if (newer) {
      ASSERT_OK(Put(disk, "meta/format", "99"));
    }
    const auto before = disk.pairs();
    EXPECT_THAT(OpenKeyed(disk, "1"),
                StatusIs(newer ? StatusCode::kFailedPrecondition : StatusCode::kDataLoss, _));
    EXPECT_EQ(disk.pairs(), before);
  }
}

TEST(AdoptionTest, WrappedKeysWithoutAStateAreDataLoss) {
  testing::MemoryStore disk;
  ASSERT_OK(FillPlain(disk));
  ASSERT_OK(OpenKeyed(disk, "1"));
  for (const std::string& state :
       {std::string(), std::string("sealed"), KeysOf("1").current().id + " melted ",
        std::string(" sealed ")}) {
    ASSERT_OK(Put(disk, "meta/vault", state));
    EXPECT_THAT(OpenKeyed(disk, "1"), StatusIs(StatusCode::kDataLoss, HasSubstr("meta/vault")));
  }
  storage::StoreBatch batch;
  batch.Delete("meta/vault");
  ASSERT_OK(disk.Apply(batch));
  EXPECT_THAT(OpenKeyed(disk, "1"), StatusIs(StatusCode::kDataLoss, HasSubstr("meta/vault")));
  EXPECT_THAT(KeyedStore::Open(std::make_unique<DiskRef>(disk), {}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("meta/vault")));
}

}  // namespace
}  // namespace coppice::vault
