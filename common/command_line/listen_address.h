// An address to listen at, as a flag gives it.

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

// Of HOST:PORT. InvalidArgument that names `flag` and says what it wants.
absl::StatusOr<HostPort> ParseListen(absl::string_view flag, absl::string_view listen);

// Whether nobody but this machine reaches `host`.
bool IsLoopback(const std::string& host);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_LISTEN_ADDRESS_H_
