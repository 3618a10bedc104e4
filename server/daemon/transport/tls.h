// Checks the daemon's certificates before it serves: a bad one must stop the start, not every
// client's handshake.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/http/server.h"
#include "server/process/certificates.h"
#include "server/process/tls_files.h"

namespace coppice::daemon {

// Loads the certificate that curators of a fleet show each other, and its one authority. Errors as
// LoadTlsFiles(). InvalidArgument also if that authority did not issue it, if it may not serve as
// both a server's and a client's, and if a client admitted by `client_ca` (may be empty) could pass
// as a curator, whose word about its clients is trusted.
StatusOr<TlsFiles> LoadPeerTlsFiles(const std::string& certificate, const std::string& key,
                                    const std::string& peer_ca, const std::string& client_ca,
                                    absl::Time now);
// A context for servers of HTTP/1.1 with TLS 1.2 or newer. Clients must show a certificate if there
// is an authority for them. Sessions are not resumed, so each connection shows its own. Internal if
// OpenSSL rejects what LoadTlsFiles() accepted.
StatusOr<std::shared_ptr<SSL_CTX>> MakeHttpTls(const TlsFiles& files);

// For HTTP what ServeWith() is for gRPC. If OpenSSL rejects a certificate, the previous one stays.
http::TlsSource MakeTlsSource(const Certificates& certificates);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_
