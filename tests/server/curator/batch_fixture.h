// A relayed study, its devices, and a relay whose batches a test may spoil.

#ifndef COPPICE_TESTS_SERVER_CURATOR_BATCH_FIXTURE_H_
#define COPPICE_TESTS_SERVER_CURATOR_BATCH_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/manifest.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/studies/studies.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/batch_maker.h"
#include "tests/support/eventually.h"
#include "tests/support/memory_store.h"

namespace coppice::testing {

inline curator::StudySpec RelayedSpec(const std::string& id, uint64_t min_batch = kLeastMinBatch) {
  curator::StudySpec spec = Spec(id, /*trees=*/2);
  spec.mechanism = MechanismKind::kSignedHadamard;
  spec.settings.relay = curator::RelaySettings{.relay_key = RelayKey().public_key(),
                                               .min_batch = min_batch,
                                               .dishonest_millionths = 100'000,
                                               .delta_atto = curator::kDefaultRelayDeltaAtto};
  return spec;
}

// Reports come in units, so that most tests need few: four units are the smallest batch. A study
// that is loaded again has at least the smallest batch that a request may ask for.
class BatchTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kLargeUnit = kLeastMinBatch / 4;

  explicit BatchTest(uint32_t unit = 1) : unit_(unit) {}

  void SetUp() override {
    Reopen(store_);
    ASSERT_OK(studies_->Create(RelayedSpec("one", 4 * unit_)));
  }

  void Reopen(storage::Store& store) {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(
                                       store, models_, [this] { return now_; }, limits_));
  }

  Manifest ManifestNow(const std::string& study = "one") {
    return *ReadManifest(studies_->MakeOffer(study, 1)->manifest->bytes);
  }

  // A batch of devices that answer honestly.
  SealedBatch HonestBatch(uint8_t epoch, uint32_t units, const std::string& study = "one") {
    std::vector<std::pair<std::string, std::string>> payloads;
    const curator::StudyInfo info = *studies_->Get(study);
    for (uint32_t left = units * unit_; left > 0; left -= std::min(left, uint32_t{1000})) {
      for (const SubmittedReport& report :
           HonestReports(*studies_, info, std::min(left, uint32_t{1000}))) {
        payloads.emplace_back(report.ticket, report.payload);
      }
    }
    return MakeBatch(ManifestNow(study), epoch, RelayKey(), payloads);
  }

  StatusOr<curator::BatchProgress> DeliverPart(const SealedBatch& batch, uint64_t first_unit,
                                               size_t units, const std::string& study = "one") {
    const uint64_t first = first_unit * unit_;
    const SealedBatch::Columns part = batch.Part(first, units * unit_);
    return studies_->DeliverBatch(study, {.header = batch.header_bytes,
                                          .signature = batch.signature,
                                          .first_report = first,
                                          .tickets = part.tickets,
                                          .encapsulated = part.encapsulated,
                                          .ciphertexts = part.ciphertexts});
  }
  StatusOr<curator::BatchProgress> Ask(const SealedBatch& batch) {
    return DeliverPart(batch, 0, 0);
  }
  StatusOr<curator::BatchProgress> Deliver(const SealedBatch& batch, size_t units = 4,
                                           const std::string& study = "one") {
    StatusOr<curator::BatchProgress> progress = DeliverPart(batch, 0, 0, study);
    while (progress.ok() && progress->state == curator::BatchState::kReceiving) {
      progress = DeliverPart(batch, progress->received / unit_, units, study);
    }
    return progress;
  }

  // Waits until no report waits to be opened, and returns the study as it is then.
  curator::StudyInfo AwaitCounted(const std::string& study = "one") {
    curator::StudyInfo info;
    EXPECT_TRUE(Eventually([&] {
      info = *studies_->Get(study);
      return info.relay->batches.waiting == 0;
    })) << info.relay->batches.waiting
        << " reports are never opened";
    return info;
  }

  size_t RecordsUnder(std::string_view prefix) { return RecordsUnder(store_, prefix); }
  static size_t RecordsUnder(const storage::Store& store, std::string_view prefix) {
    size_t records = 0;
    EXPECT_OK(store.Scan(prefix, [&](std::string_view, std::string_view) {
      ++records;
      return OkStatus();
    }));
    return records;
  }

  const uint32_t unit_;
  int64_t now_ = 1000;
  curator::StudiesLimits limits_;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<curator::Studies> studies_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_CURATOR_BATCH_FIXTURE_H_
