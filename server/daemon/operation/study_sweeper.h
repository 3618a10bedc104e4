// Calls a sweep every second, for what is due by the clock (Studies::Sweep).

#ifndef COPPICE_SERVER_DAEMON_OPERATION_STUDY_SWEEPER_H_
#define COPPICE_SERVER_DAEMON_OPERATION_STUDY_SWEEPER_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/process/log.h"

namespace coppice::daemon {

// Errors     Logged when they begin and when they end; failed sweeps are retried.
// Threads    one of its own, for its lifetime.
class StudySweeper {
 public:
  // `log`, and what `sweep` refers to, must outlive it.
  StudySweeper(std::function<Status()> sweep, const Log& log,
               absl::Duration period = absl::Seconds(1));
  ~StudySweeper();
  StudySweeper(const StudySweeper&) = delete;
  StudySweeper& operator=(const StudySweeper&) = delete;

 private:
  void Run();

  const std::function<Status()> sweep_;
  const Log& log_;
  const absl::Duration period_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts after all other members
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_STUDY_SWEEPER_H_
