#include "server/coppiced_access.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "server/service/status_conversion.h"

namespace coppice {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kPath[] = ":path";

absl::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

class AccessProcessor final : public grpc::AuthMetadataProcessor {
 public:
  explicit AccessProcessor(const AccessControl& access) : access_(access) {}

  // Hashing a token takes less than a change of threads.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata*) override {
    const auto path = metadata.find(kPath);
    if (path == metadata.end()) {
      return grpc::Status(grpc::StatusCode::INTERNAL, "the call does not say its method");
    }
    if (metadata.count(kAuthorization) > 1) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "send one authorization, not several");
    }
    Credentials credentials;
    if (const auto found = metadata.find(kAuthorization); found != metadata.end()) {
      credentials.authorization = std::string(ViewOf(found->second));
      consumed->emplace(kAuthorization, *credentials.authorization);
    }
    credentials.certificate_sha256 = CertificateOf(*context);
    return ToGrpcStatus(access_.policy()->Check(ViewOf(path->second), credentials, absl::Now()));
  }

 private:
  static std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context) {
    if (!context.IsPeerAuthenticated()) return std::nullopt;
    const std::vector<grpc::string_ref> certificates =
        context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (certificates.empty()) return std::nullopt;
    return CertificateSha256(ViewOf(certificates[0]));
  }

  const AccessControl& access_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(const AccessControl& access) {
  return std::make_shared<AccessProcessor>(access);
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

}  // namespace coppice
