// What `coppiced check`, `repair`, `copy` and `assign-owner` do to a store that no daemon uses. For
// `restore` see restore.h.
//
// Errors     FailedPrecondition: a daemon uses the store, a newer version made it, or it is sealed
//            and the keys do not open it. NotFound: there is no store. Problems within the store
//            itself are findings.

#ifndef COPPICE_SERVER_DAEMON_MAINTENANCE_MAINTENANCE_H_
#define COPPICE_SERVER_DAEMON_MAINTENANCE_MAINTENANCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/daemon/maintenance/findings.h"
#include "server/serving/access/patterns.h"
#include "server/store/store.h"
#include "server/store/store_location.h"
#include "server/store/vault/key_file.h"

namespace coppice::maintenance {

// Verifies everything in a store that can be verified, and changes nothing. Locks the store
// meanwhile. In a database it reads only the records: the server checks its own files.
StatusOr<Findings> CheckStore(const storage::StoreLocation& location,
                              const ProgressCallback& progress,
                              const std::optional<vault::KeyFile>& keys = std::nullopt);
// Checks a data directory.
StatusOr<Findings> CheckStore(const std::string& data_dir, const ProgressCallback& progress,
                              const std::optional<vault::KeyFile>& keys = std::nullopt);

struct RepairStep {
  std::string key;
  std::string what;  // what is done, and what is lost
};

// Returns what RepairStore() would do, as far as that is known now: damaged files may hide more.
std::vector<RepairStep> PlanRepair(const Findings& findings);

struct RepairResult {
  std::vector<RepairStep> done;
  Findings left;  // what a check finds afterwards
};

// Repairs a damaged data directory so that a daemon starts on it, without inventing a report or
// giving budget back. First copies the files to `keep`: FailedPrecondition if that exists.
// Repeating a repair that was cut short gives the same result.
//
// A record that cannot be read or does not add up goes into quarantine: its key gets the prefix
// quarantine/, nothing is thrown away, and the daemon ignores it. The id of a study in quarantine
// stays taken. A damaged ledger keeps its sound beginning and is closed: its dataset can be deleted
// but spends nothing more. A model whose study has lost reports stays, with a note of that.
//
// Damaged files are repaired in a copy, which replaces them, as a whole, once it can be opened.
// That may lose the last entries of any ledger, so every ledger is put on hold until an admin
// confirms its head. Ledgers are also put on hold if the audit log is not sound: its unsound part
// goes into quarantine, and the log continues with an entry that says so.
StatusOr<RepairResult> RepairStore(const std::string& data_dir, const std::string& keep,
                                   int64_t now, const ProgressCallback& progress,
                                   const std::optional<vault::KeyFile>& keys = std::nullopt);

struct CopyResult {
  uint64_t records = 0;
  uint64_t bytes = 0;  // of keys and values
  std::string digest;  // of all records except the format; the same for both stores
};

// Copies all records of one store into another, as they are on the disk, and reads them back. The
// format's record comes last, so that a copy that was cut short does not open. FailedPrecondition
// if `to` holds a record; DataLoss if a record read back differs.
StatusOr<CopyResult> CopyStore(const storage::StoreLocation& from, const storage::StoreLocation& to,
                               const ProgressCallback& progress);

// A part of RepairStore(): applies the remedies of `findings` to an open store.
Status RepairRecords(storage::Store& store, const Findings& findings, int64_t now,
                     std::vector<RepairStep>& done);

// Runs `run` and returns its status. The audit log notes the command `action` before the run, so
// that a crash leaves a trace, and the status code afterwards. DataLoss, without running it, if the
// log is not sound.
Status RunAudited(storage::Store& store, int64_t now, std::string_view action,
                  absl::FunctionRef<Status()> run);

// Deletes a model, without reading it, with an entry in the audit log, and puts the endpoints that
// serve it into quarantine. Returns what was done. NotFound if there is no such model; DataLoss,
// with nothing changed, if the audit log is not sound. `store` must be of this version's format.
StatusOr<std::vector<RepairStep>> DropModel(storage::Store& store, const std::string& id,
                                            int64_t now);

// Gives every study, dataset and endpoint that has no owner and matches `resources` to `owner`, in
// one batch, and returns their names, "studies/ID" and so on. InvalidArgument without an owner;
// DataLoss names a record, and nothing is changed then.
StatusOr<std::vector<std::string>> AssignOwner(storage::Store& store, const std::string& owner,
                                               const owners::Patterns& resources);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_DAEMON_MAINTENANCE_MAINTENANCE_H_
