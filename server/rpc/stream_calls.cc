#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "server/rpc/calls.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/status_conversion.h"
#include "server/service/calls/retry_after.h"
#include "server/service/calls/stream_call.h"

namespace coppice::rpc {
namespace {

using google::protobuf::Message;
using grpc::ByteBuffer;

// What the three kinds of reactors share. It has no lock: messages are read and written one at a
// time, and a handler that several threads drive calls it under a lock of its own.
template <typename Reactor>
class StreamReactor : public Reactor, public service::StreamCall {
 public:
  StreamReactor(service::WorkerPool* lane, grpc::CallbackServerContext& context)
      : lane_(lane), context_(context) {}

  void Start(const service::RegisteredMethod& method, const service::Caller& caller,
             const Message* request) {
    const auto& start = std::get<service::StreamStarter>(method.handler);
    absl::StatusOr<service::StreamHandlerPtr> handler = start(caller, request, *this);
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

  absl::Status ParseTo(Message& message) override { return Parse(request_, message); }
  absl::StatusOr<std::string> TakeBytes() override { return ToString(request_); }
  void End(const absl::Status& status) override { this->Finish(EndStatus(context_, status)); }
  absl::Status RunOnLane(std::function<void()> work) override {
    if (lane_ != nullptr) return service::AskToWaitForLoad(lane_->Run(std::move(work)));
    work();
    return absl::OkStatus();
  }

 protected:
  service::StreamHandler& handler() { return *handler_; }

  ByteBuffer request_;

 private:
  service::WorkerPool* const lane_;
  grpc::CallbackServerContext& context_;
  service::StreamHandlerPtr handler_;  // null if it did not start
};

class ServerStream final : public StreamReactor<grpc::ServerWriteReactor<ByteBuffer>> {
 public:
  using StreamReactor::StreamReactor;

  void StartWith(const service::RegisteredMethod& method, const service::Caller& caller,
                 const ByteBuffer& request_bytes) {
    request_ = request_bytes;
    const std::unique_ptr<Message> request(method.request->New());
    const absl::Status parsed = ParseTo(*request);
    if (!parsed.ok()) return End(parsed);
    Start(method, caller, request.get());
  }

  void OnWriteDone(bool ok) override { handler().OnWritten(ok); }

  void Read() override {}
  absl::Status Write(const Message& message) override {
    const absl::Status written = Serialize(message, response_);
    if (written.ok()) StartWrite(&response_);
    return written;
  }
  void EndWith(const Message&) override { End(absl::UnimplementedError("")); }

 private:
  ByteBuffer response_;
};

class ClientStream final : public StreamReactor<grpc::ServerReadReactor<ByteBuffer>> {
 public:
  ClientStream(service::WorkerPool* lane, grpc::CallbackServerContext& context,
               ByteBuffer& response)
      : StreamReactor(lane, context), response_(response) {}

  void OnReadDone(bool ok) override { ok ? handler().OnMessage() : handler().OnNoMoreMessages(); }

  void Read() override { StartRead(&request_); }
  absl::Status Write(const Message&) override { return absl::UnimplementedError(""); }
  void EndWith(const Message& response) override { End(Serialize(response, response_)); }

 private:
  ByteBuffer& response_;
};

class BidiStream final : public StreamReactor<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>> {
 public:
  using StreamReactor::StreamReactor;

  void OnReadDone(bool ok) override { ok ? handler().OnMessage() : handler().OnNoMoreMessages(); }
  void OnWriteDone(bool ok) override { handler().OnWritten(ok); }

  void Read() override { StartRead(&request_); }
  absl::Status Write(const Message& message) override {
    const absl::Status written = Serialize(message, response_);
    if (written.ok()) StartWrite(&response_);
    return written;
  }
  void EndWith(const Message&) override { End(absl::UnimplementedError("")); }

 private:
  ByteBuffer response_;
};

}  // namespace

grpc::ServerWriteReactor<ByteBuffer>* StartServerStream(const service::RegisteredMethod& method,
                                                        service::WorkerPool* lane,
                                                        const service::Caller& caller,
                                                        grpc::CallbackServerContext& context,
                                                        const ByteBuffer& request) {
  auto* const stream = new ServerStream(lane, context);
  stream->StartWith(method, caller, request);
  return stream;
}

grpc::ServerReadReactor<ByteBuffer>* StartClientStream(const service::RegisteredMethod& method,
                                                       service::WorkerPool* lane,
                                                       const service::Caller& caller,
                                                       grpc::CallbackServerContext& context,
                                                       ByteBuffer& response) {
  auto* const stream = new ClientStream(lane, context, response);
  stream->Start(method, caller, nullptr);
  return stream;
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* StartBidiStream(
    const service::RegisteredMethod& method, service::WorkerPool* lane,
    const service::Caller& caller, grpc::CallbackServerContext& context) {
  auto* const stream = new BidiStream(lane, context);
  stream->Start(method, caller, nullptr);
  return stream;
}

}  // namespace coppice::rpc
