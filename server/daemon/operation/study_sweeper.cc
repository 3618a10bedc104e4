#include "server/daemon/operation/study_sweeper.h"

#include <string>

#include "absl/status/status.h"

namespace coppice::daemon {

StudySweeper::StudySweeper(curator::Studies& studies, const Log& log, absl::Duration period)
    : studies_(studies), log_(log), period_(period), thread_([this] { Run(); }) {}

StudySweeper::~StudySweeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StudySweeper::Run() {
  bool failing = false;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const absl::Status status = studies_.Sweep();
    if (!status.ok() && !failing) {
      log_.Error("sweep failed", {{"reason", std::string(status.message())}});
    }
    if (status.ok() && failing) log_.Info("sweep works again");
    failing = !status.ok();
    lock.lock();
    changed_.wait_for(lock, absl::ToChronoNanoseconds(period_), [this] { return stopping_; });
  }
}

}  // namespace coppice::daemon
