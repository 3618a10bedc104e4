#include "server/daemon/fleet/http_sender.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/fleet/forwarded_call.h"
#include "server/daemon/transport/fronts.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/retry_after.h"
#include "server/serving/gate/call_record.h"
#include "server/serving/grpc/message_bytes.h"

namespace coppice::daemon {
namespace {

using google::protobuf::Message;

void Describe(const http::SentCall& call, const std::string& secret, grpc::ClientContext& context) {
  context.AddMetadata(kHttpSecretKey, secret);
  if (call.deadline != absl::InfiniteDuration()) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + call.deadline));
  }
  if (const auto& authorization = call.credentials.authorization) {
    context.AddMetadata("authorization", SendableAuthorization(*authorization));
  }
  context.AddMetadata(calls::kRequestIdKey, call.request_id);
  if (const auto& digest = call.credentials.certificate_sha256) {
    context.AddMetadata(kClientCertificateKey,
                        std::string(reinterpret_cast<const char*>(digest->data()), digest->size()));
  }
}

Status EndOf(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return OkStatus();
  // The front sees such a call as one whose client is gone.
  if (status.error_code() == grpc::StatusCode::CANCELLED &&
      context.deadline() <= std::chrono::system_clock::now()) {
    return DeadlineExceededError("the call's time is over");
  }
  Status end(static_cast<StatusCode>(status.error_code()), status.error_message());
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find("grpc-retry-pushback-ms");
  int64_t wait = 0;
  if (found == metadata.end() ||
      !SimpleAtoi(std::string_view(found->second.data(), found->second.size()), &wait)) {
    return end;
  }
  return service::AskToWait(std::move(end), absl::Milliseconds(wait));
}

Status UnreadableAnswer() { return InternalError("the answer is not readable"); }

struct SentUnary {
  grpc::ClientContext context;
  grpc::ByteBuffer request, response;
};

// A stream of answers; reads the next one after the previous one is written. Keeps itself alive
// until gRPC is done with it.
class SentStream final : public service::StreamHandler,
                         public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<SentStream> {
 public:
  SentStream(const Message& response, service::StreamCall& answers)
      : response_(response), answers_(answers) {}

  Status Start(const std::shared_ptr<grpc::Channel>& front, const std::string& secret,
               const http::SentCall& call, const Message& request) {
    COPPICE_RETURN_IF_ERROR(rpc::Serialize(request, request_));
    Describe(call, secret, context_);
    grpc::GenericStub(front).PrepareBidiStreamingCall(&context_, std::string(call.path), {}, this);
    self_ = shared_from_this();
    AddHold();  // until there is no next answer
    StartWriteLast(&request_, {});
    StartRead(&answer_);
    StartCall();
    return OkStatus();
  }

  // gRPC's events.
  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    const Status written = WriteAnswer();
    if (written.ok()) return;
    own_status_ = written;
    context_.TryCancel();
    RemoveHold();
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<SentStream> self = std::move(self_);
    answers_.End(own_status_.ok() ? EndOf(status, context_) : own_status_);
  }

  // Events of the HTTP side.
  void OnWritten(bool sent) override {
    if (sent) return StartRead(&answer_);
    context_.TryCancel();
    RemoveHold();
  }
  void OnCancel() override { context_.TryCancel(); }
  void OnDone() override {}

 private:
  Status WriteAnswer() {
    const StatusOr<std::string> bytes = rpc::ToString(answer_);
    const std::unique_ptr<Message> message(response_.New());
    if (!bytes.ok() || !message->ParseFromString(*bytes)) return UnreadableAnswer();
    return answers_.Write(*message);
  }

  const Message& response_;
  service::StreamCall& answers_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, answer_;
  Status own_status_;  // replaces the leader's
  std::shared_ptr<SentStream> self_;
};

}  // namespace

std::deque<service::RegisteredMethod> MethodsWithoutHandlers() {
  std::deque<service::RegisteredMethod> methods;
  auto* const factory = google::protobuf::MessageFactory::generated_factory();
  for (const access::Method& method : access::AllMethods()) {
    if (!StartsWith(method.path, "/coppice."))
      continue;  // HTTP serves neither health nor reflection
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
            StrReplaceAll(method.path.substr(1), {{"/", "."}}));
    if (descriptor == nullptr) continue;
    const Message* const request = factory->GetPrototype(descriptor->input_type());
    const Message* const response = factory->GetPrototype(descriptor->output_type());
    if (request == nullptr || response == nullptr) continue;
    methods.push_back({.path = std::string(method.path),
                       .descriptor = descriptor,
                       .request = request,
                       .response = response,
                       .max_request_bytes = method.max_request_bytes,
                       .handler = {}});
  }
  return methods;
}

std::function<void()> HttpSender::Send(const http::SentCall& call, const Message& request,
                                       std::shared_ptr<service::UnaryExchange> exchange) {
  const auto sent = std::make_shared<SentUnary>();
  const Status written = rpc::Serialize(request, sent->request);
  if (!written.ok()) {
    exchange->Fail(written);
    return [] {};
  }
  Describe(call, secret_, sent->context);
  grpc::GenericStub(front_).UnaryCall(
      &sent->context, std::string(call.path), {}, &sent->request, &sent->response,
      [sent, exchange = std::move(exchange)](const grpc::Status& status) {
        if (!status.ok()) return exchange->Fail(EndOf(status, sent->context));
        StatusOr<std::string> bytes = rpc::ToString(sent->response);
        if (!bytes.ok()) return exchange->Fail(UnreadableAnswer());
        service::MessagePieces pieces(1);
        pieces.front().own = *std::move(bytes);
        exchange->Answer(pieces);
      });
  return [sent] { sent->context.TryCancel(); };
}

StatusOr<service::StreamHandlerPtr> HttpSender::SendStream(const http::SentCall& call,
                                                           const Message& request,
                                                           service::StreamCall& answers) {
  const auto stream = std::make_shared<SentStream>(*call.response, answers);
  COPPICE_RETURN_IF_ERROR(stream->Start(front_, secret_, call, request));
  return stream;
}

}  // namespace coppice::daemon
