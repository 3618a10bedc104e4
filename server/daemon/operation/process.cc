#include "server/daemon/operation/process.h"

#include "absl/strings/str_cat.h"
#include "common/base/write_file.h"

namespace coppice::daemon {

absl::Status WritePortFile(const std::string& path, int port) {
  const absl::Status written =
      WriteFileAtomically(path, absl::StrCat(port, "\n"), {.replace = true, .mode = 0644});
  if (written.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--port-file: ", written.message(),
                   "; name a file in a folder that the daemon may write to"));
}

}  // namespace coppice::daemon
