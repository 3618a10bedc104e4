#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/process/retry_after.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/grpc/calls.h"
#include "server/serving/grpc/message_bytes.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::rpc {
namespace {

using google::protobuf::Message;
using grpc::ByteBuffer;

// The common part of the three kinds of reactors. Messages are read and written one at a time, and
// a handler driven by several threads calls it under its own lock.
template <typename Reactor>
class StreamReactor : public Reactor, public service::StreamCall {
 public:
  StreamReactor(const Route& route, const service::Caller& caller,
                grpc::CallbackServerContext& context)
      : route_(route), caller_(caller), context_(context) {}

  void Start(const Message* request) {
    const MutexLock lock(starting_);
    const auto& start = std::get<service::StreamStarter>(route_.method.handler);
    StatusOr<service::StreamHandlerPtr> handler = start(caller_, request, *this);
    if (!handler.ok()) return End(handler.status());
    handler_ = *std::move(handler);
  }

  void OnCancel() override {
    if (const service::StreamHandlerPtr handler = Handler()) handler->OnCancel();
  }
  void OnDone() override { Leave(); }

  Status ParseTo(Message& message) override {
    COPPICE_RETURN_IF_ERROR(std::exchange(refusal_, OkStatus()));
    held_ = {};
    COPPICE_ASSIGN_OR_RETURN(
        held_, Parse(request_, route_.method.max_request_bytes, route_.intake, message));
    return OkStatus();
  }
  void End(const Status& status) override {
    const Status allowed = MayAnswer(route_.may_answer);
    this->Finish(EndStatus(context_, allowed.ok() ? status : allowed));
  }
  Status RunOnLane(std::function<void()> work) override {
    if (route_.lane != nullptr) {
      return service::AskToWaitForLoad(route_.lane->Run(std::move(work), caller_.name));
    }
    work();
    return OkStatus();
  }

 protected:
  const Route& route() const { return route_; }
  bool IsCancelled() const { return context_.IsCancelled(); }
  // Null until it has started. Waits while it starts, which a large request does on a lane.
  service::StreamHandlerPtr Handler() {
    const MutexLock lock(starting_);
    return handler_;
  }

  // Runs `work`, which takes the message in request_: here or, if the message is large, on the
  // lane. If that has no room, ParseTo() says why.
  void TakeMessage(std::function<void()> work) {
    {
      const MutexLock lock(users_mutex_);
      ++users_;
    }
    const auto run = [this, work = std::move(work)] {
      work();
      Leave();
    };
    refusal_ = route_.intake.Run(request_.Length(), caller_.name, run);
    if (refusal_.ok()) return;
    request_.Clear();
    run();
  }

  // Serializes a message, if it may be sent now.
  Status SerializeAnswer(const Message& message, ByteBuffer& bytes) const {
    const Status allowed = MayAnswer(route_.may_answer);
    return allowed.ok() ? Serialize(message, bytes) : allowed;
  }

  ByteBuffer request_;

 private:
  // The last of gRPC and the lane that leaves the stream deletes it.
  void Leave() {
    {
      const MutexLock lock(users_mutex_);
      if (--users_ > 0) return;
    }
    if (const service::StreamHandlerPtr handler = Handler()) handler->OnDone();
    delete this;
  }

  const Route route_;
  const service::Caller caller_;
  grpc::CallbackServerContext& context_;
  Status refusal_;         // of the message that came
  calls::HeldBytes held_;  // of the one that was parsed
  Mutex starting_;
  service::StreamHandlerPtr handler_ ABSL_GUARDED_BY(starting_);  // null if it did not start
  Mutex users_mutex_;
  int users_ ABSL_GUARDED_BY(users_mutex_) = 1;  // gRPC
};

// What the two kinds have in common that answer message by message.
template <typename Reactor>
class WritingReactor : public StreamReactor<Reactor> {
 public:
  using StreamReactor<Reactor>::StreamReactor;

  void OnWriteDone(bool ok) override { this->Handler()->OnWritten(ok); }

  Status Write(const Message& message) override {
    const Status written = this->SerializeAnswer(message, response_);
    if (written.ok()) this->StartWrite(&response_);
    return written;
  }
  void EndWith(const Message&) override { this->End(UnimplementedError("")); }

 private:
  ByteBuffer response_;
};

class ServerStream final : public WritingReactor<grpc::ServerWriteReactor<ByteBuffer>> {
 public:
  using WritingReactor::WritingReactor;

  void StartWith(const ByteBuffer& request_bytes) {
    request_ = request_bytes;
    TakeMessage([this] {
      const std::unique_ptr<Message> request(route().method.request->New());
      const Status parsed = ParseTo(*request);
      if (!parsed.ok()) return End(parsed);
      Start(request.get());
      if (IsCancelled()) OnCancel();  // while it waited for the lane
    });
  }

  void Read() override {}
};

class ClientStream final : public StreamReactor<grpc::ServerReadReactor<ByteBuffer>> {
 public:
  ClientStream(const Route& route, const service::Caller& caller,
               grpc::CallbackServerContext& context, ByteBuffer& response)
      : StreamReactor(route, caller, context), response_(response) {}

  void OnReadDone(bool ok) override {
    const service::StreamHandlerPtr handler = Handler();
    if (!ok) return handler->OnNoMoreMessages();
    TakeMessage([handler] { handler->OnMessage(); });
  }

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

class BidiStream final : public WritingReactor<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>> {
 public:
  using WritingReactor::WritingReactor;

  void OnReadDone(bool ok) override {
    const service::StreamHandlerPtr handler = Handler();
    if (!ok) return handler->OnNoMoreMessages();
    TakeMessage([handler] { handler->OnMessage(); });
  }

  void Read() override { StartRead(&request_); }
};

}  // namespace

grpc::ServerWriteReactor<ByteBuffer>* StartServerStream(const Route& route,
                                                        const service::Caller& caller,
                                                        grpc::CallbackServerContext& context,
                                                        const ByteBuffer& request) {
  auto* const stream = new ServerStream(route, caller, context);
  stream->StartWith(request);
  return stream;
}

grpc::ServerReadReactor<ByteBuffer>* StartClientStream(const Route& route,
                                                       const service::Caller& caller,
                                                       grpc::CallbackServerContext& context,
                                                       ByteBuffer& response) {
  auto* const stream = new ClientStream(route, caller, context, response);
  stream->Start(nullptr);
  return stream;
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* StartBidiStream(
    const Route& route, const service::Caller& caller, grpc::CallbackServerContext& context) {
  auto* const stream = new BidiStream(route, caller, context);
  stream->Start(nullptr);
  return stream;
}

}  // namespace coppice::rpc
