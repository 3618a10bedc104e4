// A server of HTTP/1.1: a daemon's methods by the Connect protocol, and files for browsers.
//
// Sockets and TLS come from Boost.Asio, the grammar of requests from Boost.Beast: both are in
// Debian, widely used and fuzzed, share one reactor, and leave each connection's limits to us.

#ifndef COPPICE_SERVER_HTTP_SERVER_H_
#define COPPICE_SERVER_HTTP_SERVER_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/http/call.h"
#include "server/http/console.h"
#include "server/http/site.h"

namespace coppice::http {

// The TLS context for a new connection; the same one until it changes.
using TlsSource = std::function<std::shared_ptr<SSL_CTX>()>;

struct ServerOptions {
  std::string listen;  // HOST:PORT
  std::vector<std::string> allowed_origins{};
  std::shared_ptr<const Console> console{};  // null: none
  std::shared_ptr<const Site> site{};        // null: none
  TlsSource tls{};                           // null: no TLS
  size_t max_message_bytes = size_t{64} << 20;
  size_t max_request_bytes = size_t{1} << 30;  // of all requests being read
  size_t max_connections = 1000;
  absl::Duration max_connection_age = absl::Hours(1);
};

// Guarantee  A connection beyond the limit takes the place of the one that has waited longest for
//            a request, or is closed if all have calls. A connection that is slow to send a head or
//            a body, or to read an answer, is closed and delays no other. Of a stream with a slow
//            reader only the message being read is held.
// Threads    safe to share.
class Server {
 public:
  // Unavailable if the address cannot be used. `methods` must outlive the server.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, Methods& methods);
  ~Server();  // stops at once

  int port() const;

  // Accepts no more connections, and closes those without a call; the others when theirs end.
  void Drain();
  // Waits for calls until `deadline`, cancels the rest, and waits for their handlers.
  void Stop(absl::Time deadline);

 private:
  class Sockets;  // keeps Boost.Asio out of this header
  explicit Server(std::unique_ptr<Sockets> sockets);

  const std::unique_ptr<Sockets> sockets_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_SERVER_H_
