#include "server/daemon/transport/tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/study/pem.h"

namespace coppice::daemon {
namespace {

absl::StatusOr<std::string> ReadFlagged(absl::string_view flag, const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(), absl::StrCat(flag, " ", bytes.status().message()));
}

// The certificates after the first are the chain to the authority; each must be one.
absl::StatusOr<CertificatePtr> ParseCertificate(absl::string_view flag, const std::string& path,
                                                const std::string& pem) {
  PemCertificates read = CertificatesFromPem(pem);
  if (read.certificates.empty() || !read.whole) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", path,
                                                   ": is no certificate in PEM form "
                                                   "(-----BEGIN CERTIFICATE-----)"));
  }
  return std::move(read.certificates.front());
}

absl::StatusOr<KeyPtr> ParseKey(absl::string_view flag, const std::string& path,
                                const std::string& pem) {
  KeyPtr key = PrivateKeyFromPem(pem);
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", path,
                     ": is no private key in PEM form without a passphrase "
                     "(-----BEGIN PRIVATE KEY-----)"));
  }
  return key;
}

std::string DateOf(const ASN1_TIME* time) {
  std::tm date{};
  if (ASN1_TIME_to_tm(time, &date) != 1) return "an unknown time";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromTM(date, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

absl::Status CheckDates(absl::string_view flag, const std::string& path, const X509& certificate,
                        absl::Time now) {
  time_t seconds = absl::ToTimeT(now);
  const ASN1_TIME* begin = X509_get0_notBefore(&certificate);
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_time(begin, &seconds) > 0) {
    return absl::FailedPreconditionError(absl::StrCat(flag, " ", path, ": is not valid before ",
                                                      DateOf(begin),
                                                      "; check this machine's clock, or wait"));
  }
  if (X509_cmp_time(end, &seconds) <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(flag, " ", path, ": expired at ", DateOf(end),
                                                      "; renew it (deploy/make-certs.sh makes one "
                                                      "for testing)"));
  }
  return absl::OkStatus();
}

bool SameKey(const X509& a, const X509& b) {
  return EVP_PKEY_eq(X509_get0_pubkey(&a), X509_get0_pubkey(&b)) == 1;
}

bool IsIssuedBy(X509& certificate, const X509& authority) {
  const bool issued = X509_verify(&certificate, X509_get0_pubkey(&authority)) == 1;
  ERR_clear_error();
  return issued;
}

// Whether one of them is an authority of those, or was issued by one.
bool LeadsTo(const std::vector<CertificatePtr>& chain, const PemCertificates& authorities) {
  return std::any_of(chain.begin(), chain.end(), [&](const CertificatePtr& certificate) {
    return std::any_of(authorities.certificates.begin(), authorities.certificates.end(),
                       [&](const CertificatePtr& authority) {
                         return SameKey(*certificate, *authority) ||
                                IsIssuedBy(*certificate, *authority);
                       });
  });
}

absl::Status CheckPeerCertificate(const std::string& path, const std::string& pem,
                                  const std::string& peer_ca, const PemCertificates& authorities) {
  const PemCertificates chain = CertificatesFromPem(pem);
  if (chain.certificates.empty() || !LeadsTo(chain.certificates, authorities)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--peer-cert ", path, ": is not of the authority in --peer-ca ", peer_ca,
                     ", so no other curator would take it; have it issued by that authority"));
  }
  X509* const own = chain.certificates.front().get();
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) == 1 &&
      X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) == 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--peer-cert ", path,
                   ": may not be shown both by a server and by a client, as curators of a fleet "
                   "do; have it issued with extendedKeyUsage = serverAuth, clientAuth"));
}

// The flags that name the files, for messages.
struct TlsFlags {
  absl::string_view certificate, key, authority;
};

absl::StatusOr<TlsFiles> LoadPair(const TlsFlags& flags, const std::string& certificate,
                                  const std::string& key, absl::Time now) {
  TlsFiles files;
  COPPICE_ASSIGN_OR_RETURN(files.certificate, ReadFlagged(flags.certificate, certificate));
  COPPICE_ASSIGN_OR_RETURN(files.key, ReadFlagged(flags.key, key));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr parsed,
                           ParseCertificate(flags.certificate, certificate, files.certificate));
  COPPICE_ASSIGN_OR_RETURN(const KeyPtr parsed_key, ParseKey(flags.key, key, files.key));
  if (X509_check_private_key(parsed.get(), parsed_key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat(flags.key, " ", key, ": is not the key of the certificate in ", certificate,
                     "; give the two that were made "
                     "together"));
  }
  COPPICE_RETURN_IF_ERROR(CheckDates(flags.certificate, certificate, *parsed, now));
  std::tm end{};
  ASN1_TIME_to_tm(X509_get0_notAfter(parsed.get()), &end);
  files.expires = absl::FromTM(end, absl::UTCTimeZone());
  return files;
}

absl::StatusOr<TlsFiles> LoadAll(const TlsFlags& flags, const std::string& certificate,
                                 const std::string& key, const std::string& authority,
                                 absl::Time now) {
  COPPICE_ASSIGN_OR_RETURN(TlsFiles files, LoadPair(flags, certificate, key, now));
  if (authority.empty()) return files;
  COPPICE_ASSIGN_OR_RETURN(files.client_ca, ReadFlagged(flags.authority, authority));
  COPPICE_ASSIGN_OR_RETURN(const CertificatePtr parsed,
                           ParseCertificate(flags.authority, authority, files.client_ca));
  COPPICE_RETURN_IF_ERROR(CheckDates(flags.authority, authority, *parsed, now));
  return files;
}

// HTTP/1.1 is all that is spoken; a client that offers others alone is told so.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int match =
      SSL_select_next_proto(&found, chosen_size, kHttp, sizeof(kHttp) - 1, offered, offered_size);
  *chosen = found;
  return match == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// The first is the server's, those after it lead to an authority.
bool UseChain(SSL_CTX& context, const std::string& pem) {
  PemCertificates chain = CertificatesFromPem(pem);
  if (chain.certificates.empty()) return false;
  bool used = SSL_CTX_use_certificate(&context, chain.certificates[0].get()) == 1;
  for (size_t i = 1; i < chain.certificates.size(); ++i) {
    used = used && SSL_CTX_add1_chain_cert(&context, chain.certificates[i].get()) == 1;
  }
  return used;
}

bool AskClients(SSL_CTX& context, const std::string& authorities) {
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  for (const CertificatePtr& authority : CertificatesFromPem(authorities).certificates) {
    if (X509_STORE_add_cert(store, authority.get()) != 1) return false;
    if (SSL_CTX_add_client_CA(&context, authority.get()) != 1) return false;
  }
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return true;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SSL_CTX>> MakeHttpTls(const TlsFiles& files) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const KeyPtr key = PrivateKeyFromPem(files.key);
  const bool made = context != nullptr && key != nullptr &&
                    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
                    UseChain(*context, files.certificate) &&
                    SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                    (files.client_ca.empty() || AskClients(*context, files.client_ca));
  if (!made) {
    ERR_clear_error();
    return absl::InternalError("OpenSSL does not take the certificate for --http-listen");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  return context;
}

absl::StatusOr<TlsFiles> LoadTlsFiles(const std::string& certificate, const std::string& key,
                                      const std::string& client_ca, absl::Time now) {
  return LoadAll({.certificate = "--tls-cert", .key = "--tls-key", .authority = "--client-ca"},
                 certificate, key, client_ca, now);
}

absl::StatusOr<TlsFiles> LoadPeerTlsFiles(const std::string& certificate, const std::string& key,
                                          const std::string& peer_ca, const std::string& client_ca,
                                          absl::Time now) {
  COPPICE_ASSIGN_OR_RETURN(
      TlsFiles files,
      LoadAll({.certificate = "--peer-cert", .key = "--peer-key", .authority = "--peer-ca"},
              certificate, key, peer_ca, now));
  const PemCertificates authorities = CertificatesFromPem(files.client_ca);
  COPPICE_RETURN_IF_ERROR(
      CheckPeerCertificate(certificate, files.certificate, peer_ca, authorities));
  if (client_ca.empty()) return files;
  COPPICE_ASSIGN_OR_RETURN(const std::string clients, ReadFlagged("--client-ca", client_ca));
  if (LeadsTo(CertificatesFromPem(clients).certificates, authorities)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--peer-ca ", peer_ca, ": is an authority of --client-ca ", client_ca,
                     ", too, so that a client could pass as a curator and call in any name; make "
                     "an authority for curators alone"));
  }
  return files;
}

}  // namespace coppice::daemon
