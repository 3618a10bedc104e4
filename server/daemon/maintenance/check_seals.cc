#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/store/vault/vault_records.h"

namespace coppice::maintenance {

void CheckSeals(const vault::SealedStore& store, const ProgressCallback& progress,
                Findings& findings) {
  progress("seals");
  const Status read = store.VisitUnreadable([&](std::string_view key) {
    if (!StartsWith(key, vault::kWrappedKeyPrefix)) {
      findings.notes.push_back({.key = std::string(key), .what = "does not open with its key"});
      return;
    }
    findings.Add({.key = std::string(key),
                  .what = "does not open with the key file: what it sealed cannot be read, and the "
                          "daemon does not start. Restore a backup",
                  .remedy = Remedy::kQuarantineRecord});
  });
  if (read.ok()) return;
  findings.Add({.key = std::string(vault::kWrappedKeyPrefix),
                .what = StrCat("what is private cannot be read: ", read.message()),
                .remedy = Remedy::kSalvageFiles});
}

}  // namespace coppice::maintenance
