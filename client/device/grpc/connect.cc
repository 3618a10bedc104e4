// Connect(): the address, the certificates, the channel.

#include "client/device/grpc/connect.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/grpc/proxy.h"
#include "client/device/grpc/server_address.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"

namespace coppice {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

StatusOr<std::string> ReadNamedFile(std::string_view what, const std::string& path) {
  StatusOr<std::string> bytes = ReadTextFile(path);
  if (bytes.ok()) return bytes;
  return InvalidArgumentError(StrCat("the ", what, " ", bytes.status().message()));
}

bool HasExpired(const CertificatePtr& certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0;
}

// The certificates in `path`, at least one of which has not expired.
StatusOr<std::string> ReadCertificates(std::string_view what, const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(std::string pem, ReadNamedFile(what, path));
  const std::vector<CertificatePtr> certificates = CertificatesFromPem(pem).certificates;
  if (certificates.empty()) {
    return InvalidArgumentError(StrCat("the ", what, " ", path, " is not a PEM file"));
  }
  for (const CertificatePtr& certificate : certificates) {
    if (!HasExpired(certificate)) return pem;
  }
  return InvalidArgumentError(StrCat("the ", what, " ", path, " has expired; get a new one"));
}

StatusOr<std::string> ReadKey(const std::string& path, const std::string& certificate_pem) {
  COPPICE_ASSIGN_OR_RETURN(std::string pem, ReadNamedFile("private key", path));
  const KeyPtr key = PrivateKeyFromPem(pem);
  if (key == nullptr) {
    return InvalidArgumentError(
        StrCat("the private key ", path, " is not a PEM file, or is protected by a passphrase"));
  }
  const int matches =
      X509_check_private_key(CertificatesFromPem(certificate_pem).certificates[0].get(), key.get());
  ERR_clear_error();
  if (matches != 1) {
    return InvalidArgumentError(
        StrCat("the private key ", path, " does not belong to the client certificate"));
  }
  return pem;
}

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const ConnectOptions& options) {
  if (options.insecure) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  if (!options.ca_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(tls.pem_root_certs, ReadCertificates("CA file", options.ca_file));
  }
  if (!options.cert_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(tls.pem_cert_chain,
                             ReadCertificates("client certificate", options.cert_file));
    COPPICE_ASSIGN_OR_RETURN(tls.pem_private_key, ReadKey(options.key_file, tls.pem_cert_chain));
  }
  if (options.token_file.empty()) return grpc::SslCredentials(tls);
  COPPICE_ASSIGN_OR_RETURN(const std::string token, ReadTokenFile(options.token_file));
  return grpc::CompositeChannelCredentials(grpc::SslCredentials(tls),
                                           grpc::AccessTokenCredentials(token));
}

grpc::ChannelArguments MakeArguments(const ServerAddress& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // gRPC checks the size of an answer before it decompresses it: a megabyte from a hostile curator
  // would take a gigabyte. So none is asked for, and a compressed answer ends the call.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  // The channel's own waits stay below ours, or our retries would only meet its last error.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  const std::optional<Proxy> proxy = ProxyFor(server);
  if (proxy.has_value()) {
    arguments.SetString(GRPC_ARG_HTTP_PROXY, proxy->url);
  } else {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  return arguments;
}

}  // namespace

// Takes visible ASCII only: gRPC ends the process over a header with other characters.
StatusOr<std::string> ReadTokenFile(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadNamedFile("token file", path));
  std::string token(StripAsciiWhitespace(text));
  const auto is_good = [](char c) { return IsAsciiGraph(c); };
  if (token.empty() || !std::all_of(token.begin(), token.end(), is_good)) {
    return InvalidArgumentError(
        StrCat("the token file ", path, " must hold one token on one line"));
  }
  return token;
}

Status CheckConnectOptions(const ConnectOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const ServerAddress address, ParseServerAddress(options.server));
  if (options.insecure && !address.is_loopback()) {
    return InvalidArgumentError(
        "an insecure connection is for loopback addresses only; use TLS for any other");
  }
  const bool has_files =
      !options.ca_file.empty() || !options.cert_file.empty() || !options.key_file.empty();
  if (options.insecure && has_files) {
    return InvalidArgumentError("an insecure connection uses no CA, certificate or key");
  }
  if (options.insecure && !options.token_file.empty()) {
    return InvalidArgumentError(
        "an insecure connection would show the token to whoever listens: use TLS, or leave the "
        "token out");
  }
  if (options.cert_file.empty() != options.key_file.empty()) {
    return InvalidArgumentError("a client certificate and its private key go together");
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckConnectOptions(options));
  COPPICE_ASSIGN_OR_RETURN(const ServerAddress address, ParseServerAddress(options.server));
  COPPICE_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(options));
  return grpc::CreateCustomChannel(options.server, credentials, MakeArguments(address));
}

}  // namespace coppice
