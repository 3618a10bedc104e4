#include "client/cli/central/dataset_upload.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/text.h"
#include "coppice/v1/dataset.grpc.pb.h"

namespace coppice::cli {
namespace {

constexpr size_t kMaxRows = 65'536;
constexpr size_t kBlockBytes = 1 << 20;
// Streams are short, so that each stays within the deadline of one call and gets an answer soon.
constexpr int kBlocksPerStream = 16;
constexpr int kFruitlessTries = 5;
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);

class TableUpload {
 public:
  TableUpload(const Remote& remote, const Table& table, const UploadHooks& hooks,
              v1::Dataset& dataset)
      : remote_(remote),
        stub_(v1::DatasetService::NewStub(remote.channel())),
        table_(table),
        hooks_(hooks),
        dataset_(dataset),
        sent_(dataset.rows()) {}

  Status Run() {
    COPPICE_RETURN_IF_ERROR(CheckResumable(dataset_, table_));
    int fruitless = 0;
    while (!IsComplete()) {
      if (hooks_.stop()) return Stopped();
      const uint64_t before = dataset_.rows();
      const Status status = SendStream();
      if (status.ok()) {
        fruitless = 0;
        continue;
      }
      if (!MayGoOn(status)) return status;
      COPPICE_RETURN_IF_ERROR(AskWhere(status));
      fruitless = dataset_.rows() > before ? 0 : fruitless + 1;
      if (fruitless == kFruitlessTries) return status;
      if (fruitless > 0) absl::SleepFor(AskedToWait(status) + kFirstPause * (1 << fruitless));
    }
    return OkStatus();
  }

 private:
  bool IsComplete() const {
    return dataset_.state() == v1::DATASET_STATE_READY && dataset_.rows() == table_.num_rows();
  }

  // The curator also returns FailedPrecondition for a block that arrives before it has finished
  // with the broken stream.
  static bool MayGoOn(const Status& status) {
    return IsRetryable(status) || status.code() == StatusCode::kFailedPrecondition;
  }

  Status Stopped() const {
    return CancelledError(
        StrCat("stopped with ", dataset_.rows(), " of ", table_.num_rows(), " rows stored"));
  }

  // Sends one stream of a few blocks. OK: what `dataset_` now says is stored.
  Status SendStream() {
    v1::UploadRowsResponse response;
    uint64_t next = dataset_.rows();
    COPPICE_RETURN_IF_ERROR(remote_.Stream([&](grpc::ClientContext& context) {
      const auto writer = stub_->UploadRows(&context, &response);
      WriteBlocks(*writer, next);
      writer->WritesDone();
      return writer->Finish();
    }));
    dataset_ = std::move(*response.mutable_dataset());
    if (dataset_.rows() == next) return OkStatus();
    return DataLossError(StrCat("the curator has ", dataset_.rows(), " rows where ", next,
                                " were sent; delete the dataset"));
  }

  // Advances `next` past the rows that were written.
  void WriteBlocks(grpc::ClientWriter<v1::UploadRowsRequest>& writer, uint64_t& next) {
    const size_t step = RowsPerBlock(table_.schema().num_features());
    for (int block = 0; block < kBlocksPerStream; ++block) {
      if (block > 0 && hooks_.stop()) return;
      const size_t end = std::min<size_t>(next + step, table_.num_rows());
      v1::UploadRowsRequest request;
      if (block == 0) request.set_dataset(dataset_.name());
      request.set_first_row(next);
      *request.mutable_rows() = BlockOf(table_, next, end);
      request.set_complete(end == table_.num_rows());
      sent_ = std::max<uint64_t>(sent_, end);
      if (!writer.Write(request)) return;  // Finish() has the reason
      next = end;
      hooks_.progress(next);
      if (request.complete()) return;
    }
  }

  // Asks how far the stream that ended with `why` came. Returns `why` if it made no progress.
  Status AskWhere(const Status& why) {
    const uint64_t before = dataset_.rows();
    COPPICE_ASSIGN_OR_RETURN(dataset_, GetDataset(remote_, dataset_.name(), /*patiently=*/true));
    if (dataset_.rows() < before || dataset_.rows() > sent_) {
      return FailedPreconditionError(StrCat(
          "someone else is uploading to this dataset: it has ", dataset_.rows(), " rows, of which ",
          sent_, " were sent from here; delete it, and upload from one place only only"));
    }
    const bool takes_rows = dataset_.state() == v1::DATASET_STATE_UPLOADING;
    const bool refused = why.code() == StatusCode::kFailedPrecondition;
    if (IsComplete() || (takes_rows && !(refused && dataset_.rows() == before))) {
      return OkStatus();
    }
    return why;
  }

  const Remote& remote_;
  const std::unique_ptr<v1::DatasetService::Stub> stub_;
  const Table& table_;
  const UploadHooks& hooks_;
  v1::Dataset& dataset_;
  uint64_t sent_;  // rows that may have arrived
};

}  // namespace

size_t RowsPerBlock(size_t features) {
  const size_t row_bytes = 8 * features + 8;
  return std::clamp<size_t>(kBlockBytes / row_bytes, 1, kMaxRows);
}

v1::RowBlock BlockOf(const Table& table, size_t begin, size_t end) {
  v1::RowBlock block;
  for (size_t f = 0; f < table.schema().num_features(); ++f) {
    const absl::Span<const double> values = table.column(f).subspan(begin, end - begin);
    block.add_columns()->mutable_values()->Assign(values.begin(), values.end());
  }
  if (table.schema().target()) {
    const absl::Span<const double> targets = table.targets().subspan(begin, end - begin);
    block.mutable_targets()->Assign(targets.begin(), targets.end());
  } else {
    const absl::Span<const uint32_t> labels = table.labels().subspan(begin, end - begin);
    block.mutable_labels()->Assign(labels.begin(), labels.end());
  }
  return block;
}

Status CheckResumable(const v1::Dataset& dataset, const Table& table) {
  const std::string id = IdOf(dataset.name());
  if (dataset.state() == v1::DATASET_STATE_DELETED) {
    return FailedPreconditionError(StrCat("dataset ", id, " is deleted"));
  }
  if (dataset.state() != v1::DATASET_STATE_UPLOADING) {
    return FailedPreconditionError(
        StrCat("the upload of dataset ", id, " is complete; nothing can be added to it"));
  }
  if (dataset.rows() <= table.num_rows()) return OkStatus();
  return InvalidArgumentError(StrCat("dataset ", id, " has ", dataset.rows(),
                                     " rows already, but the file has only ", table.num_rows(),
                                     "; continue with the file that the upload began with"));
}

Status UploadTable(const Remote& remote, const Table& table, const UploadHooks& hooks,
                   v1::Dataset& dataset) {
  return TableUpload(remote, table, hooks, dataset).Run();
}

StatusOr<v1::Dataset> GetDataset(const Remote& remote, const std::string& name, bool patiently) {
  v1::GetDatasetRequest request;
  request.set_name(name);
  COPPICE_ASSIGN_OR_RETURN(auto response,
                           patiently ? remote.CallPatiently<v1::GetDatasetResponse>(request)
                                     : remote.Call<v1::GetDatasetResponse>(request));
  return std::move(*response.mutable_dataset());
}

}  // namespace coppice::cli
