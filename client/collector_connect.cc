// Connect(): the address, the certificates, the channel.

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/collector.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

struct Address {
  std::string host;  // without brackets
  uint32_t port = 0;
};

absl::StatusOr<Address> ParseAddress(const std::string& server) {
  const size_t colon = server.rfind(':');
  Address address;
  if (colon != std::string::npos && colon > 0 &&
      absl::SimpleAtoi(server.substr(colon + 1), &address.port) && address.port >= 1 &&
      address.port <= 65535) {
    address.host = server.substr(0, colon);
    const bool brackets = address.host.front() == '[' && address.host.back() == ']';
    if (brackets) address.host = address.host.substr(1, address.host.size() - 2);
    const bool ambiguous = !brackets && absl::StrContains(address.host, ':');
    if (!address.host.empty() && !ambiguous && !absl::StrContains(address.host, '/'))
      return address;
  }
  return absl::InvalidArgumentError(
      "the server must be HOST:PORT with a port from 1 to 65535, and an IPv6 address in brackets");
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

absl::StatusOr<std::string> ReadFile(absl::string_view what, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  // Reading a folder opens well and fails here, as an empty file does.
  if (!file || !(bytes << file.rdbuf())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " ", path, " is empty or cannot be read"));
  }
  return std::move(bytes).str();
}

struct OpenSslDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, OpenSslDeleter>;
using CertificatePtr = std::unique_ptr<X509, OpenSslDeleter>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslDeleter>;

BioPtr ReaderOf(const std::string& bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

// Refuses to ask for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

std::vector<CertificatePtr> ParseCertificates(const std::string& pem) {
  std::vector<CertificatePtr> certificates;
  const BioPtr reader = ReaderOf(pem);
  while (X509* certificate = PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  ERR_clear_error();  // The end of the file counts as an error.
  return certificates;
}

bool HasExpired(const CertificatePtr& certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0;
}

// The certificates in `path`, at least one of which is still good.
absl::StatusOr<std::string> ReadCertificates(absl::string_view what, const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(std::string pem, ReadFile(what, path));
  const std::vector<CertificatePtr> certificates = ParseCertificates(pem);
  if (certificates.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " ", path, " is not a PEM file"));
  }
  for (const CertificatePtr& certificate : certificates) {
    if (!HasExpired(certificate)) return pem;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " ", path, " has expired; get a new one"));
}

absl::StatusOr<std::string> ReadKey(const std::string& path, const std::string& certificate_pem) {
  COPPICE_ASSIGN_OR_RETURN(std::string pem, ReadFile("private key", path));
  const KeyPtr key(PEM_read_bio_PrivateKey(ReaderOf(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the private key ", path, " is not a PEM file, or is protected by a passphrase"));
  }
  const int matches =
      X509_check_private_key(ParseCertificates(certificate_pem)[0].get(), key.get());
  ERR_clear_error();
  if (matches != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the private key ", path, " does not belong to the client certificate"));
  }
  return pem;
}

// gRPC ends the process over a header with other characters.
absl::StatusOr<std::string> ReadToken(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadFile("token file", path));
  std::string token(absl::StripAsciiWhitespace(text));
  const auto is_good = [](unsigned char c) { return absl::ascii_isgraph(c); };
  if (token.empty() || !std::all_of(token.begin(), token.end(), is_good)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token file ", path, " must hold one token on one line"));
  }
  return token;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ConnectOptions& options) {
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
  COPPICE_ASSIGN_OR_RETURN(const std::string token, ReadToken(options.token_file));
  return grpc::CompositeChannelCredentials(grpc::SslCredentials(tls),
                                           grpc::AccessTokenCredentials(token));
}

grpc::ChannelArguments MakeArguments(bool loopback) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // The channel's own waits stay below ours, or our retries would only meet its last error.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  if (loopback) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

absl::Status CheckConnectOptions(const ConnectOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.server));
  if (options.insecure && !IsLoopback(address.host)) {
    return absl::InvalidArgumentError(
        "an insecure connection is for loopback addresses only; use TLS for any other");
  }
  const bool has_files =
      !options.ca_file.empty() || !options.cert_file.empty() || !options.key_file.empty();
  if (options.insecure && has_files) {
    return absl::InvalidArgumentError("an insecure connection uses no CA, certificate or key");
  }
  if (options.insecure && !options.token_file.empty()) {
    return absl::InvalidArgumentError(
        "an insecure connection would show the token to whoever listens: use TLS, or leave the "
        "token out");
  }
  if (options.cert_file.empty() != options.key_file.empty()) {
    return absl::InvalidArgumentError("a client certificate and its private key go together");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckConnectOptions(options));
  COPPICE_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.server));
  COPPICE_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(options));
  return grpc::CreateCustomChannel(options.server, credentials,
                                   MakeArguments(IsLoopback(address.host)));
}

}  // namespace coppice
