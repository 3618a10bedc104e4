#include "server/datasets/datasets.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/field_error.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/row_block.h"
#include "server/datasets/stored_block.h"
#include "server/datasets/write_outcome.h"
#include "server/store/models/ids.h"
#include "server/store/store_record.h"

namespace coppice::central {
namespace {

Status NoDataset(std::string_view id) { return NotFoundError(StrCat("there is no dataset ", id)); }

// A deleted dataset keeps its name, its owner, its request and its ledger, and nothing else.
void ForgetSchema(DatasetEntry& entry) {
  entry.schema = nullptr;
  entry.schema_bytes = 0;
  entry.public_rows = {};
  entry.public_bytes = 0;
}

}  // namespace

StatusOr<std::unique_ptr<Datasets>> Datasets::Open(storage::Store& store, ledger::Ledger& ledger,
                                                   std::function<int64_t()> clock,
                                                   const DatasetLimits& limits) {
  std::unique_ptr<Datasets> datasets(new Datasets(store, ledger, std::move(clock), limits));
  COPPICE_RETURN_IF_ERROR(datasets->LoadAll());
  return datasets;
}

Status Datasets::LoadAll() {
  std::vector<std::pair<std::string, DatasetEntry>> unpurged;
  COPPICE_RETURN_IF_ERROR(
      store_.Scan(kDatasetPrefix, [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(DatasetEntry entry, DecodeDataset(key, bytes));
        const std::string id(StripSuffix(StripPrefix(key, kDatasetPrefix), "/"));
        if (!ledger_.CapOf(id).ok()) return storage::CorruptRecord(key, "has no ledger");
        if (entry.state == DatasetState::kDeleted && !entry.purged) {
          unpurged.emplace_back(id, entry);
        }
        Show(id, std::move(entry));
        return OkStatus();
      }));
  // A deletion that fails again is retried at the next start; the daemon serves meanwhile.
  for (const auto& [id, entry] : unpurged) EndDeletion(id, entry).IgnoreError();
  return OkStatus();
}

StatusOr<DatasetInfo> Datasets::Create(const DatasetSpec& spec) {
  COPPICE_RETURN_IF_ERROR(models::CheckRequestId(spec.request_id));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("dataset_id", spec.id));
  if (!spec.accept_leak) {
    COPPICE_RETURN_IF_ERROR(InField("schema", spec.schema->CheckNothingFromPrivateRows()));
  }
  COPPICE_ASSIGN_OR_RETURN(const PublicRowsTable public_rows,
                           ParsePublicRows("public_rows", spec.public_rows, spec.schema));
  const std::string hash = HashRequest(spec);
  COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> made, FindByRequest(spec, hash));
  if (made.has_value()) return Get(*made);
  const MutexLock creating(creating_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedCreations());
  // A repeated call may have made it while this one waited.
  COPPICE_ASSIGN_OR_RETURN(made, FindByRequest(spec, hash));
  if (made.has_value()) return Get(*made);
  COPPICE_ASSIGN_OR_RETURN(const std::string id, models::IdOrRandom(spec.id, spec.may_draw));
  COPPICE_RETURN_IF_ERROR(CheckIdUnused(id));
  const uint64_t schema_bytes = BytesOf(*spec.schema);
  std::string public_record = spec.public_rows ? spec.public_rows->SerializeAsString() : "";
  const uint64_t public_bytes = public_record.size();
  COPPICE_RETURN_IF_ERROR(CheckNumber(spec.owner, spec.most_datasets));
  Reservation reservation(*this);
  COPPICE_RETURN_IF_ERROR(
      Reserve(spec.owner, schema_bytes + public_bytes, spec.most_bytes, reservation));
  DatasetEntry entry{.created_unix_seconds = clock_(),
                     .schema = spec.schema,
                     .schema_bytes = schema_bytes,
                     .request_id = spec.request_id,
                     .request_hash = hash,
                     .owner = spec.owner,
                     .public_rows = PublicRowsIdOf(public_rows.get()),
                     .public_bytes = public_bytes};
  // One batch: a dataset without an account would have no cap.
  storage::StoreBatch batch;
  batch.Put(DatasetKey(id), EncodeDataset(entry));
  if (public_rows) batch.Put(PublicRowsKey(id), std::move(public_record));
  const Status opened = ledger_.OpenAccount(id, spec.cap, std::move(batch));
  if (WriteOutcomeUnknown(opened)) unresolved_creations_.push_back({.id = id, .cap = spec.cap});
  COPPICE_RETURN_IF_ERROR(opened);
  Show(id, std::move(entry), &reservation);
  return Get(id);
}

bool Datasets::WasCreated(const DatasetSpec& spec) const {
  const MutexLock lock(mutex_);
  return ids_by_request_.contains({spec.owner, spec.request_id});
}

StatusOr<DatasetState> Datasets::StateOf(std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const DatasetEntry entry, EntryOf(id));
  return entry.state;
}

StatusOr<DatasetInfo> Datasets::Upload(std::string_view id, uint64_t first_row, const Table& rows,
                                       bool complete, uint64_t most_bytes) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> schema, GetSchema(id));
  if (rows.shared_schema() != schema && !(rows.schema() == *schema)) {
    return InvalidArgumentError("rows: must be of the dataset's schema");
  }
  COPPICE_RETURN_IF_ERROR(CheckBlockRows(rows.num_rows()));
  if (rows.num_rows() == 0 && !complete) {
    return InvalidArgumentError("rows: must not be empty unless complete is set");
  }
  if (rows.num_rows() == 0 && IsComplete(id, first_row)) return Get(id);
  COPPICE_ASSIGN_OR_RETURN(const ledger::BudgetCap cap, ledger_.CapOf(id));
  // Before the lock: it takes long.
  COPPICE_ASSIGN_OR_RETURN(EncodedRows added, EncodeRows(rows, schema, cap.reserve_millionths));
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Mutex> changing, MutexOf(id));
  const MutexLock change(*changing);
  COPPICE_ASSIGN_OR_RETURN(DatasetEntry entry, EntryOf(id));
  COPPICE_RETURN_IF_ERROR(CheckTakesRowsAt(id, entry, first_row));
  if (entry.state == DatasetState::kReady) {
    if (added.rows == 0) return Get(id);
    return FailedPreconditionError(
        StrCat("the dataset ", id, " is complete and takes no more rows"));
  }
  storage::StoreBatch batch;
  Reservation reservation(*this);
  if (added.rows > 0) {
    const uint64_t bytes = added.bytes;
    COPPICE_RETURN_IF_ERROR(AddChunks(id, std::move(added), entry, batch));
    COPPICE_RETURN_IF_ERROR(Reserve(entry.owner, bytes, most_bytes, reservation));
  }
  if (complete) {
    entry.state = DatasetState::kReady;
    entry.completed_unix_seconds = clock_();
  }
  batch.Put(DatasetKey(id), EncodeDataset(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  Show(std::string(id), std::move(entry), &reservation);
  return Get(id);
}

StatusOr<DatasetInfo> Datasets::Get(std::string_view id, const ledger::EntryRange& entries) const {
  COPPICE_ASSIGN_OR_RETURN(const DatasetEntry entry, EntryOf(id));
  COPPICE_ASSIGN_OR_RETURN(ledger::Account account, ledger_.Get(id, entries));
  return DatasetInfo{.id = std::string(id),
                     .state = entry.state,
                     .state_for_others = StateForOthers(entry, clock_()),
                     .created_unix_seconds = entry.created_unix_seconds,
                     .schema = entry.schema,
                     .rows = entry.rows,
                     .reserve_rows = entry.reserve_rows,
                     .account = std::move(account),
                     .owner = entry.owner,
                     .public_rows = entry.public_rows};
}

bool Datasets::CountsRho(std::string_view id) const {
  const StatusOr<ledger::BudgetCap> cap = ledger_.CapOf(id);
  return cap.ok() && cap->composition == ledger::Composition::kZeroConcentrated;
}

StatusOr<std::shared_ptr<const Schema>> Datasets::GetSchema(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end()) return NoDataset(id);
  if (it->second.entry.schema == nullptr) return CheckNotDeleted(id, it->second);
  return it->second.entry.schema;
}

std::optional<std::string> Datasets::OwnerOf(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end()) return std::nullopt;
  return it->second.entry.owner;
}

std::vector<DatasetInfo> Datasets::List(const Page& page, IsShown is_shown) const {
  std::vector<std::string> ids;
  {
    const MutexLock lock(mutex_);
    for (auto it = datasets_.upper_bound(page.after);
         it != datasets_.end() && ids.size() < PageSize(page); ++it) {
      if (is_shown(it->first, it->second.entry.owner)) ids.push_back(it->first);
    }
  }
  std::vector<DatasetInfo> infos;
  for (const std::string& id : ids) {
    StatusOr<DatasetInfo> info = Get(id);
    if (info.ok()) infos.push_back(*std::move(info));
  }
  return infos;
}

StatusOr<DatasetInfo> Datasets::ConfirmLedger(std::string_view id, const Sha256Digest& head) {
  COPPICE_RETURN_IF_ERROR(EntryOf(id).status());
  COPPICE_RETURN_IF_ERROR(ledger_.Confirm(id, head));
  return Get(id);
}

StatusOr<DatasetInfo> Datasets::WriteOffLedger(std::string_view id, uint64_t epsilon_nanos,
                                               uint64_t delta_atto) {
  COPPICE_RETURN_IF_ERROR(EntryOf(id).status());
  COPPICE_RETURN_IF_ERROR(ledger_.WriteOff(id, epsilon_nanos, delta_atto));
  return Get(id);
}

Status Datasets::FreeName(std::string_view id) { return ledger_.FreeName(id); }

Status Datasets::Delete(std::string_view id) {
  if (IsNotFound(EntryOf(id).status()) && ledger_.CapOf(id).ok()) return RemoveOrphans(id);
  COPPICE_ASSIGN_OR_RETURN(const DatasetEntry gone, RemoveRows(id));
  if (gone.purged) return OkStatus();
  return EndDeletion(id, gone);
}

StatusOr<DatasetUse> Datasets::Use(std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const ledger::BudgetCap cap, ledger_.CapOf(id));
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end()) return NoDataset(id);
  const Dataset& dataset = it->second;
  COPPICE_RETURN_IF_ERROR(CheckNotDeleted(id, dataset));
  if (dataset.entry.state == DatasetState::kUploading) {
    return FailedPreconditionError(
        StrCat("the dataset ", id, " still takes rows: complete its upload first"));
  }
  return DatasetUse{.schema = dataset.entry.schema, .cap = cap, .pin = dataset.pin};
}

StatusOr<std::shared_ptr<const RowBlocks>> Datasets::ReadyRows(std::string_view id, Part part,
                                                               RowBlocks::Take take) const {
  COPPICE_ASSIGN_OR_RETURN(const DatasetEntry entry, EntryOf(id));
  if (entry.schema == nullptr)
    return FailedPreconditionError(StrCat("the dataset ", id, " was deleted"));
  auto rows = std::make_shared<const StoredRows>(store_, id, entry, part);
  COPPICE_RETURN_IF_ERROR(rows->ForEach(take));
  return rows;
}

StatusOr<PublicRowsTable> Datasets::LoadPublicRows(std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const DatasetEntry entry, EntryOf(id));
  return ReadPublicRows(store_, id, entry);
}

Status Datasets::CheckNotDeleted(std::string_view id, const Dataset& dataset) {
  if (dataset.entry.state == DatasetState::kDeleted) {
    return FailedPreconditionError(StrCat("the dataset ", id, " was deleted"));
  }
  if (dataset.deleting) {
    return FailedPreconditionError(
        StrCat("the dataset ", id, " is being deleted: delete it again"));
  }
  return OkStatus();
}

StatusOr<DatasetEntry> Datasets::EntryOf(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end()) return NoDataset(id);
  return it->second.entry;
}

StatusOr<std::shared_ptr<Mutex>> Datasets::MutexOf(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end()) return NoDataset(id);
  return it->second.changing;
}

void Datasets::Show(const std::string& id, DatasetEntry entry, Reservation* written) {
  const MutexLock lock(mutex_);
  ids_by_request_[{entry.owner, entry.request_id}] = id;
  datasets_[id].entry = std::move(entry);
  if (written != nullptr) Release(*written);
}

StatusOr<std::optional<std::string>> Datasets::FindByRequest(const DatasetSpec& spec,
                                                             const std::string& hash) const {
  const MutexLock lock(mutex_);
  const auto made = ids_by_request_.find({spec.owner, spec.request_id});
  if (made == ids_by_request_.end()) return std::nullopt;
  const DatasetEntry& entry = datasets_.find(made->second)->second.entry;
  if (entry.state == DatasetState::kDeleted) {
    return AlreadyExistsError(StrCat("request_id: the dataset ", made->second,
                                     " that it made was deleted; choose another"));
  }
  if (entry.request_hash != hash) {
    return AlreadyExistsError(StrCat("request_id: it made the dataset ", made->second,
                                     " from another request; choose another"));
  }
  return made->second;
}

Status Datasets::CheckIdUnused(const std::string& id) const {
  const MutexLock lock(mutex_);
  if (!datasets_.contains(id)) return OkStatus();
  // It may be somebody else's, who alone may know whether it is deleted.
  return AlreadyExistsError(
      StrCat("dataset_id: there is a dataset ", id,
             " already, or there was one: ids are never used again; choose another"));
}

Status Datasets::ResolveUnresolvedCreations() {
  while (!unresolved_creations_.empty()) {
    const UnresolvedCreation& creation = unresolved_creations_.back();
    const std::string key = DatasetKey(creation.id);
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(key));
    if (bytes.has_value()) {
      // The account was stored with the dataset, so this opens none; it makes the ledger find it.
      const Status opened = ledger_.OpenAccount(creation.id, creation.cap, {});
      if (!IsAlreadyExists(opened)) return opened;
      COPPICE_ASSIGN_OR_RETURN(DatasetEntry entry, DecodeDataset(key, *bytes));
      Show(creation.id, std::move(entry));
    }
    unresolved_creations_.pop_back();
  }
  return OkStatus();
}

bool Datasets::IsComplete(std::string_view id, uint64_t rows) const {
  const MutexLock lock(mutex_);
  const auto it = datasets_.find(id);
  if (it == datasets_.end() || it->second.deleting) return false;
  const DatasetEntry& entry = it->second.entry;
  return entry.state == DatasetState::kReady && entry.rows == rows;
}

Status Datasets::CheckTakesRowsAt(std::string_view id, const DatasetEntry& entry,
                                  uint64_t first_row) const {
  {
    const MutexLock lock(mutex_);
    COPPICE_RETURN_IF_ERROR(CheckNotDeleted(id, datasets_.find(id)->second));
  }
  if (first_row == entry.rows) return OkStatus();
  return FailedPreconditionError(StrCat("first_row: the dataset ", id, " has ", entry.rows,
                                        " rows, not ", first_row, "; continue from there"));
}

StatusOr<Datasets::EncodedRows> Datasets::EncodeRows(const Table& rows,
                                                     std::shared_ptr<const Schema> schema,
                                                     uint32_t reserve_millionths) {
  EncodedRows encoded{.rows = rows.num_rows()};
  const BlockFormat format(std::move(schema));
  const auto add = [&](const Table& part, std::vector<std::string>& chunks) {
    for (size_t first = 0; first < part.num_rows(); first += format.rows_per_block()) {
      const size_t count = std::min(format.rows_per_block(), part.num_rows() - first);
      encoded.bytes += chunks.emplace_back(format.Encode(part, first, count)).size();
    }
  };
  if (reserve_millionths == 0) {
    add(rows, encoded.chunks);
    return encoded;
  }
  OpenSslRandom random;
  std::vector<size_t> parts[2];
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    COPPICE_ASSIGN_OR_RETURN(const bool reserved,
                             random.Bernoulli(reserve_millionths, ledger::kMillion));
    parts[reserved ? 1 : 0].push_back(row);
  }
  encoded.reserve_rows = parts[1].size();
  add(rows.Select(parts[0]), encoded.chunks);
  add(rows.Select(parts[1]), encoded.reserve_chunks);
  return encoded;
}

Status Datasets::AddChunks(std::string_view id, EncodedRows added, DatasetEntry& entry,
                           storage::StoreBatch& batch) const {
  if (entry.rows + added.rows > limits_.rows || entry.bytes + added.bytes > limits_.bytes) {
    return OutOfRangeError(StrCat("rows: a dataset has at most ", limits_.rows, " rows and ",
                                  limits_.bytes, " bytes"));
  }
  entry.rows += added.rows;
  entry.reserve_rows += added.reserve_rows;
  entry.bytes += added.bytes;
  for (std::string& chunk : added.chunks) {
    batch.Put(ChunkKey(id, entry.chunks++), std::move(chunk));
  }
  for (std::string& chunk : added.reserve_chunks) {
    batch.Put(ChunkKey(id, entry.reserve_chunks++, Part::kReserve), std::move(chunk));
  }
  return OkStatus();
}

StatusOr<DatasetEntry> Datasets::RemoveRows(std::string_view id) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Mutex> changing, MutexOf(id));
  const MutexLock change(*changing);
  COPPICE_ASSIGN_OR_RETURN(DatasetEntry entry, EntryOf(id));
  if (entry.state == DatasetState::kDeleted) return entry;
  {
    const MutexLock lock(mutex_);
    Dataset& dataset = datasets_.find(id)->second;
    if (dataset.pin.use_count() > 1) {  // a job holds it from its submission to its end
      return FailedPreconditionError(StrCat("jobs on the dataset ", id,
                                            " are queued or running: cancel them, or wait until "
                                            "they have ended"));
    }
    // Not taken back if the write fails: the rows may be gone then.
    dataset.deleting = true;
  }
  entry.state = DatasetState::kDeleted;
  entry.rows = entry.chunks = entry.bytes = 0;
  entry.reserve_rows = entry.reserve_chunks = 0;
  ForgetSchema(entry);
  storage::StoreBatch batch;
  batch.DeletePrefix(ChunkPrefix(id));
  batch.Put(DatasetKey(id), EncodeDataset(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  Show(std::string(id), entry);
  return entry;
}

Status Datasets::RemoveOrphans(std::string_view id) {
  {
    const MutexLock creating(creating_mutex_);
    COPPICE_RETURN_IF_ERROR(ResolveUnresolvedCreations());
    if (EntryOf(id).ok()) {
      return UnavailableError(
          StrCat("the dataset ", id, " has just been found again: delete it again"));
    }
    storage::StoreBatch batch;
    batch.DeletePrefix(ChunkPrefix(id));
    COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  }
  return store_.Purge(ChunkPrefix(id));
}

// Deleted bytes stay in the store's files until they are purged, which may fail by itself: `purged`
// says that it need not be tried again.
Status Datasets::EndDeletion(std::string_view id, DatasetEntry entry) {
  COPPICE_RETURN_IF_ERROR(store_.Purge(ChunkPrefix(id)));
  entry.purged = true;
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Mutex> changing, MutexOf(id));
  const MutexLock change(*changing);
  storage::StoreBatch batch;
  batch.Put(DatasetKey(id), EncodeDataset(entry));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  Show(std::string(id), std::move(entry));
  return OkStatus();
}

}  // namespace coppice::central
