// Watches whether acknowledged writes would be lost with the store's database server.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_
#define COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_

#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/process/log.h"

namespace coppice::daemon {

// Guarantee  A raised alarm stays until a check finds it over. A check that fails for another
//            reason changes nothing.
// Errors     Logs a warning when the alarm is raised: event "no synchronous standby".
// Threads    one of its own, for its lifetime. Raised() may be called from any thread.
class StandbyAlarm {
 public:
  // `look` comes from storage::MakeStandbyCheck(). `log` must outlive the alarm.
  StandbyAlarm(std::function<Status()> look, const Log& log,
               absl::Duration period = absl::Seconds(10));
  ~StandbyAlarm();
  StandbyAlarm(const StandbyAlarm&) = delete;
  StandbyAlarm& operator=(const StandbyAlarm&) = delete;

  // Nullopt before the first check.
  std::optional<bool> Raised() const;

 private:
  void Run();
  void Judge(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<Status()> look_;
  const Log& log_;
  const absl::Duration period_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> raised_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: starts after all other members
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_
