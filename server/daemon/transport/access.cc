#include "server/daemon/transport/access.h"

#include <grpc/grpc_security_constants.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::daemon {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kPath[] = ":path";

std::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

std::optional<std::string> AuthorizationOf(const Metadata& metadata) {
  const auto found = metadata.find(kAuthorization);
  if (found == metadata.end()) return std::nullopt;
  return std::string(ViewOf(found->second));
}

class AccessProcessor final : public grpc::AuthMetadataProcessor {
 public:
  explicit AccessProcessor(calls::AccessGate& gate) : gate_(gate) {}

  // Hashing a token takes less time than switching threads.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    return rpc::ToGrpcStatus(Judge(metadata, *context));
  }

 private:
  Status Judge(const InputMetadata& metadata, const grpc::AuthContext& context) {
    const auto found = metadata.find(kPath);
    if (found == metadata.end()) {
      return gate_.Refuse("", InternalError("the call names no method"));
    }
    const std::string_view path = ViewOf(found->second);
    if (metadata.count(kAuthorization) > 1) return gate_.RefuseSeveralAuthorizations(path);
    return gate_.Admit(path, {.authorization = AuthorizationOf(metadata),
                              .certificate_sha256 = CertificateOf(context)});
  }

  calls::AccessGate& gate_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(calls::AccessGate& gate) {
  return std::make_shared<AccessProcessor>(gate);
}

rpc::CallerFinder MakeCallerFinder(const calls::AccessGate& gate) {
  return [&gate](const grpc::CallbackServerContext& context, std::string_view path) {
    access::Credentials credentials;
    if (gate.has_policy()) credentials.authorization = AuthorizationOf(context.client_metadata());
    if (gate.LooksAtCertificates()) {
      credentials.certificate_sha256 = CertificateOf(*context.auth_context());
    }
    return gate.CallerOf(path, credentials);
  };
}

std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const std::vector<grpc::string_ref> certificates =
      context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificates.empty()) return std::nullopt;
  return CertificateSha256(ViewOf(certificates[0]));
}

std::optional<Sha256Digest> CertificateSha256(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const size_t begin = pem.find(kBegin);
  const size_t end = pem.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  if (end < begin + kBegin.size()) return std::nullopt;
  std::string der;
  const size_t body = begin + kBegin.size();
  if (!Base64Unescape(pem.substr(body, end - body), &der)) return std::nullopt;
  return Sha256({der});
}

}  // namespace coppice::daemon
