// Reads every record of a store as the daemon would, by the daemon's own loaders, and continues
// after each problem.
//
// Guarantee  findings contain keys and reasons, never a value.
// Threads    one at a time; the store must not change meanwhile.

#ifndef COPPICE_SERVER_DAEMON_MAINTENANCE_CHECK_RECORDS_H_
#define COPPICE_SERVER_DAEMON_MAINTENANCE_CHECK_RECORDS_H_

#include <string_view>

#include "server/daemon/maintenance/findings.h"
#include "server/store/store.h"
#include "server/store/vault/sealed_store.h"

namespace coppice::maintenance {

void CheckRecords(const storage::Store& store, const ProgressCallback& progress,
                  Findings& findings);

// A part of CheckRecords(): checks that ledgers, datasets and jobs fit together.
void CheckCentral(const storage::Store& store, const ProgressCallback& progress,
                  Findings& findings);

// Checks whether the private records open. A wrapped key that does not open is a problem, and goes
// into quarantine; a record that does not open is a note, because its loader adds the problem.
void CheckSeals(const vault::SealedStore& store, const ProgressCallback& progress,
                Findings& findings);

// Used by these two: visits the keys that start with `prefix`; a read error becomes a problem.
void VisitRecords(const storage::Store& store, std::string_view prefix, Findings& findings,
                  absl::FunctionRef<void(std::string_view key, std::string_view value)> visit);

// Returns the ID of a key "KIND/ID/...".
std::string IdInKey(std::string_view key);

// The prefix under which a repair puts records aside.
inline constexpr std::string_view kQuarantinePrefix = "quarantine/";
bool IsInQuarantine(const storage::Store& store, std::string_view key);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_DAEMON_MAINTENANCE_CHECK_RECORDS_H_
