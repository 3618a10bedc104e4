#include "server/process/readiness.h"

#include <chrono>
#include <utility>

#include "common/base/status.h"

namespace coppice {

Readiness::Readiness(std::vector<ReadinessCheck> checks, absl::Duration period, const Log& log,
                     std::function<void(bool)> tell)
    : checks_(std::move(checks)),
      period_(period),
      log_(log),
      tell_(std::move(tell)),
      thread_([this] { Run(); }) {}

void Readiness::Stop() {
  {
    const MutexLock lock(mutex_);
    ready_ = false;
    if (!std::exchange(stopping_, true)) tell_(false);
  }
  stopped_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

std::map<std::string, bool> Readiness::Passed() const {
  const MutexLock lock(mutex_);
  std::map<std::string, bool> passed;
  for (const auto& [name, verdict] : verdicts_) passed[name] = verdict.ok();
  return passed;
}

std::map<std::string, std::string> Readiness::Failing() const {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> failing;
  for (const auto& [name, verdict] : verdicts_) {
    if (!verdict.ok()) failing[name] = std::string(verdict.message());
  }
  return failing;
}

bool Readiness::IsReady() const {
  const MutexLock lock(mutex_);
  return ready_;
}

void Readiness::Run() {
  for (;;) {
    bool ready = true;
    for (const ReadinessCheck& check : checks_) {
      const Status status = check.run();
      ready &= status.ok();
      Judge(check.name, status);
    }
    const MutexLock lock(mutex_);
    // Told under the lock, so that what Stop() tells is the last word.
    if (stopping_) return;
    ready_ = ready;
    tell_(ready);
    const auto next = After(period_);
    while (!stopping_ && stopped_.WaitUntil(mutex_, next)) {
    }
    if (stopping_) return;
  }
}

void Readiness::Judge(const std::string& name, const Status& status) {
  const MutexLock lock(mutex_);
  const auto before = verdicts_.find(name);
  const bool news = before == verdicts_.end() || before->second.ok() != status.ok();
  verdicts_[name] = status;
  if (!news) return;
  if (status.ok()) {
    log_.Info("ready", {{"check", name}});
  } else {
    log_.Error("not ready", {{"check", name}, {"reason", std::string(status.message())}});
  }
}

}  // namespace coppice
