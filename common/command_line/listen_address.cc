#include "common/command_line/listen_address.h"

#include <arpa/inet.h>

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

StatusOr<HostPort> ParseListen(std::string_view flag, std::string_view listen) {
  const size_t colon = listen.rfind(':');
  HostPort parsed;
  if (colon == std::string_view::npos || colon == 0 ||
      !SimpleAtoi(listen.substr(colon + 1), &parsed.port) || parsed.port < 0 ||
      parsed.port > 65535) {
    return InvalidArgumentError(StrCat(flag,
                                       " needs HOST:PORT with a port from 0 to 65535, such as "
                                       "127.0.0.1:8443 or [::]:8443; it is \"",
                                       listen, "\""));
  }
  parsed.host = std::string(listen.substr(0, colon));
  const bool bracketed = StartsWith(parsed.host, "[") && EndsWith(parsed.host, "]");
  if (!bracketed && StrContains(parsed.host, ":")) {
    return InvalidArgumentError(StrCat(
        flag, " needs an IPv6 address in brackets, such as [::1]:8443; it is \"", listen, "\""));
  }
  return parsed;
}

bool IsLoopback(const std::string& host) {
  in_addr address{};
  return host == "localhost" || host == "[::1]" ||
         (inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

}  // namespace coppice
