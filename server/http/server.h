// The HTTP server of the daemon: the registered handlers by the Connect protocol, over HTTP/1.1.
//
// Sockets and TLS are Boost.Asio's, the grammar of requests Boost.Beast's: both are in Debian, in
// wide use and fuzzed, share one reactor, and leave the bounds of each connection to us.

#ifndef COPPICE_SERVER_HTTP_SERVER_H_
#define COPPICE_SERVER_HTTP_SERVER_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/calls.h"

namespace coppice::http {

// The TLS of a connection that begins now; the same one until it changes.
using TlsSource = std::function<std::shared_ptr<SSL_CTX>()>;

struct ServerOptions {
  std::string listen;  // HOST:PORT
  std::vector<std::string> allowed_origins{};
  std::shared_ptr<const Console> console{};  // null: none
  std::shared_ptr<const Site> site{};        // null: none
  TlsSource tls{};                           // null: no TLS
  size_t max_message_bytes = size_t{64} << 20;
  size_t max_request_bytes = size_t{1} << 30;  // of all requests that are read at a time
  size_t max_connections = 1000;
  absl::Duration max_connection_age = absl::Hours(1);
};

// Guarantee  a connection beyond the limit takes the place of the one that has waited for a request
//            the longest, or is closed if all have calls. One that is slow to send a head or a
//            body, or to read an answer, is closed: no other waits for it. Nothing of a slow
//            reader's stream is held but the message that it reads.
// Threads    safe to share.
class Server {
 public:
  virtual ~Server() = default;

  // Unavailable if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       const ServedCalls& served);

  virtual int port() const = 0;

  // Takes no further connections, and closes those without a call; the others as theirs end.
  virtual void Drain() = 0;
  // Waits for calls until `deadline`, cancels those that are left, and waits for their handlers.
  virtual void Stop(absl::Time deadline) = 0;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_SERVER_H_
