#include "server/daemon/transport/deadlines.h"

namespace coppice::daemon {
namespace {

constexpr std::chrono::milliseconds kPeriod{500};

}  // namespace

CallDeadlines::CallDeadlines() : thread_([this] { Run(); }) {}

CallDeadlines::~CallDeadlines() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CallDeadlines::Add(Call& call, grpc::ServerContextBase& context, absl::Duration most) {
  if (most == absl::InfiniteDuration()) return;
  const auto deadline = Clock::now() + absl::ToChronoNanoseconds(most);
  const std::lock_guard lock(mutex_);
  call.context_ = &context;
  call.listed_ = true;
  call.place_ = calls_.emplace_hint(calls_.end(), deadline, &call);
}

void CallDeadlines::Remove(Call& call) {
  std::unique_lock lock(mutex_);
  if (call.listed_) calls_.erase(call.place_);
  call.listed_ = false;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  changed_.wait(lock, [&] { return cancelling_ != &call; });
}

void CallDeadlines::Run() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    CancelDue(lock);
    changed_.wait_for(lock, kPeriod, [this] { return closing_; });
  }
}

// Without the lock while it cancels: gRPC may end this call, and others, on this very thread.
void CallDeadlines::CancelDue(std::unique_lock<std::mutex>& lock) {
  while (!calls_.empty() && calls_.begin()->first <= Clock::now()) {
    Call& call = *calls_.begin()->second;
    grpc::ServerContextBase& context = *call.context_;
    calls_.erase(calls_.begin());
    call.listed_ = false;
    cancelling_ = &call;
    lock.unlock();
    context.TryCancel();
    lock.lock();
    cancelling_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace coppice::daemon
