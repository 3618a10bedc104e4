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
};

}  // namespace

grpc::ServerUnaryReactor* AnswerUnaryCall(const Route& route, service::Caller caller,
                                          grpc::CallbackServerContext& context,
                                          const grpc::ByteBuffer& request_bytes,
                                          grpc::ByteBuffer& response) {
  auto exchange = std::make_shared<GrpcExchange>(route.may_answer, context, response);
  grpc::ServerUnaryReactor* const reactor = exchange->reactor();
  std::unique_ptr<google::protobuf::Message> request(route.method.request->New());
  grpc::ByteBuffer bytes = request_bytes;  // shares the bytes, since Parse() frees its argument
  const Status parsed = Parse(bytes, route.method.max_request_bytes, *request);
  if (parsed.ok()) {
    service::RunUnaryCall(route.method, route.lane, std::move(caller), std::move(request),
                          std::move(exchange));
  } else {
    exchange->Fail(parsed);
  }
  return reactor;
}

}  // namespace coppice::rpc
