#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/datasets/row_block.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/calls/unchanged.h"
#include "server/serving/service/central_messages.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"

namespace coppice::service {
namespace {

// Hides what only the owner may see: the number of rows, which also follows from the time between
// creation and completion, and the ledger, whose entries show when jobs ended.
v1::Dataset ShownTo(const Caller& caller, const central::DatasetInfo& info, v1::Dataset dataset) {
  if (caller.Owns(info.owner)) return dataset;
  constexpr int64_t kDay = 24 * 60 * 60;
  dataset.set_state(static_cast<v1::DatasetState>(info.state_for_others));
  dataset.set_created_unix_seconds(info.created_unix_seconds - info.created_unix_seconds % kDay);
  dataset.clear_rows();
  dataset.clear_reserve_rows();
  dataset.clear_ledger();
  dataset.clear_ledger_entries();
  dataset.set_rows_hidden(true);
  return dataset;
}

struct StoredRows {
  v1::Dataset dataset;   // as it is now
  bool changed = false;  // false: it was complete, and no rows came
};

// Stores the rows of a message in `dataset`.
template <typename Request>
StatusOr<StoredRows> StoreRowsOf(const Request& request, const std::string& dataset,
                                 central::Datasets& datasets, const owners::QuotaFinder& quotas) {
  const StatusOr<std::string> id = ParseName(kDatasets, dataset);
  if (!id.ok()) return InField("dataset", id.status());
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> schema, datasets.GetSchema(*id));
  COPPICE_ASSIGN_OR_RETURN(const Table rows, central::ParseRows(request.rows(), schema));
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetState before, datasets.StateOf(*id));
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info,
                           datasets.Upload(*id, request.first_row(), rows, request.complete(),
                                           quotas(datasets.OwnerOf(*id).value_or("")).bytes));
  return StoredRows{.dataset = ToProto(info), .changed = before != central::DatasetState::kReady};
}

// The stream of an UploadRows call. Each message is checked and stored on the method's lane before
// the next is read, so a client that sends faster than the disk writes must wait.
//
// Guarantee  Messages are stored in the order they arrive.
// Errors     The first rejected message ends the stream; earlier ones stay stored. A message that
//            the lane has no room for is rejected with the time to wait.
// Threads    as PredictionStream.
class UploadStream final : public StreamHandler {
 public:
  // All except the caller must outlive it.
  static std::shared_ptr<UploadStream> Start(central::Datasets& datasets,
                                             const ResourceGuard& guard,
                                             const owners::QuotaFinder& quotas, Caller caller,
                                             StreamCall& call);

  void OnMessage() override;
  void OnNoMoreMessages() override;
  void OnDone() override {
    const MutexLock lock(mutex_);  // waits for the thread that ended the call
  }

 private:
  UploadStream(central::Datasets& datasets, const ResourceGuard& guard,
               const owners::QuotaFinder& quotas, Caller caller, StreamCall& call)
      : datasets_(datasets),
        guard_(guard),
        quotas_(quotas),
        caller_(std::move(caller)),
        call_(call) {}

  void StoreAndGoOn();
  Status StoreRows();

  central::Datasets& datasets_;
  const ResourceGuard& guard_;
  const owners::QuotaFinder& quotas_;
  const Caller caller_;
  StreamCall& call_;
  Mutex mutex_;
  v1::UploadRowsResponse stored_ ABSL_GUARDED_BY(mutex_);  // state after the last message
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string dataset_ ABSL_GUARDED_BY(mutex_);  // from the first message that named it
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<UploadStream> UploadStream::Start(central::Datasets& datasets,
                                                  const ResourceGuard& guard,
                                                  const owners::QuotaFinder& quotas, Caller caller,
                                                  StreamCall& call) {
  // The private constructor is out of make_shared's reach.
  std::shared_ptr<UploadStream> stream(
      new UploadStream(datasets, guard, quotas, std::move(caller), call));
  call.Read();
  return stream;
}

void UploadStream::OnMessage() {
  const Status queued = call_.RunOnLane([this] { StoreAndGoOn(); });
  if (!queued.ok()) call_.End(queued);
}

void UploadStream::OnNoMoreMessages() {
  const MutexLock lock(mutex_);
  if (dataset_.empty()) return call_.End(FieldError("dataset", "must be set in some message"));
  if (!changed_) call_.NoteUnchanged();
  call_.EndWith(stored_);
}

void UploadStream::StoreAndGoOn() {
  const Status stored = StoreRows();
  if (!stored.ok()) return call_.End(stored);
  call_.Read();
}

Status UploadStream::StoreRows() {
  const MutexLock lock(mutex_);
  if (complete_) return FieldError("complete", "nothing may follow the message that sets it");
  v1::UploadRowsRequest request;
  COPPICE_RETURN_IF_ERROR(call_.ParseTo(request));
  if (!request.dataset().empty()) {
    if (!dataset_.empty() && request.dataset() != dataset_) {
      return FieldError("dataset", StrCat("was ", dataset_,
                                          " in an earlier message; the rows of a stream are "
                                          "of one dataset: open a stream for each"));
    }
    dataset_ = request.dataset();
  }
  COPPICE_RETURN_IF_ERROR(guard_.Admit(caller_, request).status());
  COPPICE_ASSIGN_OR_RETURN(StoredRows stored, StoreRowsOf(request, dataset_, datasets_, quotas_));
  changed_ |= stored.changed;
  *stored_.mutable_dataset() = std::move(stored.dataset);
  complete_ = request.complete();
  return OkStatus();
}

}  // namespace

void DatasetHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &DatasetHandlers::CreateDataset);
  registry.AddStreamOf<v1::UploadRowsRequest>(*this, &DatasetHandlers::UploadRows);
  registry.Add(*this, &DatasetHandlers::AppendRows);
  registry.Add(*this, &DatasetHandlers::GetDataset);
  registry.Add(*this, &DatasetHandlers::ListDatasets);
  registry.Add(*this, &DatasetHandlers::DeleteDataset);
  registry.Add(*this, &DatasetHandlers::ConfirmLedger);
  registry.Add(*this, &DatasetHandlers::WriteOffLedger);
  registry.Add(*this, &DatasetHandlers::FreeDatasetName);
}

Status DatasetHandlers::CreateDataset(const Caller& caller, const v1::CreateDatasetRequest& request,
                                      v1::CreateDatasetResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(central::DatasetSpec spec, ParseDatasetSpec(request));
  spec.owner = caller.name;
  spec.may_draw = MayDraw(caller, {kDatasets});
  const owners::Quota quota = quotas_(caller.name);
  spec.most_datasets = quota.datasets;
  spec.most_bytes = quota.bytes;
  const bool was_made = datasets_.WasCreated(spec);
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.Create(spec));
  if (was_made) NoteUnchanged();
  *response->mutable_dataset() = ToProto(info);
  return OkStatus();
}

StatusOr<StreamHandlerPtr> DatasetHandlers::UploadRows(const Caller& caller, StreamCall& call) {
  return UploadStream::Start(datasets_, guard_, quotas_, caller, call);
}

Status DatasetHandlers::AppendRows(const Caller& /*caller*/, const v1::AppendRowsRequest& request,
                                   v1::AppendRowsResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(StoredRows stored,
                           StoreRowsOf(request, request.dataset(), datasets_, quotas_));
  if (!stored.changed) NoteUnchanged();
  *response->mutable_dataset() = std::move(stored.dataset);
  return OkStatus();
}

Status DatasetHandlers::GetDataset(const Caller& caller, const v1::GetDatasetRequest& request,
                                   v1::GetDatasetResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  ledger::EntryRange entries{.first = request.first_entry()};
  if (request.max_entries() != 0) entries.max = request.max_entries();
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.Get(id, entries));
  const auto submitter_of = [this](const ledger::LedgerEntry& entry) {
    if (entry.is_evaluation) {
      const StatusOr<v1::Evaluation> found = evaluations_.Get(entry.job);
      return found.ok() ? found->submitter() : "";
    }
    const StatusOr<central::JobInfo> found = jobs_.Get(entry.job);
    return found.ok() ? found->submitter : "";
  };
  *response->mutable_dataset() = ShownTo(caller, info, WithLedger(info, submitter_of));
  return OkStatus();
}

Status DatasetHandlers::ListDatasets(const Caller& caller, const v1::ListDatasetsRequest& request,
                                     v1::ListDatasetsResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const auto shows = [&](const std::string& id, const std::string& owner) {
    return caller.MaySee({.names = {MakeName(kDatasets, id)}, .owner = owner});
  };
  response->set_next_page_token(AddPage(
      page, [&](const Page& part) { return datasets_.List(part, shows); },
      [](const central::DatasetInfo&) { return true; },
      [&](const central::DatasetInfo& info) {
        *response->add_datasets() = ShownTo(caller, info, SummaryOf(info));
      }));
  return OkStatus();
}

Status DatasetHandlers::DeleteDataset(const Caller& /*caller*/,
                                      const v1::DeleteDatasetRequest& request,
                                      v1::DeleteDatasetResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  const StatusOr<central::DatasetState> before = datasets_.StateOf(id);
  COPPICE_RETURN_IF_ERROR(datasets_.Delete(id));
  if (before.ok() && *before == central::DatasetState::kDeleted) NoteUnchanged();
  return OkStatus();
}

Status DatasetHandlers::ConfirmLedger(const Caller& caller, const v1::ConfirmLedgerRequest& request,
                                      v1::ConfirmLedgerResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  Sha256Digest head;
  if (request.head().size() != head.size()) {
    return FieldError("head", "must have 32 bytes: the hash of the ledger's last entry");
  }
  std::copy(request.head().begin(), request.head().end(), head.begin());
  const StatusOr<central::DatasetInfo> before = datasets_.Get(id, ledger::kNoEntries);
  COPPICE_ASSIGN_OR_RETURN(const central::DatasetInfo info, datasets_.ConfirmLedger(id, head));
  if (before.ok() && before->account.hold.reason == ledger::HoldReason::kNone) NoteUnchanged();
  *response->mutable_dataset() = ShownTo(caller, info, ToProto(info));
  return OkStatus();
}

Status DatasetHandlers::WriteOffLedger(const Caller& caller,
                                       const v1::WriteOffLedgerRequest& request,
                                       v1::WriteOffLedgerResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  COPPICE_ASSIGN_OR_RETURN(
      const central::DatasetInfo info,
      datasets_.WriteOffLedger(id, request.epsilon_nanos(), request.delta_atto()));
  *response->mutable_dataset() = ShownTo(caller, info, ToProto(info));
  return OkStatus();
}

Status DatasetHandlers::FreeDatasetName(const Caller& /*caller*/,
                                        const v1::FreeDatasetNameRequest& request,
                                        v1::FreeDatasetNameResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kDatasets, request.name()));
  return datasets_.FreeName(id);
}

}  // namespace coppice::service
