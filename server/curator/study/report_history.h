// How many reports of a study met which outcome, over the time since the daemon loaded it.

#ifndef COPPICE_SERVER_CURATOR_STUDY_REPORT_HISTORY_H_
#define COPPICE_SERVER_CURATOR_STUDY_REPORT_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "server/curator/study/study_info.h"

namespace coppice::curator {

// The reports of equal steps of time, in order and without gaps; the last step is not over.
struct ReportSteps {
  struct Step {
    int64_t begin_unix_seconds = 0;
    std::array<uint64_t, kNumReportOutcomes> outcomes{};  // by ReportOutcome
  };
  uint32_t step_seconds = 0;
  std::vector<Step> steps;
};

// Counts reports by the step of time in which they were answered, in memory alone.
//
// Guarantee  shows what somebody who asked for the study's counts at the end of every step would
//            know, and no more. Holds at most kMaxSteps steps, in about 50 kB, and nothing for
//            steps without reports. When a step more is needed, neighbours are merged and the steps
//            become twice as long, so that no report is forgotten.
// Threads    safe to share.
// Units      steady seconds are those of a clock that is never set; they say which step it is. The
//            wall clock only names the steps when they are read, so that setting it back or forth
//            moves all of them together.
class ReportHistory {
 public:
  static constexpr uint32_t kMaxSteps = 512;
  static constexpr uint32_t kFirstStepSeconds = 10;

  explicit ReportHistory(int64_t steady_seconds) : begun_(steady_seconds) {}

  // Called once per group of reports that was committed, with what it adds.
  void Add(const std::array<uint64_t, kNumReportOutcomes>& outcomes, int64_t steady_seconds);

  ReportSteps Read(int64_t steady_seconds, int64_t unix_seconds);

 private:
  struct Step {
    uint32_t index = 0;
    std::array<uint64_t, kNumReportOutcomes> outcomes{};
  };

  // Returns the step of this moment, never one before the last; lengthens the steps if need be.
  uint32_t StepAt(int64_t steady_seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MergeNeighbours() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t begun_;
  Mutex mutex_;
  uint32_t step_seconds_ ABSL_GUARDED_BY(mutex_) = kFirstStepSeconds;
  std::vector<Step> steps_ ABSL_GUARDED_BY(mutex_);         // those with reports, by index
  int64_t begun_unix_seconds_ ABSL_GUARDED_BY(mutex_) = 0;  // as the last reader was told
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_REPORT_HISTORY_H_
