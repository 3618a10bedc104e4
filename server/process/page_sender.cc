#include "server/process/page_sender.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace coppice {

bool IsForeignName(absl::string_view host) {
  if (absl::StartsWith(host, "[")) return false;  // an address of IPv6
  const std::string name(host.substr(0, host.find(':')));
  in_addr address{};
  if (inet_pton(AF_INET, name.c_str(), &address) == 1) return false;
  return absl::StrContains(name, '.');
}

}  // namespace coppice
