#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "server/central/central_keys.h"
#include "server/central/dataset_record.h"
#include "server/maintenance/maintenance.h"

namespace coppice::maintenance {

absl::StatusOr<std::vector<std::string>> AssignDatasets(storage::Store& store,
                                                        const std::string& owner) {
  if (owner.empty()) return absl::InvalidArgumentError("--owner wants the name of a policy entry");
  std::vector<std::string> assigned;
  storage::StoreBatch batch;
  COPPICE_RETURN_IF_ERROR(store.Scan(central::kDatasetPrefix, [&](absl::string_view key,
                                                                  absl::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(central::DatasetEntry entry, central::DecodeDataset(key, bytes));
    if (!entry.owner.empty()) return absl::OkStatus();
    entry.owner = owner;
    batch.Put(std::string(key), central::EncodeDataset(entry));
    assigned.emplace_back(absl::StripSuffix(absl::StripPrefix(key, central::kDatasetPrefix), "/"));
    return absl::OkStatus();
  }));
  if (!assigned.empty()) COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return assigned;
}

}  // namespace coppice::maintenance
