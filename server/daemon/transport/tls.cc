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

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"

namespace coppice::daemon {
namespace {

bool SameKey(const X509& a, const X509& b) {
  return EVP_PKEY_eq(X509_get0_pubkey(&a), X509_get0_pubkey(&b)) == 1;
}

bool IsIssuedBy(X509& certificate, const X509& authority) {
  const bool issued = X509_verify(&certificate, X509_get0_pubkey(&authority)) == 1;
  ERR_clear_error();
  return issued;
}

// Whether a certificate in `chain` is one of the authorities or was issued by one.
bool LeadsTo(const std::vector<CertificatePtr>& chain, const PemCertificates& authorities) {
  return std::any_of(chain.begin(), chain.end(), [&](const CertificatePtr& certificate) {
    return std::any_of(authorities.certificates.begin(), authorities.certificates.end(),
                       [&](const CertificatePtr& authority) {
                         return SameKey(*certificate, *authority) ||
                                IsIssuedBy(*certificate, *authority);
                       });
  });
}

Status CheckPeerCertificate(const std::string& path, const std::string& pem,
                            const std::string& peer_ca, const PemCertificates& authorities) {
  const PemCertificates chain = CertificatesFromPem(pem);
  if (chain.certificates.empty() || !LeadsTo(chain.certificates, authorities)) {
    return InvalidArgumentError(
        StrCat("--peer-cert ", path, ": is not of the authority in --peer-ca ", peer_ca,
               ", so no other curator would take it; have it issued by that authority"));
  }
  X509* const own = chain.certificates.front().get();
  if (X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) == 1 &&
      X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) == 1) {
    return OkStatus();
  }
  return InvalidArgumentError(
      StrCat("--peer-cert ", path,
             ": may not be shown both by a server and by a client, as curators of a fleet "
             "do; have it issued with extendedKeyUsage = serverAuth, clientAuth"));
}

// The server speaks only HTTP/1.1; a client that offers only other protocols gets an alert.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int match =
      SSL_select_next_proto(&found, chosen_size, kHttp, sizeof(kHttp) - 1, offered, offered_size);
  *chosen = found;
  return match == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// The first certificate is the server's; the others lead to an authority.
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

StatusOr<std::shared_ptr<SSL_CTX>> MakeHttpTls(const TlsFiles& files) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const KeyPtr key = PrivateKeyFromPem(files.key);
  const bool made = context != nullptr && key != nullptr &&
                    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
                    UseChain(*context, files.certificate) &&
                    SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                    (files.client_ca.empty() || AskClients(*context, files.client_ca));
  if (!made) {
    ERR_clear_error();
    return InternalError("OpenSSL does not take the certificate for --http-listen");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  return context;
}

StatusOr<TlsFiles> LoadPeerTlsFiles(const std::string& certificate, const std::string& key,
                                    const std::string& peer_ca, const std::string& client_ca,
                                    absl::Time now) {
  COPPICE_ASSIGN_OR_RETURN(
      TlsFiles files,
      LoadTlsFiles({.certificate = "--peer-cert", .key = "--peer-key", .authority = "--peer-ca"},
                   certificate, key, peer_ca, now));
  const PemCertificates authorities = CertificatesFromPem(files.client_ca);
  COPPICE_RETURN_IF_ERROR(
      CheckPeerCertificate(certificate, files.certificate, peer_ca, authorities));
  if (client_ca.empty()) return files;
  COPPICE_ASSIGN_OR_RETURN(const std::string clients, ReadFlaggedFile("--client-ca", client_ca));
  if (LeadsTo(CertificatesFromPem(clients).certificates, authorities)) {
    return InvalidArgumentError(
        StrCat("--peer-ca ", peer_ca, ": is an authority of --client-ca ", client_ca,
               ", too, so that a client could pass as a curator and call in any name; make "
               "an authority for curators alone"));
  }
  return files;
}

http::TlsSource MakeTlsSource(const Certificates& certificates) {
  return [&certificates, version = uint64_t{0},
          context = std::shared_ptr<SSL_CTX>()]() mutable -> std::shared_ptr<SSL_CTX> {
    const std::optional<TlsFiles> files = certificates.ChangedSince(version);
    if (files.has_value()) {
      StatusOr<std::shared_ptr<SSL_CTX>> made = MakeHttpTls(*files);
      if (made.ok()) context = *std::move(made);
    }
    return context;
  };
}

}  // namespace coppice::daemon
