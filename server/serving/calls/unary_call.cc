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
    std::visit([this](const auto& handler) { RunHandler(handler); }, method_.handler);
  }

 private:
  AnyMessage* MakeResponse() {
    response_.reset(method_.response->New());
    return response_.get();
  }

  void RunHandler(const WholeHandler& handler) {
    MakeResponse();
    if (lane_ == nullptr) {
      return End(handler(caller_, *request_, response_.get(), CancelCheck()));
    }
    RunOnLane([this, &handler](const CancelCheck& cancel) {
      return handler(caller_, *request_, response_.get(), cancel);
    });
  }

  void RunHandler(const SplitHandler& handler) {
    StatusOr<Later> later = handler(caller_, *request_, MakeResponse());
    if (!later.ok() || !*later) return End(later.status());
    RunOnLane([later = *std::move(later)](const CancelCheck&) { return later(); });
  }

  void RunHandler(const AsyncHandler& handler) {
    MakeResponse();
    const auto run = [call = shared_from_this(), &handler] {
      handler(call->caller_, *call->request_, call->response_.get(),
              [call](const Status& status) { call->End(status); });
    };
    if (lane_ == nullptr) return run();
    const Status queued = lane_->Run(
        [call = shared_from_this(), run] {
          const Status wanted = call->exchange_->CheckWanted();
          if (!wanted.ok()) return call->End(wanted);
          run();
        },
        caller_.name);
    if (!queued.ok()) End(AskToWaitForLoad(queued));
  }

  void RunHandler(const PiecesHandler& handler) {
    const StatusOr<MessagePieces> pieces = handler(caller_, *request_);
    if (!pieces.ok()) return End(pieces.status());
    exchange_->Answer(*pieces);
  }

  // No call of one request and one response has such a handler.
  void RunHandler(const StreamStarter&) { End(UnimplementedError("")); }

  // `work` returns the status that ends the call.
  template <typename Work>
  void RunOnLane(Work work) {
    const auto run = [call = shared_from_this(), work = std::move(work)] {
      const CancelCheck cancel([&] {
        if (!call->lane_->IsDraining()) return call->exchange_->CheckWanted();
        return UnavailableError("the daemon is stopping; try again later");
      });
      Status status = call->exchange_->CheckWanted();
      if (status.ok()) status = work(cancel);
      call->End(status);
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

Status UnreadableRequest(const AnyMessage& type) {
  return InvalidArgumentError(StrCat("the request is no ", type.GetDescriptor()->full_name(),
                                     ": its bytes do not parse, or a string in it is not UTF-8"));
}

void RunUnaryCall(const RegisteredMethod& method, WorkerPool* lane, Caller caller,
                  std::unique_ptr<AnyMessage> request, std::shared_ptr<UnaryExchange> exchange) {
  std::make_shared<UnaryCall>(method, lane, std::move(caller), std::move(request),
                              std::move(exchange))
      ->Run();
}

}  // namespace coppice::service
