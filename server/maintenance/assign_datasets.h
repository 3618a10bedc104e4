// `coppiced assign-datasets`: says whose the datasets without an owner are.

#ifndef COPPICE_SERVER_MAINTENANCE_ASSIGN_DATASETS_H_
#define COPPICE_SERVER_MAINTENANCE_ASSIGN_DATASETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace coppice::maintenance {

// Gives `owner` every dataset that has none, in one batch, and returns their ids. InvalidArgument
// without a name; DataLoss that names a record, and then changes nothing.
absl::StatusOr<std::vector<std::string>> AssignDatasets(storage::Store& store,
                                                        const std::string& owner);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_MAINTENANCE_ASSIGN_DATASETS_H_
