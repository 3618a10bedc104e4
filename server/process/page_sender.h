// What browsers say of the page that a request comes from, by which a server tells requests of
// pages from those of programs.

#ifndef COPPICE_SERVER_PROCESS_PAGE_SENDER_H_
#define COPPICE_SERVER_PROCESS_PAGE_SENDER_H_

#include <array>
#include <string_view>

namespace coppice {

// The hosts by which a browser reaches its own machine and no other, whatever a name server says.
inline constexpr std::array<std::string_view, 3> kLoopbackHosts = {"localhost", "127.0.0.1",
                                                                   "[::1]"};

// Headers that browsers write and pages cannot change; empty if a request has none. Programs send
// none of them, browsers from before 2023 and those on plain HTTP perhaps no more than `origin`.
struct PageSender {
  std::string_view origin{};
  std::string_view fetch_site{};  // Sec-Fetch-Site etc.
  std::string_view fetch_mode{};
  std::string_view fetch_dest{};

  // Whether a page of another origin sent the request. Browsers send "none" for an address that a
  // person typed.
  bool IsElsewhere() const {
    return !fetch_site.empty() && fetch_site != "same-origin" && fetch_site != "none";
  }
  // Whether a person followed a link. The page with the link sees nothing of the answer.
  bool IsFollowedLink() const { return fetch_mode == "navigate" && fetch_dest == "document"; }
};

// Whether `host`, a Host header, can be a name that somebody else pointed to this machine (DNS
// rebinding): a name with a dot. Addresses are not resolved, and names without a dot are resolved
// within the network alone.
bool IsForeignName(std::string_view host);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_PAGE_SENDER_H_
