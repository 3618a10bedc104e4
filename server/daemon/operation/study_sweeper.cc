#include "server/daemon/operation/study_sweeper.h"

#include <string>
#include <utility>

#include "common/base/status.h"

namespace coppice::daemon {

StudySweeper::StudySweeper(std::function<Status()> sweep, const Log& log, absl::Duration period)
    : sweep_(std::move(sweep)), log_(log), period_(period), thread_([this] { Run(); }) {}

StudySweeper::~StudySweeper() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void StudySweeper::Run() {
  bool failing = false;
  const MutexLock lock(mutex_);
  while (!stopping_) {
    mutex_.Unlock();
    const Status status = sweep_();
    if (!status.ok() && !failing) {
      log_.Error("sweep failed", {{"reason", std::string(status.message())}});
    }
    if (status.ok() && failing) log_.Info("sweep works again");
    failing = !status.ok();
    mutex_.Lock();
    const auto next = After(period_);
    while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
}

}  // namespace coppice::daemon
