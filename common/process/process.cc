#include "common/process/process.h"

#include "absl/strings/str_cat.h"
#include "common/base/file_permissions.h"
#include "common/base/write_file.h"

namespace coppice {

void WarnOfOpenKeyFiles(const std::vector<FlaggedKey>& keys, const Log& log) {
  for (const FlaggedKey& key : keys) {
    if (key.path.empty() || !IsWorldAccessible(key.path)) continue;
    log.Warning("key file is open",
                {{"flag", std::string(key.flag)},
                 {"file", key.path},
                 {"advice",
                  "everybody on this machine may read or change it: chmod o-rwx it, and "
                  "replace the key if others use the machine"}});
  }
}

absl::Status WritePortFile(const std::string& path, int port) {
  const absl::Status written =
      WriteFileAtomically(path, absl::StrCat(port, "\n"), {.replace = true, .mode = 0644});
  if (written.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--port-file: ", written.message(),
                   "; name a file in a folder that the daemon may write to"));
}

}  // namespace coppice
