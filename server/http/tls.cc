#include "server/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/base/status.h"
#include "common/terms/pem.h"

namespace coppice::http {
namespace {

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

TlsSource MakeTlsSource(const Certificates& certificates) {
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

}  // namespace coppice::http
