// TLS of a daemon's HTTP server.

#ifndef COPPICE_SERVER_HTTP_TLS_H_
#define COPPICE_SERVER_HTTP_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/http/server.h"
#include "server/process/certificates.h"
#include "server/process/tls_files.h"

namespace coppice::http {

// A context for servers of HTTP/1.1 with TLS 1.2 or newer. Clients must show a certificate if there
// is an authority for them. Sessions are not resumed, so each connection shows its own. Internal if
// OpenSSL rejects what LoadTlsFiles() accepted.
StatusOr<std::shared_ptr<SSL_CTX>> MakeHttpTls(const TlsFiles& files);

// For HTTP what ServeWith() is for gRPC. If OpenSSL rejects a certificate, the previous one stays.
TlsSource MakeTlsSource(const Certificates& certificates);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_TLS_H_
