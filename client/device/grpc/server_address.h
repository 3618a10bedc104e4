// Where a curator or a relay listens, as people write it: HOST:PORT.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_SERVER_ADDRESS_H_
#define COPPICE_CLIENT_DEVICE_GRPC_SERVER_ADDRESS_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace coppice {

struct ServerAddress {
  std::string host;  // without brackets
  uint32_t port = 0;

  // Whether it is this machine, by its text alone: names are not looked up.
  bool is_loopback() const;
};

// InvalidArgument, which says what is expected.
StatusOr<ServerAddress> ParseServerAddress(const std::string& server);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_SERVER_ADDRESS_H_
