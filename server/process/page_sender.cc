#include "server/process/page_sender.h"

#include <arpa/inet.h>

#include <string>
#include <string_view>

#include "common/base/text.h"

namespace coppice {

bool IsForeignName(std::string_view host) {
  if (StartsWith(host, "[")) return false;  // an address of IPv6
  const std::string name(host.substr(0, host.find(':')));
  in_addr address{};
  if (inet_pton(AF_INET, name.c_str(), &address) == 1) return false;
  return StrContains(name, '.');
}

}  // namespace coppice
