#include "server/relay/service/http_methods.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/relay.pb.h"
#include "server/http/call_headers.h"
#include "server/http/messages/messages.h"
#include "server/http/protocol.h"
#include "server/http/responses.h"
#include "server/process/byte_load.h"

namespace coppice::relay {
namespace {

using http::BodyLimit;
using http::CallKind;
using http::Encoding;
using http::HeldBytes;
using http::Response;

// A device on a slow line gets its answer, and a call that is forgotten ends.
constexpr absl::Duration kLongestCall = absl::Seconds(60);

struct Answer {
  std::string bytes;
  HeldBytes held{};  // until it is read
};

// A request after its head, of one answer.
class DeviceCall : public http::Call, public std::enable_shared_from_this<DeviceCall> {
 public:
  struct Basis {
    DeviceCalls& calls;
    CallKind kind;
    ShownCredentials shown;
    absl::Duration deadline;
    BodyLimit body_limit;
    http::OpenCalls& open_calls;
  };
  explicit DeviceCall(Basis basis) : open_(basis.open_calls), basis_(std::move(basis)) {}

  absl::Duration deadline() const override { return basis_.deadline; }
  bool is_stream() const override { return false; }
  BodyLimit body_limit() const override { return basis_.body_limit; }
  void Start(std::string body, std::shared_ptr<http::Carrier> carrier) override {
    carrier_ = std::move(carrier);
    Run(body);
  }
  Response Refuse(const Status& status) override {
    has_ended_.store(true);
    return http::ErrorResponse(basis_.kind, status);
  }
  void Cancel(const Status& why) override {
    if (has_ended_.exchange(true)) return;
    const std::shared_ptr<http::Carrier> carrier = std::exchange(carrier_, nullptr);
    if (IsDeadlineExceeded(why)) carrier->Respond(http::ErrorResponse(basis_.kind, why));
  }

 protected:
  virtual void Run(std::string_view body) = 0;

  Encoding encoding() const { return basis_.kind.encoding; }
  Status Parse(std::string_view body, google::protobuf::Message& request) const {
    // Its fields are single and short: what is looked over takes no more than its own length.
    const auto admit = [](size_t) -> StatusOr<HeldBytes> { return HeldBytes(); };
    return http::ParseMessage(encoding(), body, admit, request).status();
  }
  void End(StatusOr<Answer> answer) {
    if (has_ended_.exchange(true)) return;
    const std::shared_ptr<http::Carrier> carrier = std::exchange(carrier_, nullptr);
    if (!answer.ok()) {
      return carrier->Respond(http::ErrorResponse(basis_.kind, answer.status()));
    }
    carrier->Respond({.head = http::HeadOf(basis_.kind, OkStatus(), {}),
                      .body = std::move(answer->bytes),
                      .held = std::move(answer->held)});
  }

  const http::OpenCalls::Token open_;  // destroyed last
  Basis basis_;

 private:
  std::atomic<bool> has_ended_{false};
  std::shared_ptr<http::Carrier> carrier_;
};

class GetTermsCall final : public DeviceCall {
 public:
  using DeviceCall::DeviceCall;
  static constexpr size_t kMostBytes = kBriefRequestBytes;

 private:
  void Run(std::string_view body) override { End(Ask(body)); }
  StatusOr<Answer> Ask(std::string_view body) const {
    v1::GetRelayTermsRequest request;
    COPPICE_RETURN_IF_ERROR(Parse(body, request));
    COPPICE_ASSIGN_OR_RETURN(const auto terms, basis_.calls.Terms(request));
    COPPICE_ASSIGN_OR_RETURN(
        std::string bytes,
        http::SerializeBytes(encoding(), *terms, v1::GetRelayTermsResponse::default_instance()));
    return Answer{std::move(bytes)};
  }
};

class TakeOfferCall final : public DeviceCall {
 public:
  using DeviceCall::DeviceCall;
  static constexpr size_t kMostBytes = kBriefRequestBytes;

 private:
  void Run(std::string_view body) override { End(Take(body)); }
  StatusOr<Answer> Take(std::string_view body) {
    v1::TakeOfferRequest request;
    COPPICE_RETURN_IF_ERROR(Parse(body, request));
    COPPICE_ASSIGN_OR_RETURN(DealtOffer offer,
                             basis_.calls.TakeOffer(request, [this] { return basis_.shown; }));
    COPPICE_ASSIGN_OR_RETURN(
        std::string bytes, http::SerializeBytes(encoding(), std::move(offer.head) + offer.envelope,
                                                v1::TakeOfferResponse::default_instance()));
    return Answer{std::move(bytes), std::move(offer.held)};
  }
};

class SubmitCall final : public DeviceCall {
 public:
  using DeviceCall::DeviceCall;
  static constexpr size_t kMostBytes = kMaxRequestBytes;

 private:
  void Run(std::string_view body) override {
    v1::SubmitSealedReportRequest report;
    const Status read = Parse(body, report);
    if (!read.ok()) return End(read);
    basis_.calls.Submit(report,
                        [call = std::static_pointer_cast<SubmitCall>(shared_from_this())](
                            const StatusOr<SubmitOutcome>& outcome) { call->Tell(outcome); });
  }
  void Tell(const StatusOr<SubmitOutcome>& outcome) {
    if (!outcome.ok()) return End(outcome.status());
    const int number = static_cast<int>(*outcome);
    // Names would have several lengths, and tell the outcome to whoever watches the line.
    if (encoding() == Encoding::kJson) return End(Answer{StrCat("{\"outcome\":", number, "}")});
    End(Answer{std::string{'\x08', static_cast<char>(number)}});
  }
};

// One token is shown, or none counts.
std::optional<std::string> TokenOf(const std::vector<std::string>& authorizations) {
  if (authorizations.size() != 1 || !StartsWithIgnoreCase(authorizations[0], "bearer ")) {
    return std::nullopt;
  }
  return authorizations[0].substr(7);
}

template <typename Method>
std::shared_ptr<http::Call> Make(DeviceCall::Basis basis) {
  return std::make_shared<Method>(std::move(basis));
}

struct RelayMethod {
  std::string_view path;
  size_t most_bytes;
  bool takes_credentials;
  std::shared_ptr<http::Call> (*make)(DeviceCall::Basis basis);
};
constexpr RelayMethod kRelayMethods[] = {
    {"/coppice.v1.RelayService/GetRelayTerms", GetTermsCall::kMostBytes, false, Make<GetTermsCall>},
    {"/coppice.v1.RelayService/TakeOffer", TakeOfferCall::kMostBytes, true, Make<TakeOfferCall>},
    {"/coppice.v1.RelayService/SubmitSealedReport", SubmitCall::kMostBytes, false,
     Make<SubmitCall>}};

const RelayMethod* FindRelayMethod(std::string_view path) {
  for (const RelayMethod& method : kRelayMethods) {
    if (method.path == path) return &method;
  }
  return nullptr;
}

}  // namespace

bool HttpMethods::Has(std::string_view path) const { return FindRelayMethod(path) != nullptr; }

http::Judged HttpMethods::Judge(const http::RequestHead& head, std::string_view path,
                                const std::optional<Sha256Digest>& certificate,
                                http::OpenCalls& open_calls) {
  const RelayMethod* const method = FindRelayMethod(path);
  if (method == nullptr) {
    return {.response = http::PlainError(
                404, UnimplementedError("there is no such method: a relay's calls are POST "
                                        "/coppice.v1.RelayService/METHOD"))};
  }
  const std::optional<CallKind> kind = http::KindOf(head.content_type);
  const bool is_json = kind.has_value() && kind->encoding == Encoding::kJson;
  const size_t most_bytes = is_json ? 2 * method->most_bytes : method->most_bytes;
  const BodyLimit limit{.bytes = most_bytes, .beyond = calls::TooLargeRequest(most_bytes)};
  const StatusOr<absl::Duration> deadline =
      http::CheckCallHeaders(head, kind, {.streams = false, .body = limit, .time = kLongestCall});
  if (!deadline.ok()) {
    Response response = http::ErrorResponse(kind.value_or(CallKind()), deadline.status());
    if (!kind.has_value()) response.status = 415;
    return {.response = std::move(response)};
  }
  ShownCredentials shown;
  if (method->takes_credentials) {
    shown = {.token = TokenOf(head.authorizations), .certificate = certificate};
  }
  return {.call = method->make({.calls = calls_,
                                .kind = *kind,
                                .shown = std::move(shown),
                                .deadline = *deadline,
                                .body_limit = limit,
                                .open_calls = open_calls})};
}

}  // namespace coppice::relay
