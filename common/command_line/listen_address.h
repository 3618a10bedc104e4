// Parses the address that a server listens at.

#ifndef COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_
#define COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice {

struct HostPort {
  std::string host;
  int port = 0;
};

// Parses HOST:PORT. The InvalidArgument error names `flag` and says what it wants.
absl::StatusOr<HostPort> ParseListen(absl::string_view flag, absl::string_view listen);

// Whether only this machine can reach `host`.
bool IsLoopback(const std::string& host);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_
