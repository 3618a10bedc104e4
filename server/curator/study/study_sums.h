// What a study has counted: its sums, its counts by outcome, and the alarms that follow.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_SUMS_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_SUMS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/mutex.h"
#include "server/curator/estimation/inspection/alarms.h"
#include "server/curator/form/study_form.h"
#include "server/curator/study/report_history.h"
#include "server/curator/study/study_info.h"

namespace coppice::curator {

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

// Guarantee  What one Read() returns belongs together: it is the state after one group of reports
//            was committed and before the next.
// Threads    Safe to share. Only the committer publishes and clears (intake.h), and one thread at a
//            time calls LookForAlarms(). Alarms are computed without a lock.
class StudySums {
 public:
  struct Snapshot {
    std::vector<SharedSums> sums;  // one per tree; none once they are deleted
    Counts counts;
  };

  // Below `min_reports` accepted reports there are no alarms, which tell of the mean label.
  StudySums(std::shared_ptr<const StudyForm> form, uint64_t min_reports, Snapshot progress);

  Snapshot Read() const;
  SharedSums Of(uint32_t tree) const;
  Counts counts() const;

  // Counts reports at intake; all other counts are made when reports are answered.
  void AddReceived(size_t reports) { received_.fetch_add(reports, std::memory_order_relaxed); }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

  // Replaces the sums of each tree whose entry in `sums` is not null, and adds to the counts and
  // the history.
  void Publish(std::vector<SharedSums> sums, const Counts& counts);
  // Drops the sums, whose records are deleted; the counts stay.
  void Clear();

  // The reports since this object was made, in steps that the wall clock names.
  ReportSteps ReportsOverTime(int64_t now_unix_seconds);

  // The alarms of the current sums. Costs as much as an estimate (alarms.h).
  std::vector<Alarm> Alarms() const { return AlarmsOf(Read()); }
  // Computes the alarms if a look is due (Studies::Sweep): `are_final` says whether the sums grow
  // no more, and must be asked before this call reads them.
  void LookForAlarms(bool are_final);
  struct Look {
    std::shared_ptr<const std::vector<Alarm>> alarms{};  // null before the first look
    bool was_final = false;
  };
  Look last_look() const;

 private:
  std::vector<Alarm> AlarmsOf(const Snapshot& progress) const;

  const std::shared_ptr<const StudyForm> form_;
  const uint64_t min_reports_;
  mutable Mutex mutex_;
  Snapshot progress_ ABSL_GUARDED_BY(mutex_);
  Look last_look_ ABSL_GUARDED_BY(mutex_);
  uint64_t looked_at_reports_ = 0;  // at the last look; only LookForAlarms() uses it
  std::atomic<uint64_t> received_;
  ReportHistory history_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_SUMS_H_
