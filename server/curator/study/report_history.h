// Counts a study's reports by outcome and time, since the daemon loaded the study.

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

// The reports in equal steps of time, in order and without gaps; the last step is not over.
struct ReportSteps {
  struct Step {
    int64_t begin_unix_seconds = 0;
    std::array<uint64_t, kNumReportOutcomes> outcomes{};  // by ReportOutcome
  };
  uint32_t step_seconds = 0;
  std::vector<Step> steps;
};

// Counts reports by the step of time in which they were answered. In memory only.
//
// Guarantee  Shows no more than somebody would know who asked for the study's counts at the end of
//            each step. Holds at most kMaxSteps steps in about 50 kB, and nothing for steps without
//            reports. When more are needed, neighbours are merged and steps become twice as long,
//            so no report is forgotten.
// Threads    safe to share.
// Units      Steady seconds are those of a clock that is never set; they determine the step. The
//            wall clock only names the steps when they are read, so setting it moves all of them
//            together.
class ReportHistory {
 public:
  static constexpr uint32_t kMaxSteps = 512;
  static constexpr uint32_t kFirstStepSeconds = 10;

  explicit ReportHistory(int64_t steady_seconds) : begun_(steady_seconds) {}

  // Called once per committed group of reports, with what the group adds.
  void Add(const std::array<uint64_t, kNumReportOutcomes>& outcomes, int64_t steady_seconds);

  ReportSteps Read(int64_t steady_seconds, int64_t unix_seconds);

 private:
  struct Step {
    uint32_t index = 0;
    std::array<uint64_t, kNumReportOutcomes> outcomes{};
  };

  // Returns the step of this moment, never one before the last; lengthens the steps if needed.
  uint32_t StepAt(int64_t steady_seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MergeNeighbours() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t begun_;
  Mutex mutex_;
  uint32_t step_seconds_ ABSL_GUARDED_BY(mutex_) = kFirstStepSeconds;
  std::vector<Step> steps_ ABSL_GUARDED_BY(mutex_);         // those with reports, by index
  int64_t begun_unix_seconds_ ABSL_GUARDED_BY(mutex_) = 0;  // as the last reader saw it
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_REPORT_HISTORY_H_
