// The daemon's certificates, checked before it serves: a bad one should stop the start, not every
// client's handshake.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/serving/certificates.h"
#include "common/serving/tls_files.h"
#include "server/http/server.h"

namespace coppice::daemon {

// What curators of a fleet show each other, and the one authority of their certificates. Errors as
// above; InvalidArgument also if the certificate is not of that authority or may not be shown both
// by a server and by a client, and if whom `client_ca` (which may be empty) lets in could pass as a
// curator: a curator says who its clients are, and may say what it likes.
absl::StatusOr<TlsFiles> LoadPeerTlsFiles(const std::string& certificate, const std::string& key,
                                          const std::string& peer_ca, const std::string& client_ca,
                                          absl::Time now);
// A context for servers of HTTP/1.1, TLS 1.2 or newer. Clients must show a certificate if there is
// an authority for them. No session is resumed, so that each connection shows its own. Internal if
// OpenSSL refuses what LoadTlsFiles() took.
absl::StatusOr<std::shared_ptr<SSL_CTX>> MakeHttpTls(const TlsFiles& files);

// The same for HTTP as ServeWith(). A certificate that OpenSSL refuses leaves the one before it.
http::TlsSource MakeTlsSource(const Certificates& certificates);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_TLS_H_
