// The addresses of this process that the other end of its connections could write down.

#ifndef COPPICE_TESTS_INTEGRATION_OWN_ADDRESSES_H_
#define COPPICE_TESTS_INTEGRATION_OWN_ADDRESSES_H_

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "common/base/text.h"

namespace coppice::testing {

// This process's ends of its connections to `port`, as "127.0.0.1:PORT".
inline std::set<std::string> OwnAddresses(int port) {
  std::set<std::string> addresses;
  // gRPC's sockets are IPv6 also for IPv4 addresses.
  for (const char* name : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream table(name);
    for (std::string line; std::getline(table, line);) {
      unsigned local = 0;
      unsigned remote = 0;
      if (std::sscanf(line.c_str(), " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%x", &local, &remote) == 2 &&
          remote == static_cast<unsigned>(port)) {
        addresses.insert(StrCat("127.0.0.1:", local));
      }
    }
  }
  return addresses;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_OWN_ADDRESSES_H_
