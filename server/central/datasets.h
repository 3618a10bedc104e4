// The tables that owners entrusted to the curator: their rows on a Store, their budgets in the
// ledger.
//
// States     uploading (takes rows) -> ready (can be trained on) -> deleted. One way; an id is
//            never used again. Deleting takes the rows out of the store's files; the ledger stays.
// Guarantee  a block of rows is stored whole, with the new count, in one atomic batch, or not at
//            all; every stored row fits the schema.
// Privacy    rows and their number are private: nothing here puts them, or what follows from them,
//            into an error but for the count, which the owner may see.
// Owner      whoever created it, by name. To other callers but admins it is not there, in the same
//            words as one that never was; CheckVisible() must come before whatever is done for a
//            caller. Only that a name or request id is taken can be found out, by trying it.
// Errors     NotFound, AlreadyExists, FailedPrecondition, OutOfRange (limits), InvalidArgument as
//            stated; what the Store returns otherwise. Opening: DataLoss that names the record.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CENTRAL_DATASETS_H_
#define COPPICE_SERVER_CENTRAL_DATASETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/page.h"
#include "common/data/table.h"
#include "common/schema/schema.h"
#include "coppice/v1/dataset.pb.h"
#include "server/central/caller.h"
#include "server/central/dataset.h"
#include "server/ledger/ledger.h"
#include "server/storage/store.h"

namespace coppice::central {

// Of one dataset.
struct DatasetLimits {
  uint64_t rows = uint64_t{1} << 26;
  uint64_t bytes = uint64_t{1} << 34;  // as uploaded: 8 a value
};

class Datasets {
 public:
  // `clock` returns seconds since 1970 and dates records, no more. A deletion that was cut short is
  // ended.
  static absl::StatusOr<std::unique_ptr<Datasets>> Open(storage::Store& store,
                                                        ledger::Ledger& ledger,
                                                        std::function<int64_t()> clock,
                                                        const DatasetLimits& limits = {});
  virtual ~Datasets() = default;

  // AlreadyExists if the id is taken, also by a deleted dataset, or if the request id made another.
  virtual absl::StatusOr<DatasetInfo> Create(const DatasetSpec& spec) = 0;

  // Appends the rows of `block`, which may be empty if `complete` says that these were the last.
  // FailedPrecondition if `first_row` is not the number of rows there are, or if no more are taken.
  // Completing again is not an error.
  virtual absl::StatusOr<DatasetInfo> Upload(absl::string_view id, uint64_t first_row,
                                             const v1::RowBlock& block, bool complete) = 0;

  // NotFound unless the caller may see it.
  virtual absl::Status CheckVisible(absl::string_view id, const Caller& caller) const = 0;

  virtual absl::StatusOr<DatasetInfo> Get(absl::string_view id) const = 0;
  // Those that the caller may see.
  virtual std::vector<DatasetInfo> List(const Page& page, const Caller& caller) const = 0;

  // Ends the hold of its ledger; see Ledger::Confirm() and Ledger::WriteOff().
  virtual absl::StatusOr<DatasetInfo> ConfirmLedger(absl::string_view id,
                                                    const Sha256Digest& head) = 0;
  virtual absl::StatusOr<DatasetInfo> WriteOffLedger(absl::string_view id, uint64_t epsilon_nanos,
                                                     uint64_t delta_atto) = 0;
  // See Ledger::FreeName().
  virtual absl::Status FreeName(absl::string_view id) = 0;

  // FailedPrecondition while it is in use. Deleting again is not an error. Also takes away the rows
  // of a dataset whose record a repair has put aside, which is else not there: its ledger stays,
  // and keeps its name.
  virtual absl::Status Delete(absl::string_view id) = 0;

  // FailedPrecondition unless it is ready.
  virtual absl::StatusOr<DatasetUse> Use(absl::string_view id) = 0;
  // The rows of a dataset that the caller uses, from the store; shared by all who hold them.
  // Memory: the table, and twice a block while it is read.
  virtual absl::StatusOr<std::shared_ptr<const Table>> Load(absl::string_view id) = 0;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_DATASETS_H_
