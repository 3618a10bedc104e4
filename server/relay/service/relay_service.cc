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

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"
#include "common/wire/proto/message_walk.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "coppice/v1/relay.pb.h"
#include "server/process/grpc_status.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr char kPushback[] = "grpc-retry-pushback-ms";
constexpr char kPushbackUnderLoad[] = "2000";

// A message that unfolds when it is parsed is refused before that.
Status LookOver(ByteBuffer& bytes, const google::protobuf::Descriptor& type) {
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return InvalidArgumentError("the call has no request");
  return MeasureMessage(reader, type).status();
}

template <typename Message>
Status Parse(const ByteBuffer& bytes, size_t most, Message& message) {
  if (bytes.Length() > most) {
    return ResourceExhaustedError(
        StrCat("the request is larger than ", most, " bytes, the limit of this method"));
  }
  ByteBuffer shared = bytes;  // shares the same slices; reading needs a mutable buffer
  COPPICE_RETURN_IF_ERROR(LookOver(shared, *Message::descriptor()));
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return OkStatus();
  return InvalidArgumentError(
      "the request is not a message of this method: its bytes do not parse, or a string in it is "
      "not UTF-8");
}

grpc::Status UnderLoad(CallbackServerContext& context) {
  context.AddTrailingMetadata(kPushback, kPushbackUnderLoad);
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "the relay has too much to do just now; come again a little later"};
}

ServerUnaryReactor* End(CallbackServerContext& context, const grpc::Status& status) {
  ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(status);
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

// Returns a serialized TakeOfferResponse.
ByteBuffer OfferAnswer(std::string envelope) {
  std::string head(1, '\x0a');  // field 1, length-delimited
  size_t size = envelope.size();
  for (; size >= 0x80; size >>= 7) head.push_back(static_cast<char>((size & 0x7f) | 0x80));
  head.push_back(static_cast<char>(size));
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
  OfferReactor(std::atomic<uint64_t>& bytes, size_t size) : bytes_(bytes), size_(size) {
    bytes_.fetch_add(size_, std::memory_order_relaxed);
  }
  void OnDone() override {
    bytes_.fetch_sub(size_, std::memory_order_relaxed);
    delete this;
  }

 private:
  std::atomic<uint64_t>& bytes_;
  const size_t size_;
};

using RawRelayService = v1::RelayService::WithRawCallbackMethod_GetRelayTerms<
    v1::RelayService::WithRawCallbackMethod_TakeOffer<
        v1::RelayService::WithRawCallbackMethod_SubmitSealedReport<v1::RelayService::Service>>>;

}  // namespace

class RelayService::Calls final : public RawRelayService {
 public:
  Calls(Relay& relay, Admission& admission, const ServiceLimits& limits)
      : relay_(relay), admission_(admission), limits_(limits) {}

  ServerUnaryReactor* GetRelayTerms(CallbackServerContext* context, const ByteBuffer* request,
                                    ByteBuffer* response) override {
    v1::GetRelayTermsRequest asked;
    const Status read = Parse(*request, kBriefRequestBytes, asked);
    if (!read.ok()) return End(*context, ToGrpcStatus(read));
    StatusOr<std::shared_ptr<const std::string>> terms = relay_.Terms(asked.study());
    if (!terms.ok()) return End(*context, ToGrpcStatus(terms.status()));
    const std::string_view bytes = **terms;
    const grpc::Slice slice = SliceOf(*std::move(terms), bytes);
    *response = ByteBuffer(&slice, 1);
    return End(*context, grpc::Status::OK);
  }

  ServerUnaryReactor* TakeOffer(CallbackServerContext* context, const ByteBuffer* request,
                                ByteBuffer* response) override {
    v1::TakeOfferRequest asked;
    const Status read = Parse(*request, kBriefRequestBytes, asked);
    if (!read.ok()) return End(*context, ToGrpcStatus(read));
    if (IsUnderLoad()) {
      refused_by_load_.fetch_add(1, std::memory_order_relaxed);
      return End(*context, UnderLoad(*context));
    }
    StatusOr<std::string> envelope =
        relay_.TakeOffer(asked.study(), asked.epoch(), [&](const EpochId& epoch) {
          const Status admitted = admission_.Admit(asked.study(), epoch, CredentialsOf(*context));
          if (!admitted.ok()) refused_by_admission_.fetch_add(1, std::memory_order_relaxed);
          return admitted;
        });
    if (!envelope.ok()) return End(*context, ToGrpcStatus(envelope.status()));
    auto* const reactor = new OfferReactor(offer_bytes_, envelope->size());  // deletes itself
    *response = OfferAnswer(*std::move(envelope));
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  ServerUnaryReactor* SubmitSealedReport(CallbackServerContext* context, const ByteBuffer* request,
                                         ByteBuffer* response) override {
    v1::SubmitSealedReportRequest report;
    const Status read = Parse(*request, kMaxRequestBytes, report);
    if (!read.ok()) return End(*context, ToGrpcStatus(read));
    if (pending_reports_.fetch_add(1, std::memory_order_relaxed) >= limits_.pending_reports) {
      pending_reports_.fetch_sub(1, std::memory_order_relaxed);
      refused_by_load_.fetch_add(1, std::memory_order_relaxed);
      return End(*context, UnderLoad(*context));
    }
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    relay_.Submit(report.epoch(),
                  {.ticket = std::move(*report.mutable_ticket()),
                   .claim = std::move(*report.mutable_claim()),
                   .encapsulated = std::move(*report.mutable_encapsulated()),
                   .ciphertext = std::move(*report.mutable_ciphertext())},
                  [this, context, reactor, response](StatusOr<SubmitOutcome> outcome) {
                    pending_reports_.fetch_sub(1, std::memory_order_relaxed);
                    if (outcome.ok()) *response = OutcomeAnswer(*outcome);
                    if (IsResourceExhausted(outcome.status())) {
                      context->AddTrailingMetadata(kPushback, kPushbackUnderLoad);
                    }
                    reactor->Finish(ToGrpcStatus(outcome.status()));
                  });
    return reactor;
  }

  ServiceTotals totals() const {
    return {.refused_by_admission = refused_by_admission_.load(std::memory_order_relaxed),
            .refused_by_load = refused_by_load_.load(std::memory_order_relaxed)};
  }

 private:
  bool IsUnderLoad() const {
    return pending_reports_.load(std::memory_order_relaxed) >= limits_.pending_reports / 2 ||
           offer_bytes_.load(std::memory_order_relaxed) >= limits_.offer_bytes;
  }

  Relay& relay_;
  Admission& admission_;
  const ServiceLimits limits_;
  std::atomic<uint64_t> pending_reports_{0};
  std::atomic<uint64_t> offer_bytes_{0};
  std::atomic<uint64_t> refused_by_admission_{0};
  std::atomic<uint64_t> refused_by_load_{0};
};

RelayService::RelayService(Relay& relay, Admission& admission, const ServiceLimits& limits)
    : calls_(std::make_unique<Calls>(relay, admission, limits)) {}
RelayService::~RelayService() = default;

void RelayService::RegisterWith(grpc::ServerBuilder& builder) {
  builder.RegisterService(calls_.get());
}

ServiceTotals RelayService::totals() const { return calls_->totals(); }

}  // namespace coppice::relay
