#include "server/process/process.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/base/file_permissions.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/base/write_file.h"

namespace coppice {

void WarnOfOpenKeyFiles(const std::vector<FlaggedKey>& keys, const Log& log) {
  for (const FlaggedKey& key : keys) {
    if (key.path.empty() || !IsWorldAccessible(key.path)) continue;
    log.Warning("key file is open",
                {{"flag", std::string(key.flag)},
                 {"file", key.path},
                 {"advice",
                  "anyone on this machine can read or change it: run chmod o-rwx on it, and "
                  "replace the key if others use the machine"}});
  }
}

void NotifyServiceManager(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || *path == '\0' || std::strlen(path) >= sizeof(address.sun_path)) return;
  std::strcpy(address.sun_path, path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (*path == '@') address.sun_path[0] = '\0';  // an abstract socket, without a file
  const int socket_file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_file < 0) return;
  // Errors are ignored: if nobody listens, systemd notices that itself.
  [[maybe_unused]] const ssize_t sent =
      sendto(socket_file, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size);
  close(socket_file);
}

Status WritePortFile(const std::string& path, int port) {
  const Status written =
      WriteFileAtomically(path, StrCat(port, "\n"), {.replace = true, .mode = 0644});
  if (written.ok()) return OkStatus();
  return FailedPreconditionError(StrCat("--port-file: ", written.message(),
                                        "; name a file in a folder that the daemon may write to"));
}

}  // namespace coppice
