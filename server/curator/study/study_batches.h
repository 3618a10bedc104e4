// A relayed study's records of its relay's batches, without the reports.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"
#include "common/terms/signature.h"
#include "server/curator/study/study_info.h"
#include "server/store/store.h"

namespace coppice::curator {

// A batch and its progress.
struct RelayBatch {
  Sha256Digest id{};  // of the header's bytes
  BatchHeader header{};
  Signature signature{};
  BatchState state = BatchState::kReceiving;
  uint64_t received = 0;  // reports that are on disk, or were until they were judged
  uint64_t judged = 0;    // of these, opened, judged and removed from the spool
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // of the judged, by ReportOutcome
  int64_t created_unix_seconds = 0;                     // when its first part arrived
  // The last report's ticket. Not stored, so a loaded batch must look it up.
  std::optional<std::string> last_ticket{};

  // Nobody sends the rest: the study was sealed before the whole batch had arrived.
  bool is_dropped() const { return state == BatchState::kBroken && received < header.reports; }
  // Reports in the spool. A broken batch's unjudged reports are dropped.
  uint64_t waiting() const { return state == BatchState::kBroken ? 0 : received - judged; }
  // Reports that the spool keeps room for: those waiting and those still to come.
  uint64_t reserved() const { return state == BatchState::kBroken ? 0 : header.reports - judged; }
};

// The record that remains of an incomplete batch after its reports are dropped.
RelayBatch Dropped(RelayBatch batch);

std::string EncodeBatch(const RelayBatch& batch);
// DataLoss, naming the key, if the record does not parse, belongs elsewhere or does not add up.
StatusOr<RelayBatch> DecodeBatch(std::string_view study, std::string_view key,
                                 std::string_view bytes);

// The batches of one study.
//
// Guarantee  There is one batch per deal. Memory follows the store: call Set() after the changed
//            batch is stored.
// Threads    safe to share; one thread at a time changes a batch, and one at a time adds any.
//            receiving() comes first: its holder may wait for the committer (intake.h), but neither
//            the committer nor a thread that counts reports may take it.
// Units      About 400 bytes per batch, of which there are at most kMaxBatches.
class StudyBatches {
 public:
  static constexpr size_t kMaxBatches = 65536;
  static constexpr size_t kMaxReceiving = 16;

  // Reads the stored batches. DataLoss as DecodeBatch(), and for two batches of one deal.
  Status Load(const storage::Store& store, std::string_view study);

  // Adds the batch, or replaces the one of its deal.
  void Set(const RelayBatch& batch);
  // Replaces the batch of its deal; does nothing if the study has forgotten it meanwhile.
  void Replace(const RelayBatch& batch);
  // Removes these batches.
  void Forget(absl::Span<const RelayBatch> batches);

  // The batch of a deal; each deal has at most one.
  std::optional<RelayBatch> OfEpoch(const EpochId& epoch) const;
  std::vector<RelayBatch> InState(BatchState state) const;  // in the order of their first parts
  size_t size() const;

  // The next four take no longer if there are more batches.
  // Totals of all batches, and the `newest` ones.
  BatchSummary Summary(size_t newest) const;
  // Reports in the spool.
  uint64_t waiting() const;
  // Reports that the spool keeps room for.
  uint64_t reserved() const;
  // Whether there are complete batches that are not fully counted.
  bool has_stored() const;

  // Held while a part of a batch is stored, and by callers that must exclude that. Devices and
  // operators wait for the holder, so a relay's call only tries to take it and reads no whole batch
  // while holding it.
  Mutex& receiving() { return receiving_; }

  // Claims the check of the root of the deal's batch. False while another call has it.
  bool BeginCheck(const EpochId& epoch);
  void EndCheck(const EpochId& epoch);

 private:
  // What all batches add up to.
  struct Totals {
    BatchSummary summary{};  // without the newest
    uint64_t reserved = 0;
    uint64_t stored = 0;  // batches

    void Add(const RelayBatch& batch);
    // Takes back sums. Minima stay, so the batch's must not rise.
    void Subtract(const RelayBatch& batch);
  };

  void Exchange(RelayBatch& place, const RelayBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddUpAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex receiving_;
  mutable Mutex mutex_;
  std::vector<RelayBatch> batches_ ABSL_GUARDED_BY(mutex_);  // in the order of their first parts
  absl::flat_hash_map<EpochId, size_t> of_epoch_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<EpochId> in_check_ ABSL_GUARDED_BY(mutex_);
  Totals totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_
