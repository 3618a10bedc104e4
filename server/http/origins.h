// Decides which pages in a browser may call, and may load the console.

#ifndef COPPICE_SERVER_HTTP_ORIGINS_H_
#define COPPICE_SERVER_HTTP_ORIGINS_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// InvalidArgument unless each of --http-allow-origin is written as browsers send it: scheme, host
// and port alone.
Status CheckAllowedOrigins(const std::vector<std::string>& origins);

// Judges requests by the headers that browsers set and pages cannot.
//
// Guarantee  A page's request passes only if its origin is allowed, or is the daemon's own while
//            the console is on. Requests of programs, which have none of these headers, pass.
// Errors     PermissionDenied, saying what an operator can do.
// Threads    safe to share after ListensOn() was called.
class Origins {
 public:
  Origins(std::vector<std::string> allowed, bool has_console, bool has_tls);

  // Call it once, before the first request.
  void ListensOn(int port);

  // `is_file`: the request is for a file of the console or of the documentation. Links may lead to
  // the console and to every page of the documentation.
  Status Check(const RequestHead& head, bool is_file) const;
  // Whether an operator allowed the origin, so that its pages may read answers across origins.
  bool IsAllowed(std::string_view origin) const;

 private:
  bool IsOwnHost(std::string_view host) const;
  bool IsOwn(const RequestHead& head) const;
  Status CheckHost(std::string_view host) const;

  const std::vector<std::string> allowed_;
  const bool has_console_;
  const bool has_tls_;
  std::vector<std::string> loopback_hosts_{};  // as a browser on this machine names them
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_ORIGINS_H_
