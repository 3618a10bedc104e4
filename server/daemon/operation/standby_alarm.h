// Whether what the store acknowledges would be lost with its database server.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_
#define COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_

#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/process/log.h"

namespace coppice::daemon {

// Guarantee  an alarm that is raised stays until a look finds that it is over. A look that fails
//            for another reason changes nothing.
// Errors     a warning in the log when the alarm is raised: event "no synchronous standby".
// Threads    one of its own, from when it is made until it goes. Raised() from any.
class StandbyAlarm {
 public:
  // `look` is what storage::MakeStandbyCheck() makes. `log` must outlive this.
  StandbyAlarm(std::function<absl::Status()> look, const Log& log,
               absl::Duration period = absl::Seconds(10));
  ~StandbyAlarm();
  StandbyAlarm(const StandbyAlarm&) = delete;
  StandbyAlarm& operator=(const StandbyAlarm&) = delete;

  // Nullopt before the first look.
  std::optional<bool> Raised() const;

 private:
  void Run();
  void Judge(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Status()> look_;
  const Log& log_;
  const absl::Duration period_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> raised_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_STANDBY_ALARM_H_
