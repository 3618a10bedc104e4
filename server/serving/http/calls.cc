#include "server/serving/http/calls.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <variant>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/http/call_headers.h"
#include "server/http/messages/messages.h"
#include "server/http/responses.h"
#include "server/process/retry_after.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/message_intake.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/calls/unary_call.h"

namespace coppice::http {
namespace {

using google::protobuf::Message;
using service::AskToWaitForLoad;
using service::RegisteredMethod;

// The common part of both kinds of calls.
struct CallBasis {
  const ServedCalls& served;
  const RegisteredMethod& method;
  CallKind kind;
  access::Credentials credentials;
  absl::Duration deadline;
  BodyLimit body_limit;
  std::vector<Trailer> own_trailers;
  std::unique_ptr<calls::CallRecord> record;  // null: there is no log
  OpenCalls& open_calls;
};

class CallBase : public Call {
 public:
  explicit CallBase(CallBasis basis) : open_(basis.open_calls), basis_(std::move(basis)) {}

  absl::Duration deadline() const override { return basis_.deadline; }
  bool is_stream() const override { return basis_.kind.is_stream; }
  BodyLimit body_limit() const override { return basis_.body_limit; }
  Response Refuse(const Status& status) override {
    if (!Win()) return {};
    EndRecord(status);
    return ErrorResponse(basis_.kind, status, basis_.own_trailers);
  }

 protected:
  // Returns true for the first of the handler, the deadline and the client, which ends the call.
  bool Win() { return !ended_.exchange(true); }
  bool has_ended() const { return ended_.load(); }
  void EndRecord(const Status& status) {
    if (basis_.record != nullptr) basis_.record->End(status.code());
  }
  Status MayAnswer() const { return service::MayAnswer(basis_.served.may_answer); }
  service::WorkerPool* lane() const { return basis_.served.lanes.Of(basis_.method.path); }
  service::MessageIntake& intake() const { return basis_.served.lanes.intake; }
  StatusOr<HeldBytes> Parse(std::string_view bytes, Message& request) const {
    const auto admit = [this](size_t memory) { return intake().Admit(memory); };
    return ParseMessage(basis_.kind.encoding, bytes, admit, request);
  }
  service::Caller FindCaller() const {
    return basis_.served.gate.CallerOf(basis_.method.path, basis_.credentials);
  }

  const OpenCalls::Token open_;  // destroyed last
  CallBasis basis_;
  std::shared_ptr<Carrier> carrier_;

 private:
  std::atomic<bool> ended_{false};
};

class UnaryHttpCall final : public CallBase,
                            public service::UnaryExchange,
                            public std::enable_shared_from_this<UnaryHttpCall> {
 public:
  using CallBase::CallBase;

  void Start(std::string body, std::shared_ptr<Carrier> carrier) override {
    carrier_ = std::move(carrier);
    const auto kept = std::make_shared<std::string>(std::move(body));
    const Status queued =
        intake().Run(kept->size(), FindCaller().name,
                     [call = shared_from_this(), kept] { call->ParseAndRun(*kept); });
    if (!queued.ok()) Fail(queued);
  }
  void Cancel(const Status& why) override {
    unwanted_.store(true);
    if (!Win()) return;
    if (IsDeadlineExceeded(why)) return Send(why, {}, {});
    EndRecord(why);
  }

  Status CheckWanted() const override {
    return unwanted_.load() ? service::UnwantedCall() : OkStatus();
  }
  void Answer(const Message& response) override {
    if (!has_ended()) AnswerWith(SerializeMessage(basis_.kind.encoding, response));
  }
  void Answer(const service::MessagePieces& pieces) override {
    if (has_ended()) return;
    std::string bytes;
    for (const service::MessagePiece& piece : pieces) {
      bytes.append(piece.shared != nullptr ? *piece.shared : piece.own);
    }
    AnswerWith(SerializeBytes(basis_.kind.encoding, std::move(bytes), *basis_.method.response));
  }
  void Fail(const Status& status) override {
    if (Win()) Send(status, {}, {});
  }

 private:
  // Frees `body` once it is parsed.
  void ParseAndRun(std::string& body) {
    const Status wanted = CheckWanted();
    if (!wanted.ok()) return Fail(wanted);
    std::unique_ptr<Message> request(basis_.method.request->New());
    StatusOr<HeldBytes> held = Parse(body, *request);
    if (!held.ok()) return Fail(held.status());
    held_ = *std::move(held);
    std::string().swap(body);
    service::RunUnaryCall(basis_.method, lane(), FindCaller(), std::move(request),
                          shared_from_this());
  }

  void AnswerWith(StatusOr<std::string> bytes) {
    if (!bytes.ok()) return Fail(bytes.status());
    HeldBytes held;
    if (bytes->size() >= calls::ByteLoad::kSmall) {
      if (!basis_.served.answers.TryHold(bytes->size())) {
        return Fail(service::AskToWait(calls::TooManyLargeAnswers(), absl::Seconds(1)));
      }
      held = HeldBytes(basis_.served.answers, bytes->size());
    }
    if (Win()) Send(OkStatus(), *std::move(bytes), std::move(held));
  }

  void Send(Status status, std::string body, HeldBytes held) {
    const Status allowed = MayAnswer();
    if (!allowed.ok()) status = allowed;
    Response response;
    if (status.ok()) {
      response.head = HeadOf(basis_.kind, status, TrailersOf(status, basis_.own_trailers));
      response.body = std::move(body);
      response.held = std::move(held);
    } else {
      response = ErrorResponse(basis_.kind, status, basis_.own_trailers);
    }
    EndRecord(status);
    std::exchange(carrier_, nullptr)->Respond(std::move(response));
  }

  std::atomic<bool> unwanted_{false};
  HeldBytes held_;  // of the request
};

// The handler writes one message at a time, so at most one waits for a slow reader.
class StreamHttpCall final : public CallBase,
                             public service::StreamCall,
                             public std::enable_shared_from_this<StreamHttpCall> {
 public:
  using CallBase::CallBase;

  void Start(std::string body, std::shared_ptr<Carrier> carrier) override {
    carrier_ = std::move(carrier);
    self_ = shared_from_this();
    carrier_->Respond({.head = HeadOf(basis_.kind, OkStatus(), {}), .is_stream = true});
    const auto kept = std::make_shared<std::string>(std::move(body));
    const Status queued = intake().Run(kept->size(), FindCaller().name, [call = self_, kept] {
      const Status started = call->StartHandler(*kept);
      if (!started.ok()) return call->End(started);
      if (call->cancelled_.load()) call->Handler()->OnCancel();  // while it waited for the lane
    });
    if (!queued.ok()) End(queued);
  }
  void Cancel(const Status& why) override {
    if (IsDeadlineExceeded(why)) is_late_.store(true);
    cancelled_.store(true);
    const service::StreamHandlerPtr handler = Handler();
    if (!has_ended() && handler != nullptr) handler->OnCancel();
  }
  void OnWritten(bool sent) override { Handler()->OnWritten(sent); }
  void OnEnded() override {
    if (const service::StreamHandlerPtr handler = Handler()) handler->OnDone();
    carrier_ = nullptr;
    self_ = nullptr;
  }

  void Read() override {}
  Status ParseTo(Message&) override { return UnimplementedError(""); }
  Status Write(const Message& message) override {
    COPPICE_RETURN_IF_ERROR(MayAnswer());
    COPPICE_ASSIGN_OR_RETURN(const std::string bytes,
                             SerializeMessage(basis_.kind.encoding, message));
    carrier_->Write(Envelope(bytes), /*is_last=*/false);
    return OkStatus();
  }
  void End(const Status& status) override {
    if (!Win()) return;
    Status end = MayAnswer();
    if (end.ok()) {
      end = is_late_.load() ? DeadlineExceededError("the call's time is over") : status;
    }
    const std::string last = EndOfStream(end, TrailersOf(end, basis_.own_trailers));
    EndRecord(end);
    carrier_->Write(last, /*is_last=*/true);
  }
  void EndWith(const Message&) override { End(UnimplementedError("")); }
  Status RunOnLane(std::function<void()> work) override {
    if (lane() != nullptr) return AskToWaitForLoad(lane()->Run(std::move(work), FindCaller().name));
    work();
    return OkStatus();
  }

 private:
  Status StartHandler(std::string_view body) {
    COPPICE_ASSIGN_OR_RETURN(const std::string_view bytes, MessageIn(body));
    const std::unique_ptr<Message> request(basis_.method.request->New());
    COPPICE_ASSIGN_OR_RETURN(const HeldBytes held, Parse(bytes, *request));
    const auto& start = std::get<service::StreamStarter>(basis_.method.handler);
    const MutexLock lock(starting_);
    COPPICE_ASSIGN_OR_RETURN(handler_, start(FindCaller(), request.get(), *this));
    return OkStatus();
  }

  // Null until it has started. Waits while it starts, which a large request does on a lane.
  service::StreamHandlerPtr Handler() {
    const MutexLock lock(starting_);
    return handler_;
  }

  std::shared_ptr<StreamHttpCall> self_;  // until OnEnded(), because the handler holds no share
  Mutex starting_;
  service::StreamHandlerPtr handler_ ABSL_GUARDED_BY(starting_);  // null if it did not start
  std::atomic<bool> is_late_{false};
  std::atomic<bool> cancelled_{false};
};

}  // namespace

ServedMethods::ServedMethods(const ServedCalls& served) : served_(served) {
  for (const RegisteredMethod& method : served_.methods) {
    methods_.emplace(method.path, &method);
  }
}

bool ServedMethods::Has(std::string_view path) const { return methods_.contains(path); }

Judged ServedMethods::Judge(const RequestHead& head, std::string_view path,
                            const std::optional<Sha256Digest>& certificate, OpenCalls& open_calls) {
  const std::optional<CallKind> kind = KindOf(head.content_type);
  const auto refuse = [&](const Status& status) {
    return Judged{.response = ErrorResponse(kind.value_or(CallKind()), status)};
  };
  if (head.authorizations.size() > 1) return refuse(served_.gate.RefuseSeveralAuthorizations(path));
  access::Credentials credentials{.certificate_sha256 = certificate};
  if (!head.authorizations.empty()) credentials.authorization = head.authorizations[0];
  const Status admitted = served_.gate.Admit(path, credentials);
  if (!admitted.ok()) return refuse(admitted);
  const auto found = methods_.find(path);
  if (found == methods_.end()) {
    return {.response =
                PlainError(404, UnimplementedError("there is no such method: calls are POST "
                                                   "/coppice.v1.SERVICE/METHOD"))};
  }
  const RegisteredMethod& method = *found->second;
  auto record = served_.observers.log == nullptr
                    ? nullptr
                    : std::make_unique<calls::CallRecord>(served_.observers,
                                                          std::string_view(method.path).substr(1),
                                                          method.descriptor->server_streaming());
  if (record != nullptr) record->TakeId(head.request_id);
  std::vector<Trailer> own_trailers;
  if (record != nullptr) own_trailers.push_back({calls::kRequestIdKey, record->id()});
  absl::Duration deadline;
  const Status checked = CheckHeaders(head, method, kind, deadline);
  if (!checked.ok()) {
    Response response = ErrorResponse(kind.value_or(CallKind()), checked, own_trailers);
    if (record != nullptr) record->End(checked.code());
    if (!kind.has_value()) response.status = 415;
    return {.response = std::move(response)};
  }
  CallBasis basis{.served = served_,
                  .method = method,
                  .kind = *kind,
                  .credentials = std::move(credentials),
                  .deadline = deadline,
                  .body_limit = LimitOf(method),
                  .own_trailers = std::move(own_trailers),
                  .record = std::move(record),
                  .open_calls = open_calls};
  if (kind->is_stream) return {.call = std::make_shared<StreamHttpCall>(std::move(basis))};
  return {.call = std::make_shared<UnaryHttpCall>(std::move(basis))};
}

BodyLimit ServedMethods::LimitOf(const RegisteredMethod& method) const {
  const size_t most = std::min(method.max_request_bytes, served_.max_message_bytes);
  const size_t envelope = method.descriptor->server_streaming() ? kEnvelopeBytes : 0;
  return {.bytes = most + envelope, .beyond = calls::TooLargeRequest(most)};
}

Status ServedMethods::CheckHeaders(const RequestHead& head, const RegisteredMethod& method,
                                   const std::optional<CallKind>& kind,
                                   absl::Duration& deadline) const {
  if (method.descriptor->client_streaming()) {
    return UnimplementedError("this method takes a stream of messages, which works only over gRPC");
  }
  COPPICE_ASSIGN_OR_RETURN(deadline,
                           CheckCallHeaders(head, kind,
                                            {.streams = method.descriptor->server_streaming(),
                                             .body = LimitOf(method),
                                             .time = access::DeadlineOf(method.path)}));
  return OkStatus();
}

}  // namespace coppice::http
