#include "server/daemon/transport/deadlines.h"

namespace coppice::daemon {
namespace {

constexpr std::chrono::milliseconds kPeriod{500};

}  // namespace

CallDeadlines::CallDeadlines() : thread_([this] { Run(); }) {}

CallDeadlines::~CallDeadlines() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void CallDeadlines::Add(Call& call, grpc::ServerContextBase& context, absl::Duration most) {
  if (most == absl::InfiniteDuration()) return;
  const auto deadline = Clock::now() + absl::ToChronoNanoseconds(most);
  const MutexLock lock(mutex_);
  call.context_ = &context;
  call.listed_ = true;
  call.place_ = calls_.emplace_hint(calls_.end(), deadline, &call);
}

void CallDeadlines::Remove(Call& call) {
  const MutexLock lock(mutex_);
  if (call.listed_) calls_.erase(call.place_);
  call.listed_ = false;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  while (cancelling_ == &call) changed_.Wait(mutex_);
}

void CallDeadlines::Run() {
  const MutexLock lock(mutex_);
  while (!closing_) {
    CancelDue();
    const auto next = Clock::now() + kPeriod;
    while (!closing_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
}

// Without the lock while it cancels: gRPC may end this call, and others, on this very thread.
void CallDeadlines::CancelDue() {
  while (!calls_.empty() && calls_.begin()->first <= Clock::now()) {
    Call& call = *calls_.begin()->second;
    grpc::ServerContextBase& context = *call.context_;
    calls_.erase(calls_.begin());
    call.listed_ = false;
    cancelling_ = &call;
    mutex_.Unlock();
    context.TryCancel();
    mutex_.Lock();
    cancelling_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace coppice::daemon
