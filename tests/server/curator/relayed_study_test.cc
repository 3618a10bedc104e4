// A study whose reports come through a relay: what devices are told about it, who may answer it,
// and its sealing keys over its life.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "common/wire/manifest.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"
#include "server/curator/study/study_sealing.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;

constexpr int64_t kRetentionDay = 24 * 60 * 60;

RelaySettings Relay() {
  return {.relay_key = {1, 2, 3},
          .min_batch = 2000,
          .dishonest_millionths = 100'000,
          .delta_atto = kDefaultRelayDeltaAtto};
}

StudySpec RelayedSpec(const std::string& id) {
  StudySpec spec = Spec(id, /*trees=*/2);
  spec.mechanism = MechanismKind::kSignedHadamard;
  spec.settings.relay = Relay();
  return spec;
}

class RelayedStudyTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(store_); }

  void Reopen(storage::Store& store) {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store, models_, [this] { return now_; }));
  }

  Manifest ManifestNow(const std::string& id = "one") {
    const auto offer = studies_->MakeOffer(id, 1);
    EXPECT_OK(offer);
    return *ReadManifest(offer->manifest->bytes);
  }

  SealingKeyName KeyNow() { return *studies_->Get("one")->relay->sealing_key; }

  std::vector<std::string> RecordsUnder(std::string_view prefix) {
    std::vector<std::string> keys;
    EXPECT_OK(store_.Scan(prefix, [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return OkStatus();
    }));
    return keys;
  }

  int64_t now_ = 1000;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
};

TEST_F(RelayedStudyTest, ItsManifestSaysHowReportsAreSealed) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->Create(RelayedSpec("one")));
  const Manifest manifest = ManifestNow();
  ASSERT_TRUE(manifest.sealing.has_value());
  EXPECT_EQ(manifest.sealing->min_batch, 2000u);
  EXPECT_EQ(manifest.sequence, 1u);
  EXPECT_EQ(seal::SealingKeyIdOf(seal::Aead::kAes128Gcm, manifest.sealing->key),
            *info.relay->sealing_key);
  uint32_t longest = 0;
  const auto mechanisms = *MakeMechanisms(*info.terms, *info.forest);
  for (const auto& mechanism : mechanisms) {
    longest = std::max(longest, static_cast<uint32_t>(mechanism->max_payload_bytes()));
  }
  EXPECT_EQ(manifest.sealing->payload_bytes, longest);
  EXPECT_EQ(info.relay->earlier_keys, 0u);
  EXPECT_FALSE(info.relay->keys_erased);
}

TEST_F(RelayedStudyTest, ItsForecastKnowsItsRelay) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  ASSERT_OK(studies_->Create(Spec("plain")));
  EXPECT_EQ(studies_->GetPublicSide("one")->relay, Relay());
  EXPECT_EQ(studies_->GetPublicSide("plain")->relay, std::nullopt);
}

TEST_F(RelayedStudyTest, AnotherStudyHasNoKey) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->Create(Spec("plain")));
  EXPECT_FALSE(info.relay.has_value());
  EXPECT_FALSE(ManifestNow("plain").sealing.has_value());
  EXPECT_TRUE(RecordsUnder("sealing/").empty());
  EXPECT_THAT(studies_->RotateSealingKey("plain", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has no relay")));
}

// A restart changes nothing that devices have seen.
TEST_F(RelayedStudyTest, ItsManifestIsTheSameBytesAfterARestart) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  ASSERT_OK(studies_->RotateSealingKey("one", KeyNow()));
  const std::string before = studies_->MakeOffer("one", 1)->manifest->bytes;
  now_ += kRetentionDay;
  Reopen(store_);
  EXPECT_EQ(studies_->MakeOffer("one", 1)->manifest->bytes, before);
}

TEST_F(RelayedStudyTest, WhatTellsDevicesApartIsRefusedAndMakesNothing) {
  StudySpec joined = RelayedSpec("one");
  joined.joined_by = "email";
  EXPECT_THAT(studies_->Create(joined), StatusIs(StatusCode::kInvalidArgument, _));
  StudySpec shown = RelayedSpec("one");
  shown.public_rows = std::make_shared<const Table>(shown.public_rows->WithSchema(
      std::make_shared<const Schema>(shown.public_rows->schema().WithAllPublic())));
  shown.mechanism = MechanismKind::kDirect;
  EXPECT_THAT(studies_->Create(shown),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("settings.relay: public features would tell devices apart")));
  shown.joined_by = "email";
  EXPECT_THAT(studies_->Create(shown), StatusIs(StatusCode::kInvalidArgument, _));
  StudySpec itself = RelayedSpec("one");
  itself.settings.relay->relay_key = studies_->SigningKeysInUse().key;
  EXPECT_THAT(studies_->Create(itself),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("settings.relay.relay_key: is this curator's own")));
  EXPECT_TRUE(RecordsUnder("sealing/").empty());
  EXPECT_TRUE(studies_->List({.size = 10, .after = ""}).empty());
}

TEST_F(RelayedStudyTest, ReportsThatComeDirectlyFailAndCountNowhere) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->Create(RelayedSpec("one")));
  const auto reports = HonestReports(*studies_, info, 3);
  EXPECT_THAT(SendAndWait(*studies_, info, reports),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("from its relay alone")));
  ASSERT_OK_AND_ASSIGN(const StudyInfo after, studies_->Get("one"));
  EXPECT_EQ(after.received, 0u);
  EXPECT_EQ(after.outcomes, info.outcomes);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(RelayedStudyTest, ARotationChangesTheKeyAndTheSequenceAndWeakensNothing) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  const Manifest before = ManifestNow();
  const SealingKeyName first = KeyNow();
  now_ = 2000;
  ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->RotateSealingKey("one", first));
  EXPECT_NE(*info.relay->sealing_key, first);
  EXPECT_EQ(info.relay->earlier_keys, 1u);
  const Manifest after = ManifestNow();
  EXPECT_EQ(after.sequence, 2u);
  EXPECT_EQ(after.issued_unix_seconds, 2000);
  EXPECT_NE(after.sealing->key, before.sealing->key);
  EXPECT_OK(CheckNotWeakened(before, after));
  EXPECT_FALSE(CheckNotWeakened(after, before).ok());
}

TEST_F(RelayedStudyTest, ACallThatIsRepeatedRotatesOnce) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  const SealingKeyName first = KeyNow();
  ASSERT_OK(studies_->RotateSealingKey("one", first));
  const SealingKeyName second = KeyNow();
  EXPECT_THAT(studies_->RotateSealingKey("one", first),
              StatusIs(StatusCode::kAborted, HasSubstr("sealing_key_id")));
  EXPECT_EQ(KeyNow(), second);
  EXPECT_EQ(RecordsUnder("sealing/one/").size(), 2u);
}

TEST_F(RelayedStudyTest, ASealedStudyGetsNoOtherKey) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  const SealingKeyName first = KeyNow();
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(studies_->RotateSealingKey("one", first),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
}

TEST_F(RelayedStudyTest, AnExpiredStudyGetsNoOtherKey) {
  StudySpec spec = RelayedSpec("one");
  spec.settings.expires_unix_seconds = 2000;
  ASSERT_OK(studies_->Create(spec));
  const SealingKeyName first = KeyNow();
  now_ = 2000;
  EXPECT_THAT(studies_->RotateSealingKey("one", first),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
}

// A failure at any write leaves either nothing of the study, or all of it.
TEST_F(RelayedStudyTest, AStudyAndItsKeyAreMadeTogether) {
  for (const bool kept : {false, true}) {
    MemoryStore disk;
    Reopen(disk);
    CrashingStore dying(disk, {.write = 0, .kept = kept, .fatal = true});
    Reopen(dying);
    EXPECT_FALSE(studies_->Create(RelayedSpec("one")).ok());
    Reopen(disk);
    EXPECT_EQ(studies_->Get("one").ok(), kept);
    EXPECT_OK(studies_->Create(RelayedSpec("one"))) << "the same request";
    EXPECT_EQ(studies_->Get("one")->relay->earlier_keys, 0u);
    EXPECT_TRUE(ManifestNow().sealing.has_value());
    studies_.reset();
  }
}

TEST_F(RelayedStudyTest, ARotationThatTheDiskLostIsNoRotation) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  const SealingKeyName first = KeyNow();
  const std::string manifest = studies_->MakeOffer("one", 1)->manifest->bytes;
  for (const bool kept : {false, true}) {
    CrashingStore dying(store_, {.write = 0, .kept = kept, .fatal = true});
    Reopen(dying);
    EXPECT_THAT(studies_->RotateSealingKey("one", first), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_EQ(studies_->MakeOffer("one", 1)->manifest->bytes, manifest)
        << "no device sees a key that may not be there after a crash";
    Reopen(store_);
    EXPECT_EQ(KeyNow() != first, kept);
    EXPECT_EQ(ManifestNow().sequence, kept ? 2u : 1u);
  }
}

// The caller opens the reports that nobody has asked for yet before the keys go.
TEST_F(RelayedStudyTest, ErasedKeysAreGoneAfterARestartToo) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  ASSERT_OK(studies_->Seal("one"));
  studies_.reset();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Study> study,
                       LoadStudy(store_, "one", **store_.Get(StudyKey("one"))));
  ASSERT_OK(EraseSealingKeys(store_, *study));
  EXPECT_TRUE(study->Info().relay->keys_erased);
  const size_t writes = store_.writes();
  ASSERT_OK(EraseSealingKeys(store_, *study)) << "again";
  EXPECT_EQ(store_.writes(), writes);
  Reopen(store_);
  EXPECT_TRUE(studies_->Get("one")->relay->keys_erased);
  EXPECT_TRUE(studies_->Get("one")->relay->sealing_key.has_value());
}

TEST_F(RelayedStudyTest, AnOpenStudyKeepsItsKeys) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  studies_.reset();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Study> study,
                       LoadStudy(store_, "one", **store_.Get(StudyKey("one"))));
  EXPECT_THAT(EraseSealingKeys(store_, *study),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is open")));
  EXPECT_FALSE(study->keys().Get()->erased());
}

TEST_F(RelayedStudyTest, DeletingItDeletesItsKeysAndPurgesThem) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  ASSERT_OK(studies_->Create(RelayedSpec("two")));
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_TRUE(RecordsUnder("sealing/one/").empty());
  EXPECT_EQ(RecordsUnder("sealing/two/").size(), 1u);
  EXPECT_EQ(RecordsUnder(kErasedPrefix).size(), 1u);
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(RecordsUnder(kErasedPrefix).empty());
}

TEST_F(RelayedStudyTest, ItsKeysGoWithItsRetention) {
  StudySpec spec = RelayedSpec("one");
  spec.settings.retention_days = 1;
  ASSERT_OK(studies_->Create(spec));
  ASSERT_OK(studies_->Seal("one"));
  now_ += kRetentionDay;
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(RecordsUnder("sealing/").empty());
  EXPECT_TRUE(RecordsUnder(kErasedPrefix).empty());
  for (const bool reopened : {false, true}) {
    if (reopened) Reopen(store_);
    ASSERT_OK_AND_ASSIGN(const StudyInfo info, studies_->Get("one"));
    EXPECT_TRUE(info.relay->keys_erased);
    EXPECT_FALSE(info.relay->sealing_key.has_value());
  }
}

TEST_F(RelayedStudyTest, AStudyWithoutItsKeyIsNotLoaded) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  studies_.reset();
  storage::StoreBatch batch;
  batch.DeletePrefix(SealingPrefix("one"));
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(OpenStudies(store_, models_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("sealing/one/")));
}

TEST_F(RelayedStudyTest, TheSameRequestWithAnotherRelayIsAnotherRequest) {
  ASSERT_OK(studies_->Create(RelayedSpec("one")));
  StudySpec other = RelayedSpec("one");
  other.settings.relay->min_batch = 1000;
  EXPECT_THAT(studies_->Create(other), StatusIs(StatusCode::kAlreadyExists, _));
  EXPECT_OK(studies_->Create(RelayedSpec("one")));
}

}  // namespace
}  // namespace coppice::curator
