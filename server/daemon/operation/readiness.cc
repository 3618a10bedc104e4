#include "server/daemon/operation/readiness.h"

#include <chrono>
#include <utility>

namespace coppice::daemon {

Readiness::Readiness(std::vector<ReadinessCheck> checks, absl::Duration period, const Log& log,
                     std::function<void(bool)> tell)
    : checks_(std::move(checks)),
      period_(period),
      log_(log),
      tell_(std::move(tell)),
      thread_([this] { Run(); }) {}

void Readiness::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(stopping_, true)) tell_(false);
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::map<std::string, bool> Readiness::Passed() const {
  const std::lock_guard lock(mutex_);
  return passed_;
}

void Readiness::Run() {
  for (;;) {
    bool ready = true;
    for (const ReadinessCheck& check : checks_) {
      const absl::Status status = check.run();
      ready &= status.ok();
      Judge(check.name, status);
    }
    std::unique_lock lock(mutex_);
    // Under the lock, so that what Stop() told stays the last word.
    if (stopping_) return;
    tell_(ready);
    if (stopped_.wait_for(lock, absl::ToChronoNanoseconds(period_), [this] { return stopping_; })) {
      return;
    }
  }
}

void Readiness::Judge(const std::string& name, const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  const auto before = passed_.find(name);
  const bool news = before == passed_.end() || before->second != status.ok();
  passed_[name] = status.ok();
  if (!news) return;
  if (status.ok()) {
    log_.Info("ready", {{"check", name}});
  } else {
    log_.Error("not ready", {{"check", name}, {"reason", std::string(status.message())}});
  }
}

}  // namespace coppice::daemon
