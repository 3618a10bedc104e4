#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "common/base/status.h"
#include "server/serving/calls/retry_after.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/grpc/calls.h"
#include "server/serving/grpc/message_bytes.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::rpc {
namespace {

using google::protobuf::Message;
using grpc::ByteBuffer;

// The common part of the three kinds of reactors. It has no lock: messages are read and written one
// at a time, and a handler driven by several threads calls it under its own lock.
template <typename Reactor>
class StreamReactor : public Reactor, public service::StreamCall {
 public:
  StreamReactor(const Route& route, grpc::CallbackServerContext& context)
      : route_(route), context_(context) {}

  void Start(const service::Caller& caller, const Message* request) {
    owner_ = caller.name;
    const auto& start = std::get<service::StreamStarter>(route_.method.handler);
    StatusOr<service::StreamHandlerPtr> handler = start(caller, request, *this);
    if (!handler.ok()) return End(handler.status());
    handler_ = *std::move(handler);
  }

  void OnCancel() override {
    if (handler_ != nullptr) handler_->OnCancel();
  }
  void OnDone() override {
    if (handler_ != nullptr) handler_->OnDone();
    delete this;
  }

  Status ParseTo(Message& message) override {
    return Parse(request_, route_.method.max_request_bytes, message);
  }
  StatusOr<std::string> TakeBytes() override {
    return ToString(request_, route_.method.max_request_bytes);
  }
  void End(const Status& status) override {
    const Status allowed = MayAnswer(route_.may_answer);
    this->Finish(EndStatus(context_, allowed.ok() ? status : allowed));
  }
  Status RunOnLane(std::function<void()> work) override {
    if (route_.lane != nullptr) {
      return service::AskToWaitForLoad(route_.lane->Run(std::move(work), owner_));
    }
    work();
    return OkStatus();
  }

 protected:
  const Route& route() const { return route_; }
  service::StreamHandler& handler() { return *handler_; }

  // Serializes a message, if it may be sent now.
  Status SerializeAnswer(const Message& message, ByteBuffer& bytes) const {
    const Status allowed = MayAnswer(route_.may_answer);
    return allowed.ok() ? Serialize(message, bytes) : allowed;
  }

  ByteBuffer request_;

 private:
  const Route route_;
  grpc::CallbackServerContext& context_;
  std::string owner_;                  // of its work on the lane
  service::StreamHandlerPtr handler_;  // null if the handler did not start
};

class ServerStream final : public StreamReactor<grpc::ServerWriteReactor<ByteBuffer>> {
 public:
  using StreamReactor::StreamReactor;

  void StartWith(const service::Caller& caller, const ByteBuffer& request_bytes) {
    request_ = request_bytes;
    const std::unique_ptr<Message> request(route().method.request->New());
    const Status parsed = ParseTo(*request);
    if (!parsed.ok()) return End(parsed);
    Start(caller, request.get());
  }

  void OnWriteDone(bool ok) override { handler().OnWritten(ok); }

  void Read() override {}
  Status Write(const Message& message) override {
    const Status written = SerializeAnswer(message, response_);
    if (written.ok()) StartWrite(&response_);
    return written;
  }
  void EndWith(const Message&) override { End(UnimplementedError("")); }

 private:
  ByteBuffer response_;
};

class ClientStream final : public StreamReactor<grpc::ServerReadReactor<ByteBuffer>> {
 public:
  ClientStream(const Route& route, grpc::CallbackServerContext& context, ByteBuffer& response)
      : StreamReactor(route, context), response_(response) {}

  void OnReadDone(bool ok) override { ok ? handler().OnMessage() : handler().OnNoMoreMessages(); }

  void Read() override { StartRead(&request_); }
  Status Write(const Message&) override { return UnimplementedError(""); }
  void EndWith(const Message& response) override {
    const Status written = SerializeAnswer(response, response_);
    if (!written.ok()) response_.Clear();
    End(written);
  }

 private:
  ByteBuffer& response_;
};

class BidiStream final : public StreamReactor<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>> {
 public:
  using StreamReactor::StreamReactor;

  void OnReadDone(bool ok) override { ok ? handler().OnMessage() : handler().OnNoMoreMessages(); }
  void OnWriteDone(bool ok) override { handler().OnWritten(ok); }

  void Read() override { StartRead(&request_); }
  Status Write(const Message& message) override {
    const Status written = SerializeAnswer(message, response_);
    if (written.ok()) StartWrite(&response_);
    return written;
  }
  void EndWith(const Message&) override { End(UnimplementedError("")); }

 private:
  ByteBuffer response_;
};

}  // namespace

grpc::ServerWriteReactor<ByteBuffer>* StartServerStream(const Route& route,
                                                        const service::Caller& caller,
                                                        grpc::CallbackServerContext& context,
                                                        const ByteBuffer& request) {
  auto* const stream = new ServerStream(route, context);
  stream->StartWith(caller, request);
  return stream;
}

grpc::ServerReadReactor<ByteBuffer>* StartClientStream(const Route& route,
                                                       const service::Caller& caller,
                                                       grpc::CallbackServerContext& context,
                                                       ByteBuffer& response) {
  auto* const stream = new ClientStream(route, context, response);
  stream->Start(caller, nullptr);
  return stream;
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* StartBidiStream(
    const Route& route, const service::Caller& caller, grpc::CallbackServerContext& context) {
  auto* const stream = new BidiStream(route, context);
  stream->Start(caller, nullptr);
  return stream;
}

}  // namespace coppice::rpc
