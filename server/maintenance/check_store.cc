#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/maintenance/check_records.h"
#include "server/maintenance/maintenance.h"
#include "server/storage/rocksdb/database_files.h"
#include "server/storage/rocksdb/rocksdb_store.h"
#include "server/storage/store_format.h"

namespace coppice::maintenance {

absl::StatusOr<Findings> CheckStore(const std::string& data_dir, const ProgressCallback& progress) {
  const std::string database = storage::StoreFolder(data_dir);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<storage::FileProblem> damaged,
                           storage::CheckFiles(database, progress));
  Findings findings;
  for (const storage::FileProblem& problem : damaged) {
    findings.Add({.key = problem.file, .what = problem.what, .remedy = Remedy::kSalvageFiles});
  }
  const absl::StatusOr<std::unique_ptr<storage::Store>> store =
      storage::OpenRocksDbStoreForReading(data_dir);
  if (absl::IsFailedPrecondition(store.status())) return store.status();
  if (!store.ok()) {
    findings.Add({.key = database,
                  .what = absl::StrCat("cannot be opened: ", store.status().message()),
                  .remedy = Remedy::kSalvageFiles});
    return findings;
  }
  const absl::Status format = storage::ReadFormat(**store).status();
  if (absl::IsFailedPrecondition(format)) return format;
  CheckRecords(**store, progress, findings);
  return findings;
}

}  // namespace coppice::maintenance
