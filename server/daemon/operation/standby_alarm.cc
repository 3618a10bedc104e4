#include "server/daemon/operation/standby_alarm.h"

#include <string>
#include <utility>

#include "common/base/status.h"

namespace coppice::daemon {

StandbyAlarm::StandbyAlarm(std::function<Status()> look, const Log& log, absl::Duration period)
    : look_(std::move(look)), log_(log), period_(period), thread_([this] { Run(); }) {}

StandbyAlarm::~StandbyAlarm() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

std::optional<bool> StandbyAlarm::Raised() const {
  const MutexLock lock(mutex_);
  return raised_;
}

void StandbyAlarm::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    mutex_.Unlock();
    const Status status = look_();
    mutex_.Lock();
    Judge(status);
    const auto next = After(period_);
    while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
}

void StandbyAlarm::Judge(const Status& status) {
  if (!status.ok() && !IsFailedPrecondition(status)) return;
  const bool was_raised = raised_.value_or(false);
  raised_ = !status.ok();
  if (*raised_ == was_raised) return;
  if (*raised_) {
    log_.Warning("no synchronous standby", {{"advice", std::string(status.message())}});
  } else {
    log_.Info("synchronous standby is there");
  }
}

}  // namespace coppice::daemon
