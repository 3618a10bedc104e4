#include "server/serving/calls/unary_call.h"

#include <utility>
#include <variant>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/process/retry_after.h"

namespace coppice::service {
namespace {

class UnaryCall : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(const RegisteredMethod& method, WorkerPool* lane, Caller caller,
            std::unique_ptr<AnyMessage> request, std::shared_ptr<UnaryExchange> exchange)
      : method_(method),
        lane_(lane),
        caller_(std::move(caller)),
        request_(std::move(request)),
        exchange_(std::move(exchange)) {}

  void Run() {
    const auto* const handler = std::get_if<UnaryHandler>(&method_.handler);
    // No call of one request and one response has a stream's handler.
    if (handler == nullptr) return End(UnimplementedError(""));
    response_.reset(method_.response->New());
    if (lane_ == nullptr || method_.begins_at_once) return RunHandler(*handler, CancelCheck());
    RunOnLane([this, handler](const CancelCheck& cancel) { RunHandler(*handler, cancel); });
  }

 private:
  void RunHandler(const UnaryHandler& handler, const CancelCheck& cancel) {
    handler(caller_, *request_, response_.get(), cancel,
            [call = shared_from_this()](Outcome outcome) { call->Leave(std::move(outcome)); });
  }

  void Leave(Outcome outcome) {
    if (const auto* const status = std::get_if<Status>(&outcome)) return End(*status);
    if (const auto* const pieces = std::get_if<MessagePieces>(&outcome)) {
      return exchange_->Answer(*pieces);
    }
    Later& later = std::get<Later>(outcome);
    if (later == nullptr) return End(OkStatus());
    if (lane_ == nullptr) return End(later());
    RunOnLane([this, later = std::move(later)](const CancelCheck&) { End(later()); });
  }

  // `work`, which this outlives, ends the call.
  template <typename Work>
  void RunOnLane(Work work) {
    const auto run = [call = shared_from_this(), work = std::move(work)] {
      const CancelCheck cancel([&] {
        if (!call->lane_->IsDraining()) return call->exchange_->CheckWanted();
        return UnavailableError("the daemon is stopping; try again later");
      });
      const Status wanted = call->exchange_->CheckWanted();
      if (!wanted.ok()) return call->End(wanted);
      work(cancel);
    };
    const Status queued = lane_->Run(run, caller_.name);
    if (!queued.ok()) End(AskToWaitForLoad(queued));
  }

  void End(const Status& status) {
    if (!status.ok()) return exchange_->Fail(status);
    exchange_->Answer(*response_);
  }

  const RegisteredMethod& method_;
  WorkerPool* const lane_;
  const Caller caller_;
  const std::unique_ptr<AnyMessage> request_;
  std::unique_ptr<AnyMessage> response_;
  const std::shared_ptr<UnaryExchange> exchange_;
};

}  // namespace

Status UnwantedCall() { return CancelledError("the caller is no longer waiting"); }

void RunUnaryCall(const RegisteredMethod& method, WorkerPool* lane, Caller caller,
                  std::unique_ptr<AnyMessage> request, std::shared_ptr<UnaryExchange> exchange) {
  std::make_shared<UnaryCall>(method, lane, std::move(caller), std::move(request),
                              std::move(exchange))
      ->Run();
}

}  // namespace coppice::service
