// One gRPC call as bytes, with headers that no gRPC client would send.

#ifndef COPPICE_TESTS_SERVER_DAEMON_FLEET_RAW_CLIENT_H_
#define COPPICE_TESTS_SERVER_DAEMON_FLEET_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/text.h"

namespace coppice::testing {

// An HPACK header without a reference: name and value are literals of up to 126 bytes each.
inline std::string RawHeader(std::string_view name, std::string_view value) {
  return StrCat(std::string{'\0', static_cast<char>(name.size())}, name,
                std::string{static_cast<char>(value.size())}, value);
}

inline std::string RawFrame(char type, char flags, char stream, std::string_view payload) {
  return StrCat(
      std::string{'\0', static_cast<char>(payload.size() >> 8),
                  static_cast<char>(payload.size() & 255), type, flags, '\0', '\0', '\0', stream},
      payload);
}

// Makes a call without TLS, waits until the other side has answered something or closed the
// connection, and returns the answer.
inline std::string RawCall(int port, std::string_view path,
                           const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string block =
      StrCat(RawHeader(":method", "POST"), RawHeader(":scheme", "http"), RawHeader(":path", path),
             RawHeader(":authority", "localhost"), RawHeader("te", "trailers"),
             RawHeader("content-type", "application/grpc"));
  for (const auto& [name, value] : headers) StrAppend(&block, RawHeader(name, value));
  const std::string bytes =
      StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", RawFrame(4, 0, 0, ""), RawFrame(4, 1, 0, ""),
             RawFrame(1, 4, 1, block), RawFrame(0, 1, 1, std::string(5, '\0')));
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    while (answer.find("grpc-status") == std::string::npos) {
      const ssize_t size = recv(connection, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      answer.append(buffer, static_cast<size_t>(size));
    }
  }
  close(connection);
  return answer;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_FLEET_RAW_CLIENT_H_
