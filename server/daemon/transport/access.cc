#include "server/daemon/transport/access.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "server/owners/caller.h"
#include "server/rpc/status_conversion.h"

namespace coppice::daemon {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kPath[] = ":path";

absl::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const std::vector<grpc::string_ref> certificates =
      context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificates.empty()) return std::nullopt;
  return CertificateSha256(ViewOf(certificates[0]));
}

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

std::optional<std::string> AuthorizationOf(const Metadata& metadata) {
  const auto found = metadata.find(kAuthorization);
  if (found == metadata.end()) return std::nullopt;
  return std::string(ViewOf(found->second));
}

class AccessProcessor final : public grpc::AuthMetadataProcessor {
 public:
  AccessProcessor(const access::AccessControl& access, RefusalObserver on_refusal)
      : access_(access), on_refusal_(std::move(on_refusal)) {}

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
    const access::Credentials credentials{.authorization = AuthorizationOf(metadata),
                                          .certificate_sha256 = CertificateOf(*context)};
    const absl::Time now = absl::Now();
    const absl::Status allowed = policy->Check(ViewOf(path->second), credentials, now);
    if (absl::IsPermissionDenied(allowed) && on_refusal_ != nullptr) {
      const absl::StatusOr<access::Identity> identity = policy->Identify(credentials, now);
      if (identity.ok()) on_refusal_(identity->name, ViewOf(path->second));
    }
    return rpc::ToGrpcStatus(allowed);
  }

 private:
  const access::AccessControl& access_;
  const RefusalObserver on_refusal_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(
    const access::AccessControl& access, RefusalObserver on_refusal) {
  return std::make_shared<AccessProcessor>(access, std::move(on_refusal));
}

rpc::CallerFinder MakeCallerFinder(const access::AccessControl* access) {
  if (access == nullptr)
    return [](const grpc::CallbackServerContext&, absl::string_view) {
      return owners::Caller::Operator();
    };
  return [access](const grpc::CallbackServerContext& context, absl::string_view path) {
    const std::shared_ptr<const access::AccessPolicy> policy = access->policy();
    access::Credentials credentials{.authorization = AuthorizationOf(context.client_metadata())};
    // Reading a certificate costs more than all else that is done here.
    if (!policy->certificates().empty()) {
      credentials.certificate_sha256 = CertificateOf(*context.auth_context());
    }
    return policy->CallerOf(path, credentials, absl::Now());
  };
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
