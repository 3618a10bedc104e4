#include "server/serving/calls/unary_call.h"

#include <memory>
#include <utility>

#include "common/base/status.h"
#include "server/serving/grpc/calls.h"
#include "server/serving/grpc/message_bytes.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::rpc {
namespace {

// Nothing of the call may be used after Answer() or Fail().
class GrpcExchange final : public service::UnaryExchange {
 public:
  GrpcExchange(const AnswerCheck& may_answer, grpc::CallbackServerContext& context,
               grpc::ByteBuffer& response)
      : may_answer_(may_answer),
        context_(context),
        reactor_(*context.DefaultReactor()),
        response_(response) {}

  grpc::ServerUnaryReactor* reactor() const { return &reactor_; }
  // The bytes of the parsed request, until the call has ended.
  void Keep(calls::HeldBytes held) { held_ = std::move(held); }

  Status CheckWanted() const override {
    return context_.IsCancelled() ? service::UnwantedCall() : OkStatus();
  }
  void Answer(const google::protobuf::Message& response) override {
    Fail(Serialize(response, response_));
  }
  void Answer(const service::MessagePieces& pieces) override {
    response_ = Join(pieces);
    Fail(OkStatus());
  }
  void Fail(const Status& status) override {
    const Status allowed = MayAnswer(may_answer_);
    if (!allowed.ok()) response_.Clear();
    reactor_.Finish(EndStatus(context_, allowed.ok() ? status : allowed));
  }

 private:
  const AnswerCheck& may_answer_;
  grpc::CallbackServerContext& context_;
  grpc::ServerUnaryReactor& reactor_;
  grpc::ByteBuffer& response_;
  calls::HeldBytes held_;
};

void ParseAndRun(const Route& route, service::Caller caller, grpc::ByteBuffer bytes,
                 std::shared_ptr<GrpcExchange> exchange) {
  std::unique_ptr<google::protobuf::Message> request(route.method.request->New());
  StatusOr<calls::HeldBytes> held =
      Parse(bytes, route.method.max_request_bytes, route.intake, *request);
  if (!held.ok()) return exchange->Fail(held.status());
  exchange->Keep(*std::move(held));
  service::RunUnaryCall(route.method, route.lane, std::move(caller), std::move(request),
                        std::move(exchange));
}

}  // namespace

grpc::ServerUnaryReactor* AnswerUnaryCall(const Route& route, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request_bytes,
                                          grpc::ByteBuffer& response) {
  auto exchange = std::make_shared<GrpcExchange>(route.may_answer, context, response);
  grpc::ServerUnaryReactor* const reactor = exchange->reactor();
  // The lane may come to it after the call's arguments are gone; a copy shares their bytes.
  const auto parse = [route, caller, bytes = request_bytes, exchange] {
    const Status wanted = exchange->CheckWanted();
    if (!wanted.ok()) return exchange->Fail(wanted);
    ParseAndRun(route, caller, bytes, exchange);
  };
  const Status queued = route.intake.Run(request_bytes.Length(), caller.name, parse);
  if (!queued.ok()) exchange->Fail(queued);
  return reactor;
}

}  // namespace coppice::rpc
