// One study in memory: what is fixed when it is made, and what its reports have come to.
//
// Guarantee  what one call of Progress() returns belongs together: it is the state after some group
//            of reports was committed, and before the next.
// Threads    safe to share. Only the committer changes it (see intake.h).

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/ldp/local_mechanism.h"
#include "common/study/terms.h"
#include "common/wire/packed_forest.h"
#include "server/curator/estimation/alarms.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/report_rate.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_life.h"

namespace coppice::curator {

struct StudyDefinition {
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const std::string> terms_bytes;
  std::shared_ptr<const Forest> forest;
  std::shared_ptr<const PackedForest> packed_forest;  // as devices get it
  Fingerprint fingerprint{};
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;  // one a tree
  int64_t created_unix_seconds = 0;
  PartitionOptions partition;
  std::string choice;  // see StudyInfo
  uint64_t public_rows = 0;
  StudySettings settings{};
  std::string request_id;
  std::string request_hash;  // SHA-256 of what the request asked for
};

// The definition that follows from the terms' bytes and the forest; the rest is left to fill in.
// InvalidArgument if they are no valid terms, or their sums would take more than kMaxSums integers;
// DataLoss if the forest is another one than the terms'.
inline constexpr uint64_t kMaxSums = uint64_t{1} << 26;
absl::StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed);

using Outcomes = std::array<uint64_t, kNumReportOutcomes>;

// How many reports were answered, by two counts that must agree, and how many were not.
struct Counts {
  Outcomes outcomes{};    // by ReportOutcome, one at a time
  uint64_t answered = 0;  // by the sizes of the batches they came in
  uint64_t failed = 0;    // their batch failed as a whole, so none of them counts; not stored

  uint64_t of(ReportOutcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
  uint64_t Sum() const;  // of all outcomes
  Counts operator+(const Counts& more) const;
};
using SharedSums = std::shared_ptr<const TreeSums>;

struct StudyProgress {
  StudyLife life;
  bool deleted = false;
  std::vector<SharedSums> sums;  // one a tree
  Counts counts;
};

// Of a study that has had no report yet.
StudyProgress NoProgress(const StudyDefinition& definition);

class Study {
 public:
  Study(StudyDefinition definition, StudyProgress progress, SpentTickets spent = {});

  const StudyDefinition& definition() const { return definition_; }
  const std::string& id() const { return definition_.terms->study; }
  uint32_t num_trees() const { return static_cast<uint32_t>(definition_.mechanisms.size()); }

  // What speaks against every report of this study by its state; kAccepted if nothing does. Its
  // time may be over all the same: once that is noticed, it is to be sealed before anybody hears of
  // it, lest a clock that is set back opens it again.
  ReportOutcome AdmissionOutcome() const;
  bool IsOver(int64_t now_unix_seconds) const;
  bool IsToRetire(int64_t now_unix_seconds) const;
  StudyLife Life() const;
  SharedSums SumsOf(uint32_t tree) const;
  Counts CountsSoFar() const;
  StudyProgress Progress() const;
  StudyInfo Info() const;
  // Of the sums as they are now, if there are enough reports; see alarms.h for what it costs. Holds
  // no lock while it computes.
  std::vector<Alarm> Alarms() const;
  // Computes them if a look is due (studies.h), and shows them in Info() from then on. One at a
  // time.
  void LookForAlarms();

  // At the entrance: that so many reports were taken in. All else is counted when they are
  // answered.
  void AddReceived(size_t reports) { received_.fetch_add(reports, std::memory_order_relaxed); }
  ReportRate& rate() { return rate_; }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

  // Replaces the sums of the trees where `sums` is not null, and adds to the counts.
  void Publish(std::vector<SharedSums> sums, const Counts& counts);
  // To the next life (study_life.h), once that is stored. One that is sealed keeps no spent
  // tickets, one that is retired no sums.
  void Advance(StudyLife life);
  void MarkDeleted();

  // The tickets counted so far. For the committer only, as is the next.
  SpentTickets& spent() { return spent_; }
  // A group failed to be stored, and the store may hold a part of its effects that memory does not:
  // the next group must write everything of this study again.
  bool store_is_behind = false;
  // Rejections were counted that are not in the store.
  bool counts_are_behind = false;

 private:
  std::vector<Alarm> AlarmsOf(const StudyProgress& progress) const;

  const StudyDefinition definition_;
  mutable Mutex mutex_;
  StudyProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::vector<Alarm>> last_alarms_ ABSL_GUARDED_BY(mutex_);
  // Of LookForAlarms() alone: what the last look saw.
  uint64_t looked_at_reports_ = 0;
  bool looked_at_end_ = false;
  std::atomic<uint64_t> received_;
  ReportRate rate_;
  SpentTickets spent_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
