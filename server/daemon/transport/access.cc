#include "server/daemon/transport/access.h"

#include <grpc/grpc_security_constants.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "server/daemon/transport/fronts.h"
#include "server/owners/caller.h"
#include "server/rpc/status_conversion.h"

namespace coppice::daemon {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kPath[] = ":path";

absl::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

std::optional<std::string> AuthorizationOf(const Metadata& metadata) {
  const auto found = metadata.find(kAuthorization);
  if (found == metadata.end()) return std::nullopt;
  return std::string(ViewOf(found->second));
}

std::optional<Sha256Digest> FindCertificate(CertificateSource source,
                                            const grpc::AuthContext& connection,
                                            const Metadata& metadata) {
  return source == CertificateSource::kMetadata ? ForwardedCertificate(metadata)
                                                : CertificateOf(connection);
}

class AccessProcessor final : public grpc::AuthMetadataProcessor {
 public:
  AccessProcessor(const access::AccessControl& access, AccessObservers observers,
                  CertificateSource source)
      : access_(access), observers_(std::move(observers)), source_(source) {}

  // Hashing a token takes less than a change of threads.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(kPath);
    if (path == metadata.end()) {
      return grpc::Status(grpc::StatusCode::INTERNAL, "the call does not say its method");
    }
    if (metadata.count(kAuthorization) > 1) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "send one authorization, not several");
    }
    const std::shared_ptr<const access::AccessPolicy> policy = access_.policy();
    const access::Credentials credentials{
        .authorization = AuthorizationOf(metadata),
        .certificate_sha256 = FindCertificate(source_, *context, metadata)};
    const absl::Time now = absl::Now();
    const absl::string_view method = ViewOf(path->second);
    const absl::StatusOr<access::Identity> admitted = policy->Admit(method, credentials, now);
    if (admitted.ok() && observers_.on_use != nullptr) observers_.on_use(admitted->entries, now);
    if (absl::IsPermissionDenied(admitted.status()) && observers_.on_refusal != nullptr) {
      const absl::StatusOr<access::Identity> identity = policy->Identify(credentials, now);
      if (identity.ok()) observers_.on_refusal(identity->name, method);
    }
    if (absl::IsUnauthenticated(admitted.status()) && credentials.authorization) {
      return rpc::ToGrpcStatus(LimitFailures(admitted.status()));
    }
    return rpc::ToGrpcStatus(admitted.status());
  }

 private:
  // One bucket for all: an address is easily changed, and a good token is not asked.
  absl::Status LimitFailures(const absl::Status& refusal) {
    if (failures_.Take("tokens", 1) == absl::ZeroDuration()) return refusal;
    return absl::ResourceExhaustedError(
        "too many calls show tokens that are not good here: check yours, and try again in a "
        "second");
  }

  const access::AccessControl& access_;
  const AccessObservers observers_;
  const CertificateSource source_;
  RateLimiter failures_{kFailedTokenLimit, absl::Now};
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(
    const access::AccessControl& access, AccessObservers observers, CertificateSource source) {
  return std::make_shared<AccessProcessor>(access, std::move(observers), source);
}

rpc::CallerFinder MakeCallerFinder(const access::AccessControl* access, CertificateSource source) {
  if (access == nullptr)
    return [](const grpc::CallbackServerContext&, absl::string_view) {
      return owners::Caller::Operator();
    };
  return [access, source](const grpc::CallbackServerContext& context, absl::string_view path) {
    const std::shared_ptr<const access::AccessPolicy> policy = access->policy();
    access::Credentials credentials{.authorization = AuthorizationOf(context.client_metadata())};
    // Reading a certificate costs more than all else that is done here.
    if (!policy->certificates().empty()) {
      credentials.certificate_sha256 =
          FindCertificate(source, *context.auth_context(), context.client_metadata());
    }
    return policy->CallerOf(path, credentials, absl::Now());
  };
}

std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const std::vector<grpc::string_ref> certificates =
      context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificates.empty()) return std::nullopt;
  return CertificateSha256(ViewOf(certificates[0]));
}

std::optional<Sha256Digest> CertificateSha256(absl::string_view pem) {
  constexpr absl::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr absl::string_view kEnd = "-----END CERTIFICATE-----";
  const size_t begin = pem.find(kBegin);
  const size_t end = pem.find(kEnd);
  if (begin == absl::string_view::npos || end == absl::string_view::npos) return std::nullopt;
  if (end < begin + kBegin.size()) return std::nullopt;
  std::string der;
  const size_t body = begin + kBegin.size();
  if (!absl::Base64Unescape(pem.substr(body, end - body), &der)) return std::nullopt;
  return Sha256({der});
}

}  // namespace coppice::daemon
