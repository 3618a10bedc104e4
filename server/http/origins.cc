#include "server/http/origins.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/http/site.h"
#include "server/process/page_sender.h"

namespace coppice::http {
namespace {

constexpr int kPlainHttpPort = 80;  // browsers omit it

// Whether links may lead there.
bool IsOpenToLinks(const RequestHead& head) {
  return head.target == "/" || StartsWith(head.target, Site::kRoot);
}

}  // namespace

Status CheckAllowedOrigins(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    const size_t scheme = origin.find("://");
    const bool is_web = StartsWith(origin, "https://") || StartsWith(origin, "http://");
    const bool is_plain = origin.find_first_of("/?#*@ \t\r\n\"", scheme + 3) == std::string::npos &&
                          AsciiStrToLower(origin) == origin;
    if (is_web && is_plain && origin.size() > scheme + 3) continue;
    return InvalidArgumentError(StrCat(
        "--http-allow-origin must be an origin as browsers send it, such as https://lab.example or "
        "http://127.0.0.1:3000, in lower case and without a path; it is \"",
        origin, "\""));
  }
  return OkStatus();
}

Origins::Origins(std::vector<std::string> allowed, bool has_console, bool has_tls)
    : allowed_(std::move(allowed)), has_console_(has_console), has_tls_(has_tls) {}

void Origins::ListensOn(int port) {
  const std::string suffix = port == kPlainHttpPort ? "" : StrCat(":", port);
  for (const std::string_view name : kLoopbackHosts) {
    loopback_hosts_.push_back(StrCat(name, suffix));
  }
}

bool Origins::IsAllowed(std::string_view origin) const {
  return std::find(allowed_.begin(), allowed_.end(), origin) != allowed_.end();
}

// With TLS the browser has checked the host against the certificate. Without it a name that an
// attacker pointed to this machine would pass for the daemon, so only loopback names count.
bool Origins::IsOwnHost(std::string_view host) const {
  return has_tls_ ||
         std::find(loopback_hosts_.begin(), loopback_hosts_.end(), host) != loopback_hosts_.end();
}

// Whether the page came from this daemon; browsers write both headers, pages cannot change them.
// Its pages run only the console's and search's scripts (docs/threat-model.md#the-console).
bool Origins::IsOwn(const RequestHead& head) const {
  return has_console_ && IsOwnHost(head.host) &&
         head.origin == StrCat(has_tls_ ? "https://" : "http://", head.host);
}

Status Origins::CheckHost(std::string_view host) const {
  if (IsOwnHost(host) || IsAllowed(StrCat("http://", host)) ||
      IsAllowed(StrCat("https://", host))) {
    return OkStatus();
  }
  return PermissionDeniedError(
      StrCat("the console is not served at this host: without TLS it is only at http://",
             loopback_hosts_.front(),
             "/. Behind a proxy or a tunnel, allow the address that the browser shows with "
             "--http-allow-origin"));
}

Status Origins::Check(const RequestHead& head, bool is_file) const {
  if (is_file) {
    const Status host = CheckHost(head.host);
    if (!host.ok()) return host;
  }
  if (IsAllowed(head.origin) && !is_file) return OkStatus();
  if (!head.origin.empty() && !IsAllowed(head.origin) && !IsOwn(head)) {
    return PermissionDeniedError(
        "pages of this origin may not call: the operator allows origins with "
        "--http-allow-origin");
  }
  const PageSender sender{.origin = head.origin,
                          .fetch_site = head.fetch_site,
                          .fetch_mode = head.fetch_mode,
                          .fetch_dest = head.fetch_dest};
  if (sender.IsElsewhere() && !(is_file && sender.IsFollowedLink() && IsOpenToLinks(head))) {
    return PermissionDeniedError(
        "a page of another origin sent this request; open the console by its address, "
        "and allow other pages with --http-allow-origin");
  }
  return OkStatus();
}

}  // namespace coppice::http
