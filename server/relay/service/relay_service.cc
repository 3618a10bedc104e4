#include "server/relay/service/relay_service.h"

#include <google/protobuf/descriptor.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/server_callback.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"
#include "common/wire/proto/message_walk.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "coppice/v1/relay.pb.h"
#include "server/process/byte_load.h"
#include "server/process/grpc_status.h"
#include "server/process/retry_after.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// A message that unfolds when it is parsed is refused before that.
Status LookOver(ByteBuffer& bytes, const google::protobuf::Descriptor& type) {
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return InvalidArgumentError("the call has no request");
  return MeasureMessage(reader, type).status();
}

template <typename Message>
Status Parse(const ByteBuffer& bytes, size_t most, Message& message) {
  if (bytes.Length() > most) return calls::TooLargeRequest(most);
  ByteBuffer shared = bytes;  // shares the same slices; reading needs a mutable buffer
  COPPICE_RETURN_IF_ERROR(LookOver(shared, *Message::descriptor()));
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return OkStatus();
  return UnreadableRequest(*Message::descriptor());
}

// What gRPC sends, with the time to wait beside it.
grpc::Status StatusFor(CallbackServerContext& context, const Status& status) {
  if (const auto wait = service::WaitOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", StrCat(absl::ToInt64Milliseconds(*wait)));
  }
  return ToGrpcStatus(status);
}

ServerUnaryReactor* End(CallbackServerContext& context, const Status& status) {
  ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(StatusFor(context, status));
  return reactor;
}

std::optional<std::string> TokenOf(const CallbackServerContext& context) {
  const auto [first, end] = context.client_metadata().equal_range("authorization");
  if (first == end || std::next(first) != end) return std::nullopt;
  std::string_view value(first->second.data(), first->second.size());
  if (!StartsWithIgnoreCase(value, "bearer ")) return std::nullopt;
  return std::string(value.substr(7));
}

std::optional<Sha256Digest> CertificateOf(const CallbackServerContext& context) {
  const auto peer = context.auth_context();
  if (peer == nullptr) return std::nullopt;
  const auto values = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (values.size() != 1) return std::nullopt;
  const PemCertificates read = CertificatesFromPem({values[0].data(), values[0].size()});
  Sha256Digest digest{};
  unsigned size = 0;
  if (read.certificates.size() != 1 ||
      X509_digest(read.certificates[0].get(), EVP_sha256(), digest.data(), &size) != 1 ||
      size != digest.size()) {
    return std::nullopt;
  }
  return digest;
}

ShownCredentials CredentialsOf(const CallbackServerContext& context) {
  return {.token = TokenOf(context), .certificate = CertificateOf(context)};
}

// Keeps `owner` alive, and with it `bytes`, until gRPC has sent them, without a copy.
template <typename Owner>
grpc::Slice SliceOf(Owner owner, std::string_view bytes) {
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* owned) { delete static_cast<Owner*>(owned); }, new Owner(std::move(owner)));
}

// A serialized TakeOfferResponse.
ByteBuffer OfferAnswer(std::string head, std::string envelope) {
  auto owned = std::make_shared<const std::string>(std::move(envelope));
  const std::string_view bytes = *owned;
  const std::array<grpc::Slice, 2> slices = {grpc::Slice(head), SliceOf(std::move(owned), bytes)};
  return ByteBuffer(slices.data(), slices.size());
}

// Returns a serialized SubmitSealedReportResponse: two bytes, whatever the outcome.
ByteBuffer OutcomeAnswer(SubmitOutcome outcome) {
  const char bytes[] = {'\x08', static_cast<char>(outcome)};
  const grpc::Slice slice(bytes, sizeof(bytes));
  return ByteBuffer(&slice, 1);
}

// Counts the memory of an offer until its device has read it.
class OfferReactor final : public ServerUnaryReactor {
 public:
  explicit OfferReactor(calls::HeldBytes held) : held_(std::move(held)) {}
  void OnDone() override { delete this; }

 private:
  const calls::HeldBytes held_;
};

using RawRelayService = v1::RelayService::WithRawCallbackMethod_GetRelayTerms<
    v1::RelayService::WithRawCallbackMethod_TakeOffer<
        v1::RelayService::WithRawCallbackMethod_SubmitSealedReport<v1::RelayService::Service>>>;

}  // namespace

class RelayService::Methods final : public RawRelayService {
 public:
  explicit Methods(DeviceCalls& calls) : calls_(calls) {}

  ServerUnaryReactor* GetRelayTerms(CallbackServerContext* context, const ByteBuffer* request,
                                    ByteBuffer* response) override {
    v1::GetRelayTermsRequest asked;
    const Status read = Parse(*request, kBriefRequestBytes, asked);
    if (!read.ok()) return End(*context, read);
    StatusOr<std::shared_ptr<const std::string>> terms = calls_.Terms(asked);
    if (!terms.ok()) return End(*context, terms.status());
    const std::string_view bytes = **terms;
    const grpc::Slice slice = SliceOf(*std::move(terms), bytes);
    *response = ByteBuffer(&slice, 1);
    return End(*context, OkStatus());
  }

  ServerUnaryReactor* TakeOffer(CallbackServerContext* context, const ByteBuffer* request,
                                ByteBuffer* response) override {
    v1::TakeOfferRequest asked;
    const Status read = Parse(*request, kBriefRequestBytes, asked);
    if (!read.ok()) return End(*context, read);
    StatusOr<DealtOffer> offer =
        calls_.TakeOffer(asked, [context] { return CredentialsOf(*context); });
    if (!offer.ok()) return End(*context, offer.status());
    auto* const reactor = new OfferReactor(std::move(offer->held));  // deletes itself
    *response = OfferAnswer(std::move(offer->head), std::move(offer->envelope));
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  ServerUnaryReactor* SubmitSealedReport(CallbackServerContext* context, const ByteBuffer* request,
                                         ByteBuffer* response) override {
    v1::SubmitSealedReportRequest report;
    const Status read = Parse(*request, kMaxRequestBytes, report);
    if (!read.ok()) return End(*context, read);
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    calls_.Submit(report, [context, reactor, response](const StatusOr<SubmitOutcome>& outcome) {
      if (outcome.ok()) *response = OutcomeAnswer(*outcome);
      reactor->Finish(StatusFor(*context, outcome.status()));
    });
    return reactor;
  }

 private:
  DeviceCalls& calls_;
};

RelayService::RelayService(DeviceCalls& calls) : methods_(std::make_unique<Methods>(calls)) {}
RelayService::~RelayService() = default;

void RelayService::RegisterWith(grpc::ServerBuilder& builder) {
  builder.RegisterService(methods_.get());
}

}  // namespace coppice::relay
