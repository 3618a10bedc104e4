// One study in memory: what is fixed when it is made, and what its reports have come to.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/ldp/local_mechanism.h"
#include "common/study/manifest.h"
#include "common/study/terms.h"
#include "common/wire/packed_forest.h"
#include "server/curator/estimation/consistent_counts.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/inspection/alarms.h"
#include "server/curator/keys/join_id.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/partition/by_value.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/report_history.h"
#include "server/curator/study/study_batches.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_life.h"

namespace coppice::curator {

// What is fixed when a study is made.
struct StudyDefinition {
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const std::string> terms_bytes;
  std::shared_ptr<const Forest> forest;
  std::shared_ptr<const PackedForest> packed_forest;  // as devices fetch it
  Fingerprint fingerprint{};
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;  // one per tree
  std::vector<ConsistentCounter> counters{};  // one per tree where features are public, else none
  PartitionOptions partition;
  // What models are estimated on: the forest or, where it is by a feature, what stands behind the
  // values (partition/by_value.h), with counters of its own.
  std::shared_ptr<const Forest> model_forest;
  std::vector<ConsistentCounter> counters_behind_values{};
  int64_t created_unix_seconds = 0;
  std::string choice;  // see StudyInfo
  uint64_t public_rows = 0;
  StudySettings settings{};
  std::string request_id;
  std::string request_hash;  // SHA-256 of what the request asked for
  std::string owner{};       // as in StudySpec
};

// Makes the definition that follows from the terms' bytes, the forest and how it was made; the
// caller fills in the rest. InvalidArgument if the terms are not valid or need more than kMaxSums
// sums, or if the trees do not begin with the values that `partition` says; DataLoss if the forest
// is not the one that the terms stand for.
inline constexpr uint64_t kMaxSums = uint64_t{1} << 26;
absl::StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed,
                                                    PartitionOptions partition);

// How many sums a tree of the study has.
size_t SumSize(const StudyDefinition& definition, size_t tree);

using Outcomes = std::array<uint64_t, kNumReportOutcomes>;

// How many reports were answered, by two counts that must agree, and how many failed.
struct Counts {
  Outcomes outcomes{};    // by ReportOutcome, counted one by one
  uint64_t answered = 0;  // counted by the sizes of their batches
  uint64_t failed = 0;    // in batches that failed as a whole and count nowhere else; not stored

  uint64_t of(ReportOutcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
  uint64_t Sum() const;  // over all outcomes
  Counts operator+(const Counts& more) const;
};
using SharedSums = std::shared_ptr<const TreeSums>;

// The counter of one tree of the model forest, where features are public; and what the tree's sums
// are by it, of all reports or of those with one value of the feature that the study is by.
const ConsistentCounter& ModelCounter(const StudyDefinition& definition, size_t tree);
SharedSums ModelSums(const StudyDefinition& definition, size_t tree, const SharedSums& sums,
                     const std::optional<EncodedValue>& where = std::nullopt);

struct StudyProgress {
  StudyLife life;
  bool deleted = false;
  std::vector<SharedSums> sums;  // one per tree
  Counts counts;
};

// The progress of a study that has received no report.
StudyProgress NoProgress(const StudyDefinition& definition);

// Limits the reports of a study per second of the clock.
//
// Threads  safe to share.
class ReportRate {
 public:
  // Takes all of `reports`, or none. A second that comes again because the clock was set back
  // starts from zero, as every second does.
  bool Take(uint64_t reports, uint64_t limit, int64_t unix_seconds) {
    const MutexLock lock(mutex_);
    if (unix_seconds != second_) taken_ = 0;
    second_ = unix_seconds;
    if (reports > limit || taken_ > limit - reports) return false;
    taken_ += reports;
    return true;
  }

 private:
  Mutex mutex_;
  int64_t second_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A study: its definition, its progress, and the tickets that it has counted.
//
// Guarantee  What one call of Progress() returns belongs together: it is the state after one group
//            of reports was committed and before the next.
// Threads    safe to share. Only the committer changes it (intake.h).
class Study {
 public:
  Study(StudyDefinition definition, StudyProgress progress, SpentTickets spent = {});

  const StudyDefinition& definition() const { return definition_; }
  const std::string& id() const { return definition_.terms->study; }
  uint32_t num_trees() const { return static_cast<uint32_t>(definition_.mechanisms.size()); }

  // Returns kAccepted if the study takes reports, else the reason for rejection. It does not look
  // at the clock: a study that IsOver() must be sealed durably before anyone hears that it is, so
  // that setting the clock back cannot reopen it.
  ReportOutcome AdmissionOutcome() const;
  // The same for reports that were stored before they were judged: only a study that is deleted or
  // retired rejects them.
  ReportOutcome AdmissionOfStored() const;
  // FailedPrecondition once the study is sealed, and before it has features of any id where it is
  // joined by ids: its devices would spend their epsilon on reports that it refuses.
  // InvalidArgument unless there is one submission token a ticket where it asks for them, and none
  // where it does not.
  absl::Status CheckGivesTickets(size_t tickets, size_t tokens) const;
  // Whether the time that the study was given is over.
  bool IsOver(int64_t now_unix_seconds) const;
  // Whether its retention is over, and what was retained is still there.
  bool IsDueToRetire(int64_t now_unix_seconds) const;
  StudyLife Life() const;
  // The life that follows once IsOver().
  StudyLife LifeOnceOver() const;
  SharedSums SumsOf(uint32_t tree) const;
  Counts CountsSoFar() const;
  StudyProgress Progress() const;
  StudyInfo Info() const;
  // Computes the alarms of the current sums; none below the minimum of reports. Costs as much as an
  // estimate (alarms.h), and holds no lock meanwhile.
  std::vector<Alarm> Alarms() const;
  // Computes them if a look is due (studies.h), and shows them in Info() from then on. One thread
  // at a time.
  void LookForAlarms();

  // Counts reports as they are taken in; everything else is counted when they are answered.
  void AddReceived(size_t reports) { received_.fetch_add(reports, std::memory_order_relaxed); }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

  // Replaces the sums of each tree where `sums` is not null, and adds to the counts and the
  // history.
  void Publish(std::vector<SharedSums> sums, const Counts& counts);
  // The reports over the time since this was made, in steps that the wall clock names.
  ReportSteps ReportsOverTime(int64_t now_unix_seconds);
  // Its sealing keys, where reports come through a relay; null elsewhere, and once its retention is
  // over.
  std::shared_ptr<const SealingKeys> sealing_keys() const;
  // Once they are stored.
  void SetSealingKeys(SealingKeys keys);
  // What devices are told of the study under the curator's signature, but for the key that signs.
  // All of it is fixed when the study is made but for the sealing key, which makes the sequence.
  Manifest MakeManifest() const;

  // Its relay's batches; there are none where reports come from devices themselves.
  StudyBatches& batches() { return batches_; }
  const StudyBatches& batches() const { return batches_; }
  // FailedPrecondition while the study is sealed and some of its reports wait to be opened: what it
  // has counted is neither all of it nor still open.
  absl::Status CheckNoneWaits() const;

  // Goes on to the next life once that is stored. A sealed study drops its spent tickets, unless a
  // batch needs them yet, and its answered ids, a retired one its sums, the number of joined rows
  // and its sealing keys.
  void Advance(StudyLife life);
  void MarkDeleted();

  // How many ids it has features of, where it is joined by them.
  uint64_t join_rows() const { return join_rows_.load(std::memory_order_relaxed); }
  void SetJoinRows(uint64_t rows) { join_rows_.store(rows, std::memory_order_relaxed); }

  // The next five belong to the committer alone. The tickets counted so far:
  SpentTickets& spent() { return spent_; }
  // Of a sealed study whose last batch is counted.
  void DropSpentOnceCounted();
  // The ids counted so far, where it is joined by them: 17 bytes each, in a table at least 7/16
  // full. A sealed study has none.
  absl::flat_hash_set<JoinId>& answered_ids() { return answered_ids_; }
  // A group could not be stored, and the store may hold some of its effects that memory does not:
  // the next group must write everything about this study again.
  bool store_is_behind = false;
  // Some rejections are counted here and not in the store.
  bool counts_are_behind = false;

 private:
  std::vector<Alarm> AlarmsOf(const StudyProgress& progress) const;
  std::optional<StudyRelayInfo> RelayInfo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StudyDefinition definition_;
  mutable Mutex mutex_;
  StudyProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::vector<Alarm>> last_alarms_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const SealingKeys> sealing_keys_ ABSL_GUARDED_BY(mutex_);
  // What the last look saw; for LookForAlarms() alone.
  uint64_t looked_at_reports_ = 0;
  bool looked_at_end_ = false;
  std::atomic<uint64_t> received_;
  ReportHistory history_;
  std::atomic<uint64_t> join_rows_{0};
  StudyBatches batches_;
  SpentTickets spent_;
  absl::flat_hash_set<JoinId> answered_ids_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
