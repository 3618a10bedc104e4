#include "server/curator/keys/manifest_authority.h"

#include "common/base/status.h"
#include "common/wire/manifest.h"
#include "server/curator/keys/store_keys.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNow = 1'000'000;

SigningKey KeyNumber(uint8_t number) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}
PublicKey Public(uint8_t number) { return KeyNumber(number).public_key(); }

Manifest SampleManifest() {
  return {.study = "sample",
          .epsilon = *Budget::FromEpsilon(1),
          .mechanism = MechanismKind::kDirect,
          .min_reports = 5,
          .direct = DirectSealing{.key = {.suite = 1, .key = {9}}, .report_bytes = 1000}};
}

class ManifestAuthorityTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<ManifestAuthority>> Open(const SigningKeys& given = {}) {
    return ManifestAuthority::Open(store_, given, kNow);
  }
  // The keys in use after a start that must succeed.
  CuratorKeys KeysWith(const SigningKeys& given = {}) {
    const auto opened = Open(given);
    EXPECT_OK(opened);
    return opened.ok() ? (*opened)->keys() : CuratorKeys();
  }

  MemoryStore store_;
};

TEST_F(ManifestAuthorityTest, MakesAKeyAtTheFirstStartAndKeepsIt) {
  const PublicKey first = KeysWith().key;
  EXPECT_EQ(KeysWith().key, first);
  MemoryStore other;
  EXPECT_NE((*ManifestAuthority::Open(other, {}, kNow))->keys().key, first);
}

TEST_F(ManifestAuthorityTest, SignsWithItsKeyAndTheSameBytesAgain) {
  ASSERT_OK_AND_ASSIGN(const auto authority, Open());
  ASSERT_OK_AND_ASSIGN(const auto made, authority->Sign(SampleManifest()));
  EXPECT_TRUE(IsSignedBy(authority->keys().key, kManifestDomain, made->bytes, made->signature));
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(made->bytes));
  EXPECT_EQ(read.key, KeyIdOf(authority->keys().key));
  EXPECT_EQ(read.min_reports, 5);
  EXPECT_EQ(*authority->Sign(SampleManifest()), made);
  authority->Forget("sample");
  EXPECT_EQ((*authority->Sign(SampleManifest()))->signature, made->signature);
}

// Models are signed again before the key changes: if that fails, the former key stays.
TEST_F(ManifestAuthorityTest, ARotationSignsAnewBeforeItCounts) {
  const PublicKey before = KeysWith().key;
  const auto refuse = [](const PublicKey&, const ModelSigner&) {
    return UnavailableError("the disk");
  };
  EXPECT_THAT(ManifestAuthority::Open(store_, {.key = {}, .next = KeyNumber(7)}, kNow, refuse),
              StatusIs(StatusCode::kUnavailable, HasSubstr("the disk")));
  EXPECT_EQ(KeysWith().key, before);
  std::optional<ModelSignature> anew;
  const auto sign = [&](const PublicKey& old_key, const ModelSigner& next) -> Status {
    EXPECT_EQ(old_key, before);
    anew = *next("bytes");
    return OkStatus();
  };
  ASSERT_OK(ManifestAuthority::Open(store_, {.key = {}, .next = KeyNumber(7)}, kNow, sign));
  ASSERT_TRUE(anew.has_value());
  EXPECT_EQ(anew->key, Public(7));
  EXPECT_TRUE(IsSignedBy(anew->key, kModelDomain, "bytes", anew->signature));
  EXPECT_OK(FollowChain(before, anew->endorsements, anew->key, kNow));
  // The rotation is over, so nothing is signed again.
  anew.reset();
  ASSERT_OK(ManifestAuthority::Open(store_, {.key = {}, .next = KeyNumber(7)}, kNow, sign));
  EXPECT_FALSE(anew.has_value());
}

TEST_F(ManifestAuthorityTest, SignsAnewWhatHasChanged) {
  ASSERT_OK_AND_ASSIGN(const auto authority, Open());
  ASSERT_OK_AND_ASSIGN(const auto before, authority->Sign(SampleManifest()));
  Manifest tighter = SampleManifest();
  tighter.sequence = 2;
  ASSERT_OK_AND_ASSIGN(const auto after, authority->Sign(tighter));
  EXPECT_NE(after->bytes, before->bytes);
  EXPECT_TRUE(IsSignedBy(authority->keys().key, kManifestDomain, after->bytes, after->signature));
}

TEST_F(ManifestAuthorityTest, AKeyFromAFileIsNeverStored) {
  EXPECT_EQ(KeysWith({.key = KeyNumber(7), .next = {}}).key, Public(7));
  const std::string record = **store_.Get(kManifestKeyKey);
  EXPECT_EQ(record.find(std::string(8, '\x07')), std::string::npos);
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--signing-key")));
  EXPECT_EQ(KeysWith({.key = KeyNumber(7), .next = {}}).key, Public(7));
}

TEST_F(ManifestAuthorityTest, AnotherKeyThanBeforeIsRefused) {
  KeysWith({.key = KeyNumber(1), .next = {}});
  EXPECT_THAT(Open({.key = KeyNumber(2), .next = {}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--next-signing-key")));
}

TEST_F(ManifestAuthorityTest, TheNextKeyIsEndorsedByTheOneBefore) {
  KeysWith({.key = KeyNumber(1), .next = {}});
  const CuratorKeys keys = KeysWith({.key = KeyNumber(1), .next = KeyNumber(2)});
  EXPECT_EQ(keys.key, Public(2));
  EXPECT_OK(FollowChain(Public(1), keys.endorsements, Public(2), kNow));
  EXPECT_THAT(FollowChain(Public(1), keys.endorsements, Public(2), kNow - 25 * 3600),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("clock")));
  // Starts again with the same flags, and then with the new key alone.
  EXPECT_EQ(KeysWith({.key = KeyNumber(1), .next = KeyNumber(2)}).endorsements, keys.endorsements);
  EXPECT_EQ(KeysWith({.key = KeyNumber(2), .next = {}}).endorsements, keys.endorsements);
  EXPECT_THAT(Open({.key = KeyNumber(1), .next = {}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--next-signing-key")));
}

TEST_F(ManifestAuthorityTest, TheStoresKeyEndorsesTheFirstFromAFileAndIsForgotten) {
  const PublicKey first = KeysWith().key;
  const CuratorKeys keys = KeysWith({.key = {}, .next = KeyNumber(2)});
  EXPECT_EQ(keys.key, Public(2));
  EXPECT_OK(FollowChain(first, keys.endorsements, Public(2), kNow));
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--signing-key")));
}

// A log-structured store keeps the replaced key in its files until it is purged.
TEST_F(ManifestAuthorityTest, TheStoresKeyIsTakenOutOfItsFilesAlsoIfTheFirstTryWasCutShort) {
  KeysWith();
  EXPECT_THAT(store_.purged(), IsEmpty());
  KeysWith({.key = {}, .next = KeyNumber(2)});
  EXPECT_THAT(store_.purged(), ElementsAre("meta/manifest_key"));
  KeysWith({.key = {}, .next = KeyNumber(2)});
  EXPECT_THAT(store_.purged(), SizeIs(2));
}

TEST_F(ManifestAuthorityTest, KeepsTheLastEightEndorsements) {
  for (uint8_t i = 1; i <= 10; ++i) {
    KeysWith({.key = KeyNumber(i), .next = KeyNumber(static_cast<uint8_t>(i + 1))});
  }
  const CuratorKeys keys = KeysWith({.key = KeyNumber(11), .next = {}});
  EXPECT_THAT(keys.endorsements, SizeIs(8));
  EXPECT_OK(FollowChain(Public(3), keys.endorsements, Public(11), kNow));
  EXPECT_FALSE(FollowChain(Public(2), keys.endorsements, Public(11), kNow).ok());
}

TEST_F(ManifestAuthorityTest, ABrokenChainLeadsFromNoKeyBefore) {
  KeysWith({.key = KeyNumber(1), .next = KeyNumber(2)});
  const SigningKeys anew{.key = KeyNumber(3), .next = {}, .break_chain = true};
  EXPECT_EQ(KeysWith(anew).key, Public(3));
  EXPECT_THAT(KeysWith(anew).endorsements, IsEmpty());
}

TEST_F(ManifestAuthorityTest, ARecordThatDoesNotFitIsDataLoss) {
  KeysWith();
  const std::string good = **store_.Get(kManifestKeyKey);
  std::string changed = good;
  changed[5] ^= 1;  // in the seed
  for (const std::string& bad : {std::string("x"), std::string(), changed}) {
    storage::StoreBatch batch;
    batch.Put(std::string(kManifestKeyKey), bad);
    ASSERT_OK(store_.Apply(batch));
    EXPECT_THAT(Open(), StatusIs(StatusCode::kDataLoss, HasSubstr("meta/manifest_key")));
  }
}

}  // namespace
}  // namespace coppice::curator
