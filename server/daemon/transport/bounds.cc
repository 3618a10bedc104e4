#include "server/daemon/transport/bounds.h"

#include "server/serving/grpc/status_conversion.h"

namespace coppice::daemon {
namespace {

constexpr std::chrono::milliseconds kDeadlineCheckPeriod{500};

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

class BoundedCall final : public grpc::experimental::Interceptor {
 public:
  BoundedCall(CallBounds& bounds, ServerRpcInfo& info) : bounds_(bounds), info_(info) {}
  ~BoundedCall() override {
    bounds_.deadlines().Remove(timed_);
    bounds_.answers().Release(held_);
  }

  void Intercept(InterceptorBatchMethods* call) override {
    const auto at = [&](InterceptionHookPoints point) {
      return call->QueryInterceptionHookPoint(point);
    };
    if (at(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) Begin();
    if (at(InterceptionHookPoints::POST_RECV_MESSAGE)) LookAtRequest(*call);
    if (at(InterceptionHookPoints::PRE_SEND_MESSAGE)) HoldAnswer(*call);
    if (at(InterceptionHookPoints::PRE_SEND_STATUS)) CorrectStatus(*call);
    // From here on gRPC may delete the call's context.
    if (at(InterceptionHookPoints::POST_RECV_CLOSE)) bounds_.deadlines().Remove(timed_);
    call->Proceed();
  }

 private:
  bool IsUnary() const { return info_.type() == ServerRpcInfo::Type::UNARY; }

  void Begin() {
    if (!IsUnary()) return;
    bounds_.deadlines().Add(timed_, *info_.server_context(), bounds_.DeadlineFor(info_.method()));
  }

  // In a client's stream a null message may be the end.
  void LookAtRequest(InterceptorBatchMethods& call) {
    const bool one_request = IsUnary() || info_.type() == ServerRpcInfo::Type::SERVER_STREAMING;
    if (one_request && call.GetRecvMessage() == nullptr) unreadable_ = true;
  }

  void HoldAnswer(InterceptorBatchMethods& call) {
    if (!IsUnary()) return;
    grpc::ByteBuffer& answer = *call.GetSerializedSendMessage();
    const size_t bytes = answer.Length();
    if (bytes < calls::ByteLoad::kSmall) return;
    if (bounds_.answers().TryHold(bytes)) {
      held_ += bytes;
      return;
    }
    answer.Clear();
    too_much_ = true;
  }

  void CorrectStatus(InterceptorBatchMethods& call) {
    if (unreadable_) {
      call.ModifySendStatus({grpc::StatusCode::INVALID_ARGUMENT,
                             "the request is not a message of this method: its bytes do not parse, "
                             "or a string in it is not UTF-8"});
    }
    if (too_much_) {
      call.ModifySendStatus(rpc::ToGrpcStatus(calls::TooManyLargeAnswers()));
      call.GetSendTrailingMetadata()->emplace("grpc-retry-pushback-ms", "1000");
    }
  }

  CallBounds& bounds_;
  ServerRpcInfo& info_;  // it owns this
  CallDeadlines::Call timed_;
  size_t held_ = 0;
  bool unreadable_ = false;
  bool too_much_ = false;
};

class BoundsFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit BoundsFactory(CallBounds& bounds) : bounds_(bounds) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new BoundedCall(bounds_, *info);
  }

 private:
  CallBounds& bounds_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> BoundCalls(
    CallBounds& bounds) {
  return std::make_unique<BoundsFactory>(bounds);
}

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
    const auto next = Clock::now() + kDeadlineCheckPeriod;
    while (!closing_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
}

// Cancels without the lock: gRPC may end this call, and others, on this very thread.
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
