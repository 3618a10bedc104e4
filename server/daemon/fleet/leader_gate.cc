#include "server/daemon/fleet/leader_gate.h"

#include <utility>

namespace coppice::daemon {
namespace {

// How often the connection to the leader is checked, while calls wait and otherwise.
constexpr absl::Duration kLookForWaiting = absl::Milliseconds(5);
constexpr absl::Duration kLook = absl::Milliseconds(250);
constexpr absl::Duration kRetryAfter = absl::Seconds(1);
// Longer than a takeover leaves no leader to connect to, so that takeovers flip no health check.
constexpr std::chrono::seconds kReachedFor{5};

grpc::Status Unavailable(const char* message) {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, message);
}

constexpr char kNobodyLeads[] =
    "no curator of this fleet leads, or the one that does cannot be reached; call again in a "
    "second";
constexpr char kTooManyWait[] =
    "too many calls wait for a curator to lead this fleet; call again in a second";
constexpr char kStopping[] = "this curator is stopping; call again, and another answers";

}  // namespace

LeaderGate::LeaderGate(const Log* log) : log_(log), thread_([this] { Run(); }) {}

LeaderGate::~LeaderGate() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void LeaderGate::SetLeader(std::shared_ptr<LeaderLink> leader) {
  {
    const MutexLock lock(mutex_);
    leader_.swap(leader);
  }
  changed_.NotifyAll();
}

bool LeaderGate::ReachesLeader() const {
  const MutexLock lock(mutex_);
  return last_connected_.has_value() && Clock::now() - *last_connected_ < kReachedFor;
}

void LeaderGate::Admit(ForwardedCall& call) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<LeaderLink> leader;
  {
    const MutexLock lock(mutex_);
    if (!stopping_) leader = leader_;
  }
  std::shared_ptr<grpc::Channel> channel = leader == nullptr ? nullptr : leader->FindConnected();
  if (channel != nullptr) return call.Start(std::move(channel));
  const char* refusal = nullptr;
  {
    const MutexLock lock(mutex_);
    if (stopping_) {
      refusal = kStopping;
    } else if (waiting_.size() >= kMaxWaitingCalls) {
      refusal = kTooManyWait;
    } else {
      call.refuse_at_ = After(kLeaderPatience);
      call.place_ = waiting_.insert(waiting_.end(), &call);
    }
  }
  if (refusal != nullptr) return call.Refuse(Unavailable(refusal), kRetryAfter);
  changed_.NotifyAll();
}

bool LeaderGate::Leave(ForwardedCall& call) {
  const MutexLock lock(mutex_);
  if (!call.place_.has_value()) return false;
  waiting_.erase(*call.place_);
  call.place_.reset();
  return true;
}

ForwardedCall& LeaderGate::TakeFirst() {
  ForwardedCall& call = *waiting_.front();
  waiting_.pop_front();
  call.place_.reset();
  return call;
}

void LeaderGate::Stop() {
  Calls refused;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    leader_ = nullptr;
    while (!waiting_.empty()) refused.push_back(&TakeFirst());
  }
  for (ForwardedCall* call : refused) call->Refuse(Unavailable(kStopping), kRetryAfter);
}

void LeaderGate::StartAll(LeaderLink& leader) {
  while (std::shared_ptr<grpc::Channel> channel = leader.FindConnected()) {
    ForwardedCall* call = nullptr;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty() || leader_.get() != &leader) return;
      call = &TakeFirst();
    }
    call->Start(std::move(channel));
  }
}

void LeaderGate::RefuseLate() {
  const Clock::time_point now = Clock::now();
  while (true) {
    ForwardedCall* call = nullptr;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty() || waiting_.front()->refuse_at_ > now) return;
      call = &TakeFirst();
    }
    call->Refuse(Unavailable(kNobodyLeads), kRetryAfter);
  }
}

std::optional<std::shared_ptr<LeaderLink>> LeaderGate::AwaitLook() {
  const MutexLock lock(mutex_);
  if (!waiting_.empty()) {
    changed_.WaitUntil(mutex_, After(kLookForWaiting));
  } else if (leader_ != nullptr) {
    changed_.WaitUntil(mutex_, After(kLook));
  } else if (!closing_) {
    changed_.Wait(mutex_);
  }
  if (closing_) return std::nullopt;
  return leader_;
}

// Calls gRPC without the lock, because gRPC may run its callbacks on this thread.
void LeaderGate::Run() {
  std::shared_ptr<LeaderLink> noted;
  bool was_connected = false;
  while (const std::optional<std::shared_ptr<LeaderLink>> leader = AwaitLook()) {
    const bool connected = *leader != nullptr && (*leader)->FindConnected() != nullptr;
    if (connected) {
      const MutexLock lock(mutex_);
      last_connected_ = Clock::now();
    }
    if (noted != *leader || was_connected != connected) Note(leader->get(), connected);
    noted = *leader;
    was_connected = connected;
    if (connected) StartAll(**leader);
    RefuseLate();
  }
}

void LeaderGate::Note(const LeaderLink* leader, bool connected) {
  if (log_ == nullptr || leader == nullptr) return;
  log_->Write(connected ? LogLevel::kInfo : LogLevel::kWarning,
              connected ? "leader connected" : "leader awaited", {{"address", leader->address()}});
}

}  // namespace coppice::daemon
