#include "tests/bench/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/base/text.h"

namespace coppice {
namespace {

// RFC 9113, section 6.
enum FrameType : char { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kGoAway = 7 };
constexpr char kEndStream = 1, kAck = 1, kEndHeaders = 4;
constexpr size_t kFrameHead = 9;

int ConnectSocket(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes; i-- > 0;) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

std::string Frame(FrameType type, char flags, uint32_t stream, std::string_view payload) {
  return StrCat(BigEndian(payload.size(), 3), std::string{type, flags}, BigEndian(stream, 4),
                payload);
}

// A literal that no table remembers (RFC 7541, section 6.2.2); both shorter than 127 bytes.
std::string Header(std::string_view name, std::string_view value) {
  return StrCat(std::string{'\0', static_cast<char>(name.size())}, name,
                std::string{static_cast<char>(value.size())}, value);
}

}  // namespace

TlsConnection::~TlsConnection() { close(socket_); }

bool TlsConnection::Write(std::string_view bytes) {
  return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

bool TlsConnection::Read(size_t size, std::string& bytes) {
  bytes.resize(size);
  for (size_t have = 0; have < size;) {
    const int got = SSL_read(ssl_.get(), bytes.data() + have, static_cast<int>(size - have));
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

void TlsConnection::Leave() { SSL_shutdown(ssl_.get()); }

TlsClient::TlsClient(const std::string& ca_file) : context_(SSL_CTX_new(TLS_client_method())) {
  constexpr unsigned char kProtocols[] = {2, 'h', '2'};
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set1_groups_list(context_.get(), "P-256");
  SSL_CTX_set_alpn_protos(context_.get(), kProtocols, sizeof kProtocols);
  if (SSL_CTX_load_verify_locations(context_.get(), ca_file.c_str(), nullptr) == 1) return;
  std::fprintf(stderr, "%s: no certificate of a CA\n", ca_file.c_str());
  std::exit(1);
}

std::unique_ptr<TlsConnection> TlsClient::Connect(int port, SSL_SESSION* session) const {
  const int descriptor = ConnectSocket(port);
  if (descriptor < 0) return nullptr;
  SSL* const ssl = SSL_new(context_.get());
  auto connection = std::make_unique<TlsConnection>(descriptor, ssl);
  SSL_set_fd(ssl, descriptor);
  SSL_set1_host(ssl, "localhost");
  if (session != nullptr) SSL_set_session(ssl, session);
  return SSL_connect(ssl) == 1 ? std::move(connection) : nullptr;
}

std::string NextCall(std::string_view path, std::string_view message, uint32_t number) {
  const uint32_t stream = 2 * number + 1;
  const std::string headers =
      StrCat(Header(":method", "POST"), Header(":scheme", "https"), Header(":path", path),
             Header(":authority", "localhost"), Header("te", "trailers"),
             Header("content-type", "application/grpc"));
  return StrCat(Frame(kHeaders, kEndHeaders, stream, headers),
                Frame(kData, kEndStream, stream,
                      StrCat(std::string{'\0'}, BigEndian(message.size(), 4), message)));
}

std::string OneCall(std::string_view path, std::string_view message) {
  return StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, 0, 0, ""),
                Frame(kSettings, kAck, 0, ""), NextCall(path, message, 0));
}

std::optional<std::string> ReadAnswer(TlsConnection& connection) {
  std::string head, payload, data;
  while (connection.Read(kFrameHead, head)) {
    const auto byte = [&head](size_t i) { return static_cast<unsigned char>(head[i]); };
    const size_t size = (size_t{byte(0)} << 16) | (size_t{byte(1)} << 8) | byte(2);
    if (!connection.Read(size, payload)) break;
    if (head[3] == kData) data += payload;
    if (head[3] == kReset || head[3] == kGoAway) break;
    if ((head[3] == kHeaders || head[3] == kData) && (head[4] & kEndStream) != 0) {
      // The message follows one byte of compression and four of length.
      return data.size() < 5 ? std::nullopt : std::optional(data.substr(5));
    }
  }
  return std::nullopt;
}

}  // namespace coppice
