// At most so many reports of a study in one second of the clock.
//
// Threads  safe to share.

#ifndef COPPICE_SERVER_CURATOR_STUDY_REPORT_RATE_H_
#define COPPICE_SERVER_CURATOR_STUDY_REPORT_RATE_H_

#include <cstdint>

#include "common/base/mutex.h"

namespace coppice::curator {

class ReportRate {
 public:
  // Takes all of `reports`, or none. Every second begins anew, also one that comes again because
  // the clock was set back.
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
  int64_t second_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_REPORT_RATE_H_
