// The tables that owners entrusted to the curator: their rows in a Store, their budgets in the
// ledger.

#ifndef COPPICE_SERVER_DATASETS_DATASETS_H_
#define COPPICE_SERVER_DATASETS_DATASETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "common/table/table.h"
#include "server/datasets/dataset.h"
#include "server/datasets/dataset_record.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/store.h"

namespace coppice::central {

// The limits of one dataset.
struct DatasetLimits {
  uint64_t rows = uint64_t{1} << 26;
  uint64_t bytes = uint64_t{1} << 34;  // as stored (stored_block.h)
};

// Takes rows, keeps them for training, and purges deleted ones from the store's files.
//
// A dataset is uploading (takes rows), then ready (can be trained on), then deleted, in this order
// only; no id is used again. Its ledger stays when its rows are deleted.
//
// With a reserve, a coin that is drawn when a row is uploaded puts it there or among the rows that
// training reads. The coin depends on nothing, and nothing is released of it; the two parts are
// stored apart.
//
// A dataset belongs to its creator, by name. Access is decided before these calls
// (server/serving/calls/resource_guard.h). Request ids are per owner.
//
// Each dataset has a mutex of its own, and a block is encoded before it is taken: how long a call
// about one dataset takes does not tell of another's upload, but for what all share, which are the
// store and the processors (docs/threat-model.md#central-training).
//
// Guarantee  a block of rows is stored whole, with the new count, in one atomic batch, or not at
//            all; every stored row fits the schema. Rows and their number are private: no error
//            reveals them or what follows from them, except the count, to the owner.
// Errors     NotFound, AlreadyExists, FailedPrecondition, OutOfRange (limits), InvalidArgument as
//            stated; what the Store returns otherwise. Opening: DataLoss names the record.
// Threads    safe to share.
class Datasets {
 public:
  // `clock` returns seconds since 1970 and only dates records. Opening finishes deletions that were
  // cut short.
  static StatusOr<std::unique_ptr<Datasets>> Open(storage::Store& store, ledger::Ledger& ledger,
                                                  std::function<int64_t()> clock,
                                                  const DatasetLimits& limits = {});

  // AlreadyExists if the id is taken, even by a deleted dataset, or if the request id made another.
  // ResourceExhausted if the owner has as much as allowed.
  // InvalidArgument for a schema with anything from private rows, unless the spec accepts the leak.
  StatusOr<DatasetInfo> Create(const DatasetSpec& spec);

  // Whether the request made a dataset before, so that Create() would make none.
  bool WasCreated(const DatasetSpec& spec) const;
  StatusOr<DatasetState> StateOf(std::string_view id) const;

  // Appends `rows`: at most kMaxRowsPerBlock, of the dataset's schema. They may be empty if
  // `complete` says that the upload ends here. FailedPrecondition if `first_row` is not the current
  // number of rows, or if the dataset takes no more. Completing again is not an error, and waits
  // for nobody. ResourceExhausted if the owner's datasets would pass `most_bytes` together, blocks
  // that are being written included; 0 means no limit.
  StatusOr<DatasetInfo> Upload(std::string_view id, uint64_t first_row, const Table& rows,
                               bool complete, uint64_t most_bytes = 0);

  // None if there is no such dataset; a deleted one keeps its owner.
  std::optional<std::string> OwnerOf(std::string_view id) const;

  StatusOr<DatasetInfo> Get(std::string_view id,
                            const ledger::EntryRange& entries = ledger::kNoEntries) const;
  // Whether the costs of its jobs add up as rho. A rho means nothing where epsilons add up.
  bool CountsRho(std::string_view id) const;
  // Returns the schema, also during the upload. It never changes.
  // FailedPrecondition once the dataset is deleted, and its schema with it.
  StatusOr<std::shared_ptr<const Schema>> GetSchema(std::string_view id) const;
  // Lists the datasets whose id and owner `is_shown` accepts; it must not call Datasets.
  using IsShown = absl::FunctionRef<bool(const std::string& id, const std::string& owner)>;
  std::vector<DatasetInfo> List(const Page& page, IsShown is_shown) const;
  std::vector<DatasetInfo> List(const Page& page) const {
    return List(page, [](const std::string&, const std::string&) { return true; });
  }

  // Both end the hold of the dataset's ledger; see Ledger::Confirm() and Ledger::WriteOff().
  StatusOr<DatasetInfo> ConfirmLedger(std::string_view id, const Sha256Digest& head);
  StatusOr<DatasetInfo> WriteOffLedger(std::string_view id, uint64_t epsilon_nanos,
                                       uint64_t delta_atto);
  // See Ledger::FreeName().
  Status FreeName(std::string_view id);

  // FailedPrecondition while the dataset is in use. Deleting again is not an error. Also removes
  // the rows of a dataset whose record a repair has put aside and which otherwise does not exist:
  // its ledger stays and keeps its name.
  Status Delete(std::string_view id);

  // FailedPrecondition unless the dataset is ready.
  StatusOr<DatasetUse> Use(std::string_view id) const;
  // Returns the rows of a part of a dataset that the caller uses, to be read from the store while
  // they are used. They have been read once, by `take`: an error shows before anything is done with
  // them.
  StatusOr<std::shared_ptr<const RowBlocks>> ReadyRows(
      std::string_view id, Part part = Part::kTraining,
      RowBlocks::Take take = [](const Table&) { return OkStatus(); }) const;
  // Returns its public rows, read anew; null: it has none. DataLoss if they are not those that
  // came.
  StatusOr<PublicRowsTable> LoadPublicRows(std::string_view id) const;

 private:
  struct Dataset {
    DatasetEntry entry;
    // A deletion failed and may have reached the disk: it must be repeated before anything else.
    bool deleting = false;
    // Every use of the dataset holds a copy.
    std::shared_ptr<const int> pin = std::make_shared<const int>(0);
    // Held through every write of the dataset, once it is made.
    std::shared_ptr<Mutex> changing = std::make_shared<Mutex>();
  };
  // Bytes that count against the quota of their owner while they are being written.
  class Reservation {
   public:
    explicit Reservation(Datasets& datasets) : datasets_(datasets) {}
    ~Reservation() {
      const MutexLock lock(datasets_.mutex_);
      datasets_.Release(*this);
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    friend class Datasets;
    Datasets& datasets_;
    std::string owner_;
    uint64_t bytes_ = 0;
  };
  // A dataset whose creation failed and may have reached the disk.
  struct UnresolvedCreation {
    std::string id;
    ledger::BudgetCap cap;
  };

  Datasets(storage::Store& store, ledger::Ledger& ledger, std::function<int64_t()> clock,
           const DatasetLimits& limits)
      : store_(store), ledger_(ledger), clock_(std::move(clock)), limits_(limits) {}

  Status LoadAll();

  static Status CheckNotDeleted(std::string_view id, const Dataset& dataset);
  StatusOr<DatasetEntry> EntryOf(std::string_view id) const;
  // The dataset's `changing`. It is taken before mutex_, and after creating_mutex_.
  StatusOr<std::shared_ptr<Mutex>> MutexOf(std::string_view id) const;
  // Shows what is stored. From then on its bytes count as the dataset's, and `written` holds none.
  void Show(const std::string& id, DatasetEntry entry, Reservation* written = nullptr);
  // Returns the id of the dataset that this request of its owner made; none if it made none.
  StatusOr<std::optional<std::string>> FindByRequest(const DatasetSpec& spec,
                                                     const std::string& hash) const;
  Status CheckIdUnused(const std::string& id) const;
  // A failed creation may turn up in the store once the store works again; it then counts.
  Status ResolveUnresolvedCreations() ABSL_EXCLUSIVE_LOCKS_REQUIRED(creating_mutex_);

  // The rows of one upload, as they are stored.
  struct EncodedRows {
    uint64_t rows = 0;
    uint64_t reserve_rows = 0;
    uint64_t bytes = 0;
    std::vector<std::string> chunks{};
    std::vector<std::string> reserve_chunks{};
  };
  // Draws a coin for each row if there is a reserve.
  static StatusOr<EncodedRows> EncodeRows(const Table& rows, std::shared_ptr<const Schema> schema,
                                          uint32_t reserve_millionths);
  // Whether the dataset is ready and has as many rows: there is nothing left to complete.
  bool IsComplete(std::string_view id, uint64_t rows) const;
  Status CheckTakesRowsAt(std::string_view id, const DatasetEntry& entry, uint64_t first_row) const;
  Status AddChunks(std::string_view id, EncodedRows added, DatasetEntry& entry,
                   storage::StoreBatch& batch) const;
  // Reserves `added` bytes. ResourceExhausted unless the quota has room for them on top of what the
  // owner's datasets have and of what is reserved already.
  Status Reserve(const std::string& owner, uint64_t added, uint64_t most, Reservation& reservation);
  void Release(Reservation& reservation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckNumber(const std::string& owner, uint64_t most) const;

  // Deletes the rows from the store, but not yet from its files.
  StatusOr<DatasetEntry> RemoveRows(std::string_view id);
  // Deletes the rows of a dataset whose record is lost: nobody can use them or make another dataset
  // of that name. Writes the deletion anew each time, so that a later call finishes one that was
  // cut short.
  Status RemoveOrphans(std::string_view id);
  // Purges the rows from the files. This may take a while; other datasets stay usable.
  Status EndDeletion(std::string_view id, DatasetEntry entry);

  storage::Store& store_;
  ledger::Ledger& ledger_;
  const std::function<int64_t()> clock_;
  const DatasetLimits limits_;

  // Held through the write that makes a dataset, and while no dataset of an id may be made.
  Mutex creating_mutex_;
  std::vector<UnresolvedCreation> unresolved_creations_ ABSL_GUARDED_BY(creating_mutex_);
  // Never held while waiting for the disk.
  mutable Mutex mutex_;
  StringMap<Dataset> datasets_ ABSL_GUARDED_BY(mutex_);         // nothing is removed
  StringMap<uint64_t> reserved_bytes_ ABSL_GUARDED_BY(mutex_);  // by owner
  // By owner and request id.
  absl::flat_hash_map<std::pair<std::string, std::string>, std::string> ids_by_request_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_DATASETS_H_
