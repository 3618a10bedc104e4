// A device's side of a connection at the least cost: blocking TLS 1.3 by OpenSSL on a loopback
// port, and as much of HTTP/2 as one gRPC call needs. gRPC's own client costs more than the
// curator's side, which connect_bench measures.
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
#include <string_view>

namespace coppice {

struct SslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

// The session that a device keeps to resume; OpenSSL counts its users.
using TlsSession = std::unique_ptr<SSL_SESSION, SslDeleter>;

class TlsConnection {
 public:
  TlsConnection(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;
  ~TlsConnection();

  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  bool Write(std::string_view bytes);
  bool Read(size_t size, std::string& bytes);
  // The session to resume with, which arrives with the first bytes that are read.
  TlsSession Session() const { return TlsSession(SSL_get1_session(ssl_.get())); }
  // Closes the session without waiting, as a device that leaves does. A connection that is dropped
  // without this leaves a session that cannot be resumed.
  void Leave();

 private:
  int socket_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
};

class TlsClient {
 public:
  // `ca_file` must have issued the server's certificate, to localhost.
  explicit TlsClient(const std::string& ca_file);

  // Null if the handshake fails. With a session, asks to resume it.
  std::unique_ptr<TlsConnection> Connect(int port, SSL_SESSION* session) const;

 private:
  std::unique_ptr<SSL_CTX, SslDeleter> context_;
};

// The bytes of one whole gRPC call from HTTP/2's preface on, to be written at once.
std::string OneCall(std::string_view path, std::string_view message);

// The bytes of call `number` of the same connection, counted from 0, to be written once the call
// before it has ended.
std::string NextCall(std::string_view path, std::string_view message, uint32_t number);

// Reads until the call has ended. Returns the answer's message, or none if the call failed.
std::optional<std::string> ReadAnswer(TlsConnection& connection);

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_TLS_CLIENT_H_
