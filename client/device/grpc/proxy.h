// The HTTP proxy through which the environment has connections made.
//
// The variables are gRPC's: the first of grpc_proxy, https_proxy and http_proxy that is set names
// the proxy, as http://HOST:PORT; an empty one means none. The first of no_grpc_proxy and no_proxy
// lists, with commas, the ends of the hosts that are reached without it. As curl does, and gRPC
// does not, we take "*" there for all hosts, skip blanks, and take HOST:PORT without http:// for a
// proxy. Loopback addresses are always reached without one.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_PROXY_H_
#define COPPICE_CLIENT_DEVICE_GRPC_PROXY_H_

#include <optional>
#include <string>

#include "client/device/grpc/server_address.h"

namespace coppice {

struct Proxy {
  std::string variable;  // the one that names it
  std::string url;       // for gRPC; may hold a user and a password, so it is never shown
  ServerAddress address;
  std::string authorization;  // what a Proxy-Authorization header holds; empty without a user

  // "the proxy proxy.example:3128 (https_proxy)"
  std::string Shown() const;
};

// None if `server` is reached directly. gRPC takes no other kind of proxy than http:// either.
std::optional<Proxy> ProxyFor(const ServerAddress& server);

// What to do about a proxy that does not lead to the server.
std::string ProxyAdvice(const Proxy& proxy, const ServerAddress& server);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_PROXY_H_
