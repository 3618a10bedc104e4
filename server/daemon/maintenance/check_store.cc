#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/store_format.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::maintenance {

namespace {

// Checks the records of `store` and adds what it finds to `findings`.
Status CheckOpened(const vault::KeyedStore& store, const ProgressCallback& progress,
                   Findings& findings) {
  const Status format = storage::HasFormat(*store).status();
  if (IsFailedPrecondition(format)) return format;
  if (store.sealed() != nullptr) CheckSeals(*store.sealed(), progress, findings);
  CheckRecords(*store, progress, findings);
  return OkStatus();
}

}  // namespace

StatusOr<Findings> CheckStore(const storage::StoreLocation& location,
                              const ProgressCallback& progress,
                              const std::optional<vault::KeyFile>& keys) {
  if (!location.is_postgres()) return CheckStore(location.address(), progress, keys);
  COPPICE_ASSIGN_OR_RETURN(
      const vault::KeyedStore store,
      vault::OpenKeyedStoreForReading(
          location, {.keys = keys, .unreadable = vault::UnreadableRecords::kShow}));
  Findings findings;
  COPPICE_RETURN_IF_ERROR(CheckOpened(store, progress, findings));
  return findings;
}

StatusOr<Findings> CheckStore(const std::string& data_dir, const ProgressCallback& progress,
                              const std::optional<vault::KeyFile>& keys) {
  const std::string database = storage::StoreFolder(data_dir);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<storage::FileProblem> damaged,
                           storage::CheckFiles(database, progress));
  Findings findings;
  for (const storage::FileProblem& problem : damaged) {
    findings.Add({.key = problem.file, .what = problem.what, .remedy = Remedy::kSalvageFiles});
  }
  const StatusOr<vault::KeyedStore> store = vault::OpenKeyedStoreForReading(
      data_dir, {.keys = keys, .unreadable = vault::UnreadableRecords::kShow});
  if (IsFailedPrecondition(store.status())) return store.status();
  if (!store.ok()) {
    findings.Add({.key = database,
                  .what = StrCat("cannot be opened: ", store.status().message()),
                  .remedy = Remedy::kSalvageFiles});
    return findings;
  }
  COPPICE_RETURN_IF_ERROR(CheckOpened(*store, progress, findings));
  return findings;
}

}  // namespace coppice::maintenance
