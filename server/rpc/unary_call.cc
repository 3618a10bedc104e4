#include <memory>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "common/base/cancel_check.h"
#include "server/rpc/calls.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/status_conversion.h"
#include "server/service/calls/retry_after.h"

namespace coppice::rpc {
namespace {

// Cancelled once nobody waits for the call: its caller has gone, or its time is over.
absl::Status CheckWanted(const grpc::CallbackServerContext& context) {
  if (!context.IsCancelled()) return absl::OkStatus();
  return absl::CancelledError("nobody waits for this call any more");
}

class UnaryCall : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(const Route& route, service::Caller caller, grpc::CallbackServerContext& context,
            grpc::ByteBuffer& response_bytes)
      : route_(route),
        caller_(std::move(caller)),
        context_(context),
        reactor_(*context.DefaultReactor()),
        response_bytes_(response_bytes),
        request_(route.method.request->New()) {}

  grpc::ServerUnaryReactor* reactor() const { return &reactor_; }

  void Answer(const grpc::ByteBuffer& request_bytes) {
    grpc::ByteBuffer bytes = request_bytes;  // a reference, to be read
    const absl::Status parsed = Parse(bytes, *request_);
    if (!parsed.ok()) return End(parsed);
    std::visit([this](const auto& handler) { Run(handler); }, route_.method.handler);
  }

 private:
  using Message = google::protobuf::Message;

  Message* MakeResponse() {
    response_.reset(route_.method.response->New());
    return response_.get();
  }

  void Run(const service::WholeHandler& handler) {
    MakeResponse();
    if (route_.lane == nullptr) {
      return EndWithResponse(handler(caller_, *request_, response_.get(), CancelCheck()));
    }
    RunOnLane([this, &handler](const CancelCheck& cancel) {
      return handler(caller_, *request_, response_.get(), cancel);
    });
  }

  void Run(const service::SplitHandler& handler) {
    absl::StatusOr<service::Later> later = handler(caller_, *request_, MakeResponse());
    if (!later.ok() || !*later) return EndWithResponse(later.status());
    RunOnLane([later = *std::move(later)](const CancelCheck&) { return later(); });
  }

  void Run(const service::AsyncHandler& handler) {
    handler(
        caller_, *request_, MakeResponse(),
        [call = shared_from_this()](const absl::Status& status) { call->EndWithResponse(status); });
  }

  void Run(const service::PiecesHandler& handler) {
    const absl::StatusOr<service::MessagePieces> pieces = handler(caller_, *request_);
    if (pieces.ok()) response_bytes_ = Join(*pieces);
    End(pieces.status());
  }

  // No call of one request and one response has one.
  void Run(const service::StreamStarter&) { End(absl::UnimplementedError("")); }

  // `work` returns the status to end with.
  template <typename Work>
  void RunOnLane(Work work) {
    const auto run = [call = shared_from_this(), work = std::move(work)] {
      const CancelCheck cancel([&] {
        if (!call->route_.lane->IsDraining()) return CheckWanted(call->context_);
        return absl::UnavailableError("the daemon is stopping; call again later");
      });
      absl::Status status = CheckWanted(call->context_);
      if (status.ok()) status = work(cancel);
      call->EndWithResponse(status);
    };
    const absl::Status queued = route_.lane->Run(run);
    if (!queued.ok()) End(service::AskToWaitForLoad(queued));
  }

  void EndWithResponse(absl::Status status) {
    if (status.ok()) status = Serialize(*response_, response_bytes_);
    End(status);
  }

  // Nothing of the call may be used afterwards.
  void End(absl::Status status) {
    const absl::Status allowed = MayAnswer(route_.may_answer);
    if (!allowed.ok()) {
      response_bytes_.Clear();
      status = allowed;
    }
    reactor_.Finish(EndStatus(context_, status));
  }

  const Route route_;
  const service::Caller caller_;
  grpc::CallbackServerContext& context_;
  grpc::ServerUnaryReactor& reactor_;
  grpc::ByteBuffer& response_bytes_;
  const std::unique_ptr<Message> request_;
  std::unique_ptr<Message> response_;
};

}  // namespace

grpc::ServerUnaryReactor* AnswerUnaryCall(const Route& route, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request,
                                          grpc::ByteBuffer& response) {
  const auto call = std::make_shared<UnaryCall>(route, std::move(caller), context, response);
  grpc::ServerUnaryReactor* const reactor = call->reactor();
  call->Answer(request);
  return reactor;
}

}  // namespace coppice::rpc
