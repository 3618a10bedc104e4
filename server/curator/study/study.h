// One study in memory: its fixed definition and the progress of its reports.

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
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/terms.h"
#include "common/wire/proto/packed_forest.h"
#include "server/curator/form/study_form.h"
#include "server/curator/inspection/alarms.h"
#include "server/curator/keys/join_id.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/report_history.h"
#include "server/curator/study/study_batches.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_life.h"

namespace coppice::curator {

// The part of a study that is fixed when it is made.
struct StudyDefinition {
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const std::string> terms_bytes;
  std::shared_ptr<const Forest> forest;
  std::shared_ptr<const PackedForest> packed_forest;  // as devices fetch it
  Fingerprint fingerprint{};
  std::shared_ptr<const StudyForm> form;  // of its reports
  PartitionOptions partition;
  int64_t created_unix_seconds = 0;
  std::string choice;  // see StudyInfo
  uint64_t public_rows = 0;
  StudySettings settings{};
  std::string request_id;
  std::string request_hash;  // SHA-256 of the request's content
  std::string owner{};       // as in StudySpec
};

// Makes the definition from the terms' bytes, the forest and how it was made; the caller fills in
// the rest. InvalidArgument if the terms are not valid or need more than kMaxSums sums, or if the
// trees do not begin with the values that `partition` names; DataLoss if the forest is not the one
// that the terms stand for.
inline constexpr uint64_t kMaxSums = uint64_t{1} << 26;
StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed,
                                              PartitionOptions partition);

using Outcomes = std::array<uint64_t, kNumReportOutcomes>;

// The number of answered reports, by two counts that must agree, and of failed ones.
struct Counts {
  Outcomes outcomes{};    // by ReportOutcome, counted one by one
  uint64_t answered = 0;  // counted by the sizes of their batches
  uint64_t failed = 0;    // in batches that failed as a whole; counted nowhere else, not stored

  uint64_t of(ReportOutcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
  uint64_t Sum() const;  // over all outcomes
  Counts operator+(const Counts& more) const;
};
struct StudyProgress {
  StudyLife life;
  bool deleted = false;
  std::vector<SharedSums> sums;  // one per tree
  Counts counts;
};

// The progress of a study that has received no report.
StudyProgress NoProgress(const StudyDefinition& definition);

// A study: its definition, its progress, and the tickets that it has counted.
//
// Guarantee  The result of one Progress() call is consistent: it is the state after one group of
//            reports was committed and before the next.
// Threads    safe to share. Only the committer changes it (intake.h).
class Study {
 public:
  Study(StudyDefinition definition, StudyProgress progress, SpentTickets spent = {});

  const StudyDefinition& definition() const { return definition_; }
  const std::string& id() const { return definition_.terms->study; }
  const StudyForm& form() const { return *definition_.form; }
  uint32_t num_trees() const { return form().num_trees(); }

  // Returns kAccepted if the study takes reports, else the reason for rejection. Ignores the clock:
  // a study that IsOver() must be sealed durably before anyone hears of it, so that setting the
  // clock back cannot reopen it.
  ReportOutcome AdmissionOutcome() const;
  // The same for reports that were stored before they were judged: only a deleted or retired study
  // rejects them.
  ReportOutcome AdmissionOfStored() const;
  // FailedPrecondition if the study is sealed, or joined by ids and without features of any id:
  // devices would spend their epsilon on reports that the study rejects. InvalidArgument unless
  // there is one submission token per ticket if the study requires them, else none.
  Status CheckGivesTickets(size_t tickets, size_t tokens) const;
  // Whether the study's time is over.
  bool IsOver(int64_t now_unix_seconds) const;
  // Whether its retention is over and the retained data is still there.
  bool IsDueToRetire(int64_t now_unix_seconds) const;
  StudyLife Life() const;
  // The life that follows when IsOver().
  StudyLife LifeOnceOver() const;
  // Whether its sums grow no more: it is sealed, and no report of its relay waits. Ask before
  // reading the sums.
  bool SumsAreFinal() const;
  SharedSums SumsOf(uint32_t tree) const;
  Counts CountsSoFar() const;
  StudyProgress Progress() const;
  StudyInfo Info() const;
  // Computes the alarms of the current sums; none below the minimum of reports. Costs as much as an
  // estimate (alarms.h). Holds no lock meanwhile.
  std::vector<Alarm> Alarms() const;
  // Computes the alarms if a look is due (studies.h); Info() shows them from then on. Must be
  // called by one thread at a time.
  void LookForAlarms();

  // Counts reports at intake; all other counts are made when reports are answered.
  void AddReceived(size_t reports) { received_.fetch_add(reports, std::memory_order_relaxed); }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

  // Replaces the sums of each tree whose entry in `sums` is not null, and adds to the counts and
  // the history.
  void Publish(std::vector<SharedSums> sums, const Counts& counts);
  // The reports since this object was made, in steps that the wall clock names.
  ReportSteps ReportsOverTime(int64_t now_unix_seconds);
  // The sealing keys of a study with a relay. Null for other studies, and after the retention.
  std::shared_ptr<const SealingKeys> sealing_keys() const;
  // Called after the keys are stored.
  void SetSealingKeys(SealingKeys keys);
  // What the curator tells devices of the study under its signature, except the key that signs. All
  // of it is fixed when the study is made, except the sealing key, which sets the sequence.
  Manifest MakeManifest() const;

  // The batches of its relay; empty if reports come directly from devices.
  StudyBatches& batches() { return batches_; }
  const StudyBatches& batches() const { return batches_; }
  // FailedPrecondition while the study is sealed and some of its reports wait to be opened: its
  // counts are neither final nor still open.
  Status CheckNoneWaits() const;

  // Moves on to the next life, which must be stored. A sealed study drops its spent tickets, unless
  // a batch still needs them, and its answered ids; a retired one its sums, the number of joined
  // rows and its sealing keys.
  void Advance(StudyLife life);
  void MarkDeleted();

  // The number of ids with features, in a study that is joined by ids.
  uint64_t join_rows() const { return join_rows_.load(std::memory_order_relaxed); }
  void SetJoinRows(uint64_t rows) { join_rows_.store(rows, std::memory_order_relaxed); }

  // Only the committer may use the next five. The tickets counted so far:
  SpentTickets& spent() { return spent_; }
  // Drops the spent tickets of a sealed study whose last batch is counted.
  void DropSpentOnceCounted();
  // The ids counted so far in a study that is joined by ids: 17 bytes each, in a table at least
  // 7/16 full. Empty in a sealed study.
  absl::flat_hash_set<JoinId>& answered_ids() { return answered_ids_; }
  // A group could not be stored, and the store may hold effects of it that memory lacks: the next
  // group must write everything about this study again.
  bool store_is_behind = false;
  // Some rejections are counted in memory and not in the store.
  bool counts_are_behind = false;

 private:
  std::vector<Alarm> AlarmsOf(const StudyProgress& progress) const;
  std::optional<StudyRelayInfo> RelayInfo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StudyDefinition definition_;
  mutable Mutex mutex_;
  StudyProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::vector<Alarm>> last_alarms_ ABSL_GUARDED_BY(mutex_);
  bool last_look_was_final_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const SealingKeys> sealing_keys_ ABSL_GUARDED_BY(mutex_);
  // The state at the last look; only LookForAlarms() uses it.
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
