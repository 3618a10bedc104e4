#include "client/device/grpc/server_address.h"

#include <arpa/inet.h>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

StatusOr<ServerAddress> ParseServerAddress(const std::string& server) {
  const size_t colon = server.rfind(':');
  ServerAddress address;
  if (colon != std::string::npos && colon > 0 &&
      SimpleAtoi(server.substr(colon + 1), &address.port) && address.port >= 1 &&
      address.port <= 65535) {
    address.host = server.substr(0, colon);
    const bool brackets = address.host.front() == '[' && address.host.back() == ']';
    if (brackets) address.host = address.host.substr(1, address.host.size() - 2);
    const bool ambiguous = !brackets && StrContains(address.host, ':');
    if (!address.host.empty() && !ambiguous && !StrContains(address.host, '/')) return address;
  }
  return InvalidArgumentError(
      "the server must be HOST:PORT with a port from 1 to 65535, and an IPv6 address in brackets");
}

bool ServerAddress::is_loopback() const {
  if (host == "localhost" || host == "::1") return true;
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

}  // namespace coppice
