// What `coppiced check`, `repair`, `copy` and `assign-owner` do to a store that no daemon uses.
// restore.h has what `restore` does.
//
// Errors     FailedPrecondition: a daemon uses it, a newer version made it, or it is sealed and the
//            keys do not open it. NotFound: there is no store. What is wrong with the store itself
//            is a finding.

#ifndef COPPICE_SERVER_MAINTENANCE_MAINTENANCE_H_
#define COPPICE_SERVER_MAINTENANCE_MAINTENANCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/maintenance/findings.h"
#include "server/owners/patterns.h"
#include "server/storage/store.h"
#include "server/storage/store_location.h"
#include "server/vault/key_file.h"

namespace coppice::maintenance {

// Verifies everything that can be verified of a store, and changes nothing. It is locked meanwhile.
// In a database only the records are read: its files are the server's to check.
absl::StatusOr<Findings> CheckStore(const storage::StoreLocation& location,
                                    const ProgressCallback& progress,
                                    const std::optional<vault::KeyFile>& keys = std::nullopt);
// The same for a data directory.
absl::StatusOr<Findings> CheckStore(const std::string& data_dir, const ProgressCallback& progress,
                                    const std::optional<vault::KeyFile>& keys = std::nullopt);

struct RepairStep {
  std::string key;
  std::string what;  // is done, and what is lost
};

// What RepairStore() would do, as far as can be seen now: damaged files may hide more.
std::vector<RepairStep> PlanRepair(const Findings& findings);

struct RepairResult {
  std::vector<RepairStep> done;
  Findings left;  // as a check finds it afterwards
};

// Makes a damaged data directory one that a daemon starts on, without inventing a report or giving
// budget back. Copies the files as they were to `keep` first: FailedPrecondition if that exists. A
// repair that was cut short is begun anew and comes to the same.
//
// A record that cannot be read or does not add up goes into quarantine, under quarantine/ and its
// key: nothing is thrown away, and the daemon does not look there. The id of a study in quarantine
// stays taken. A ledger that is damaged keeps its sound beginning and is closed: its dataset can be
// deleted, and spends nothing more. A model that rests on reports that its study has lost stays,
// and that is noted.
//
// Damaged files are worked on in a copy, which takes their place, whole, when it can be opened. The
// last entries of any ledger may be lost then, so every ledger is put on hold until an admin has
// confirmed its head. So is it if the audit log does not hold: what does not is put into
// quarantine, and the log goes on after the rest with an entry that says so.
absl::StatusOr<RepairResult> RepairStore(const std::string& data_dir, const std::string& keep,
                                         int64_t now, const ProgressCallback& progress,
                                         const std::optional<vault::KeyFile>& keys = std::nullopt);

struct CopyResult {
  uint64_t records = 0;
  uint64_t bytes = 0;  // of keys and values
  std::string digest;  // of all records but the format, of both stores alike
};

// Copies all records of one store into another, as they are on the disk, and reads them back. The
// format's record comes last, so that a copy that was cut short does not open. FailedPrecondition
// if `to` holds a record; DataLoss if what is read back differs.
absl::StatusOr<CopyResult> CopyStore(const storage::StoreLocation& from,
                                     const storage::StoreLocation& to,
                                     const ProgressCallback& progress);

// A part of RepairStore(), on an open store: does what `findings` ask for.
absl::Status RepairRecords(storage::Store& store, const Findings& findings, int64_t now,
                           std::vector<RepairStep>& done);

// Enters into the audit log that a command of the name `action` ran without the daemon. It is noted
// before `run`, so that a crash leaves a trace, and with the code of what `run` returns after. That
// is returned. Changes nothing if the log does not hold: DataLoss.
absl::Status RunAudited(storage::Store& store, int64_t now, absl::string_view action,
                        absl::FunctionRef<absl::Status()> run);

// Gives `owner` every study, dataset and endpoint that has none and that `resources` match, in one
// batch, and returns their names, "studies/ID" and so on. InvalidArgument without an owner;
// DataLoss that names a record, and then changes nothing.
absl::StatusOr<std::vector<std::string>> AssignOwner(storage::Store& store,
                                                     const std::string& owner,
                                                     const owners::Patterns& resources);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_MAINTENANCE_MAINTENANCE_H_
