#include "server/daemon/config/key_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/file_permissions.h"

namespace coppice::daemon {

void WarnOfOpenKeyFiles(const DaemonFlags& flags, const Log& log) {
  const struct {
    absl::string_view flag;
    const std::string& path;
  } keys[] = {{"--tls-key", flags.tls_key},
              {"--signing-key", flags.signing_key},
              {"--next-signing-key", flags.next_signing_key}};
  for (const auto& key : keys) {
    if (key.path.empty() || !IsWorldAccessible(key.path)) continue;
    log.Warning("key file is open",
                {{"flag", std::string(key.flag)},
                 {"file", key.path},
                 {"advice", absl::StrCat("everybody on this machine may read or change it: chmod "
                                         "o-rwx it, and replace the key if others use the "
                                         "machine")}});
  }
}

}  // namespace coppice::daemon
