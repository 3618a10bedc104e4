// `coppiced repair`: makes a damaged data directory one that a daemon starts on, without inventing
// a report or giving budget back.
//
// Records    what cannot be read or does not add up is put aside, under quarantine/ and its key:
//            nothing is thrown away, and the daemon does not look there. The id of a study put
//            aside stays taken. A ledger that is damaged keeps its sound beginning, and is closed:
//            its dataset can be deleted, and spends nothing more.
// Models     one that rests on reports that its study has lost stays, and that is noted.
// Files      damaged ones are worked on in a copy, which takes their place, whole, when it can be
//            opened. Then the last entries of any ledger may be lost, so every ledger is put on
//            hold until an admin has confirmed its head.
// Copy       the files as they were are copied to `keep` first.
// Again      a repair that was cut short is begun anew and comes to the same.
// Errors     those of CheckStore(); FailedPrecondition: `keep` is there already.

#ifndef COPPICE_SERVER_MAINTENANCE_REPAIR_H_
#define COPPICE_SERVER_MAINTENANCE_REPAIR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/maintenance/findings.h"
#include "server/storage/store.h"

namespace coppice::maintenance {

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
absl::StatusOr<RepairResult> RepairStore(const std::string& data_dir, const std::string& keep,
                                         int64_t now, const ProgressCallback& progress);

// A part of it, on an open store: does what `findings` ask for.
absl::Status RepairRecords(storage::Store& store, const Findings& findings, int64_t now,
                           std::vector<RepairStep>& done);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_MAINTENANCE_REPAIR_H_
