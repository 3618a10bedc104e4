// Parses the address that a server listens at.

#ifndef COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_
#define COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

struct HostPort {
  std::string host;
  int port = 0;
};

// Parses HOST:PORT. The InvalidArgument error names `flag` and says what it wants.
StatusOr<HostPort> ParseListen(std::string_view flag, std::string_view listen);

// Whether only this machine can reach `host`.
bool IsLoopback(const std::string& host);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_
