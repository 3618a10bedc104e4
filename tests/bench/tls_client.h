// A device's side of a connection at the least cost: blocking TLS 1.3 by OpenSSL on a loopback
// port, and as much of HTTP/2 as one gRPC call needs. gRPC's own client costs more than what
// connect_bench is to measure: the curator's side.
//
// Errors     false or none, for any reason.
// Threads    a TlsClient may be shared; a connection belongs to one thread.

#ifndef COPPICE_TESTS_BENCH_TLS_CLIENT_H_
#define COPPICE_TESTS_BENCH_TLS_CLIENT_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace coppice {

struct SslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

// What a device keeps to resume with; OpenSSL counts its users.
using TlsSession = std::unique_ptr<SSL_SESSION, SslDeleter>;

class TlsConnection {
 public:
  TlsConnection(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;
  ~TlsConnection();

  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  bool Write(absl::string_view bytes);
  bool Read(size_t size, std::string& bytes);
  // What the server sent to resume with; it comes with the first bytes that are read.
  TlsSession Session() const { return TlsSession(SSL_get1_session(ssl_.get())); }
  // Tells the server, as a device that leaves does, and waits for nothing. A session of a
  // connection that was dropped without it cannot be resumed.
  void Leave();

 private:
  int socket_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
};

class TlsClient {
 public:
  // `ca_file` must have issued the server's certificate, to localhost.
  explicit TlsClient(const std::string& ca_file);

  // Null if there is no handshake. With a session it asks to resume it.
  std::unique_ptr<TlsConnection> Connect(int port, SSL_SESSION* session) const;

 private:
  std::unique_ptr<SSL_CTX, SslDeleter> context_;
};

// The bytes of one whole gRPC call from HTTP/2's preface on, to be written at once.
std::string OneCall(absl::string_view path, absl::string_view message);

// The bytes of the same connection's call number `number`, the first being 0, once the one before
// it has ended.
std::string NextCall(absl::string_view path, absl::string_view message, uint32_t number);

// Reads until the call has ended; the answer's message, or none if it failed.
std::optional<std::string> ReadAnswer(TlsConnection& connection);

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_TLS_CLIENT_H_
