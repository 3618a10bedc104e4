// `coppiced check`: everything that can be verified of a data directory, changing nothing.
//
// Daemon     must not run: the folder is locked meanwhile.
// Errors     FailedPrecondition: a daemon uses it, or a newer version made it. NotFound: there is
//            no store. What is wrong with the store itself is a finding.

#ifndef COPPICE_SERVER_MAINTENANCE_CHECK_STORE_H_
#define COPPICE_SERVER_MAINTENANCE_CHECK_STORE_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/maintenance/findings.h"

namespace coppice::maintenance {

absl::StatusOr<Findings> CheckStore(const std::string& data_dir, const ProgressCallback& progress);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_MAINTENANCE_CHECK_STORE_H_
