// What a relayed study has of its relay's batches, besides their reports.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/study/relay_promise.h"
#include "common/study/sha256.h"
#include "common/study/signature.h"
#include "server/curator/study/study_info.h"
#include "server/storage/store.h"

namespace coppice::curator {

// A batch, and how far it has come.
struct RelayBatch {
  Sha256Digest id{};  // of the header's bytes
  BatchHeader header{};
  Signature signature{};
  BatchState state = BatchState::kReceiving;
  uint64_t received = 0;  // reports that are on disk, or were before they were judged
  uint64_t judged = 0;    // of these, that are opened, judged and out of the spool
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // those, by ReportOutcome
  int64_t created_unix_seconds = 0;                     // when its first part came
  // Of the last report received. Not stored: a batch that was loaded has none, and looks it up.
  std::optional<std::string> last_ticket{};

  // Nobody sends the rest of it any more: the study was sealed before it had come as a whole.
  bool is_dropped() const { return state == BatchState::kBroken && received < header.reports; }
  // In the spool. What is not judged of a broken batch is dropped.
  uint64_t waiting() const { return state == BatchState::kBroken ? 0 : received - judged; }
  // That the spool has room for: those, and those that are to come.
  uint64_t reserved() const { return state == BatchState::kBroken ? 0 : header.reports - judged; }
};

// What is left of a batch that had not come as a whole once its reports are dropped.
RelayBatch Dropped(RelayBatch batch);

std::string EncodeBatch(const RelayBatch& batch);
// DataLoss, naming the key, if it does not parse, belongs elsewhere or does not add up.
absl::StatusOr<RelayBatch> DecodeBatch(absl::string_view study, absl::string_view key,
                                       absl::string_view bytes);

// The batches of one study.
//
// Guarantee  there is one batch a deal. Memory follows the store: whoever changes a batch calls
//            Set() once that is stored.
// Threads    safe to share; one thread at a time changes a batch, and one at a time adds any.
//            receiving() comes first: its holder may wait for the committer (intake.h), but neither
//            the committer nor who counts reports may take it.
// Units      some 400 bytes a batch, and there are at most kMaxBatches.
class StudyBatches {
 public:
  static constexpr size_t kMaxBatches = 65536;
  static constexpr size_t kMaxReceiving = 16;

  // Reads what the store has. DataLoss as DecodeBatch(), and for two batches of one deal.
  absl::Status Load(const storage::Store& store, absl::string_view study);

  // Adds the batch, or replaces the one of its deal.
  void Set(const RelayBatch& batch);
  // The same, but adds nothing: the study may have forgotten the batch meanwhile.
  void Replace(const RelayBatch& batch);
  // Forgets these.
  void Forget(absl::Span<const RelayBatch> batches);

  // At most one comes of a deal.
  std::optional<RelayBatch> OfEpoch(const EpochId& epoch) const;
  std::vector<RelayBatch> InState(BatchState state) const;  // in the order of their first parts
  size_t size() const;

  // In totals, with at most `newest` batches.
  BatchSummary Summary(size_t newest) const;
  // Reports in the spool.
  uint64_t waiting() const;
  // Reports that the spool has room for. Costs the same however many batches there are.
  uint64_t reserved() const;
  // Whether batches have come as a whole and are not counted as a whole.
  bool has_stored() const;

  // Held while a part of a batch is stored, and by who must not find one being stored. Devices and
  // operators wait for its holder, so a relay's call only tries to take it, and reads no batch as a
  // whole while it holds it.
  Mutex& receiving() { return receiving_; }

  // Whether this call checks the root of the deal's batch from now on: false while another does.
  bool BeginCheck(const EpochId& epoch);
  void EndCheck(const EpochId& epoch);

 private:
  Mutex receiving_;
  void Exchange(RelayBatch& place, const RelayBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<RelayBatch> batches_ ABSL_GUARDED_BY(mutex_);  // in the order of their first parts
  absl::flat_hash_map<EpochId, size_t> of_epoch_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<EpochId> in_check_ ABSL_GUARDED_BY(mutex_);
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_BATCHES_H_
