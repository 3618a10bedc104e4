#include "client/cli/central/dataset_upload.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <deque>
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
constexpr size_t kBlocksPerStream = 16;
constexpr int kFruitlessTries = 5;
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);

// The curator also returns FailedPrecondition for a block that arrives before it has finished with
// the broken stream.
bool MayGoOn(const Status& status) {
  return IsRetryable(status) || status.code() == StatusCode::kFailedPrecondition;
}

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

// Holds the blocks that the curator has not confirmed.
class RowUpload::Sender {
 public:
  Sender(const Remote& remote, const UploadHooks& hooks, v1::Dataset& dataset)
      : remote_(remote),
        stub_(v1::DatasetService::NewStub(remote.channel())),
        hooks_(hooks),
        dataset_(dataset),
        sent_(dataset.rows()) {}

  Status Add(const Table& rows) {
    const size_t step = RowsPerBlock(rows.schema().num_features());
    no_rows_ = BlockOf(rows, 0, 0);
    const uint64_t end = added_ + rows.num_rows();
    for (uint64_t row = std::max<uint64_t>(added_, next_row()); row < end;) {
      // The last block waits for Finish(), which marks it.
      if (waiting_.size() == kBlocksPerStream) COPPICE_RETURN_IF_ERROR(Send());
      const uint64_t block_end = std::min<uint64_t>(row + step, end);
      v1::UploadRowsRequest block;
      block.set_first_row(row);
      *block.mutable_rows() = BlockOf(rows, row - added_, block_end - added_);
      waiting_.push_back({std::move(block), block_end});
      row = block_end;
    }
    added_ = end;
    return OkStatus();
  }

  Status Finish() {
    if (dataset_.rows() > added_) return TooManyRows();
    if (waiting_.empty()) {
      v1::UploadRowsRequest nothing;
      nothing.set_first_row(added_);
      *nothing.mutable_rows() = no_rows_;
      waiting_.push_back({std::move(nothing), added_});
    }
    waiting_.back().request.set_complete(true);
    return Send();
  }

 private:
  struct Block {
    v1::UploadRowsRequest request;
    uint64_t end = 0;  // the row after its last
  };

  // The first row that is neither stored nor held.
  uint64_t next_row() const { return waiting_.empty() ? dataset_.rows() : waiting_.back().end; }

  // Sends what is held until all of it is stored.
  Status Send() {
    int fruitless = 0;
    while (!waiting_.empty()) {
      if (hooks_.stop()) return Stopped();
      const uint64_t before = dataset_.rows();
      const Status status = SendStream();
      if (status.ok()) {
        fruitless = 0;
      } else {
        if (!MayGoOn(status)) return status;
        COPPICE_RETURN_IF_ERROR(AskWhere(status));
        fruitless = dataset_.rows() > before ? 0 : fruitless + 1;
        if (fruitless == kFruitlessTries) return status;
      }
      COPPICE_RETURN_IF_ERROR(ForgetStored());
      if (fruitless > 0) absl::SleepFor(AskedToWait(status) + kFirstPause * (1 << fruitless));
    }
    return OkStatus();
  }

  // Lets go of what the curator has.
  Status ForgetStored() {
    const bool is_complete = dataset_.state() == v1::DATASET_STATE_READY;
    while (!waiting_.empty() && waiting_.front().end <= dataset_.rows() &&
           (is_complete || !waiting_.front().request.complete())) {
      waiting_.pop_front();
    }
    if (waiting_.empty() || waiting_.front().request.first_row() == dataset_.rows()) {
      return OkStatus();
    }
    return SomebodyElse();
  }

  // Sends the blocks in one stream. OK: what `dataset_` now says is stored.
  Status SendStream() {
    v1::UploadRowsResponse response;
    uint64_t next = dataset_.rows();
    COPPICE_RETURN_IF_ERROR(remote_.Stream([&](grpc::ClientContext& context) {
      const auto writer = stub_->UploadRows(&context, &response);
      Write(*writer, next);
      writer->WritesDone();
      return writer->Finish();
    }));
    dataset_ = std::move(*response.mutable_dataset());
    if (dataset_.rows() == next) return OkStatus();
    return DataLossError(StrCat("the curator has ", dataset_.rows(), " rows where ", next,
                                " were sent; delete the dataset"));
  }

  // Advances `next` past the rows that were written.
  void Write(grpc::ClientWriter<v1::UploadRowsRequest>& writer, uint64_t& next) {
    for (Block& block : waiting_) {
      const bool is_first = &block == &waiting_.front();
      if (!is_first && hooks_.stop()) return;
      block.request.set_dataset(is_first ? dataset_.name() : "");
      sent_ = std::max(sent_, block.end);
      if (!writer.Write(block.request)) return;  // Finish() has the reason
      next = block.end;
      hooks_.progress(next);
    }
  }

  // Asks how far the stream that ended with `why` came. Returns `why` if it made no progress.
  Status AskWhere(const Status& why) {
    const uint64_t before = dataset_.rows();
    COPPICE_ASSIGN_OR_RETURN(dataset_, GetDataset(remote_, dataset_.name(), /*patiently=*/true));
    if (dataset_.rows() < before || dataset_.rows() > sent_) return SomebodyElse();
    const bool is_complete = dataset_.state() == v1::DATASET_STATE_READY &&
                             dataset_.rows() == waiting_.back().end &&
                             waiting_.back().request.complete();
    const bool takes_rows = dataset_.state() == v1::DATASET_STATE_UPLOADING;
    const bool refused = why.code() == StatusCode::kFailedPrecondition;
    if (is_complete || (takes_rows && !(refused && dataset_.rows() == before))) return OkStatus();
    return why;
  }

  Status Stopped() const {
    return CancelledError(StrCat("stopped with ", dataset_.rows(), " rows stored"));
  }
  Status SomebodyElse() const {
    return FailedPreconditionError(StrCat(
        "someone else is uploading to this dataset: it has ", dataset_.rows(), " rows, of which ",
        sent_, " were sent from here; delete it, and upload from one place only"));
  }
  Status TooManyRows() const {
    return InvalidArgumentError(StrCat("dataset ", IdOf(dataset_.name()), " has ", dataset_.rows(),
                                       " rows already, but the file has only ", added_,
                                       "; continue with the file that the upload began with"));
  }

  const Remote& remote_;
  const std::unique_ptr<v1::DatasetService::Stub> stub_;
  const UploadHooks& hooks_;
  v1::Dataset& dataset_;
  v1::RowBlock no_rows_;  // of the table's columns
  uint64_t added_ = 0;    // rows of the table so far
  uint64_t sent_;         // rows that may have arrived
  std::deque<Block> waiting_;
};

RowUpload::RowUpload(const Remote& remote, const UploadHooks& hooks, v1::Dataset& dataset)
    : sender_(std::make_unique<Sender>(remote, hooks, dataset)) {}
RowUpload::~RowUpload() = default;

Status RowUpload::Add(const Table& rows) { return sender_->Add(rows); }
Status RowUpload::Finish() { return sender_->Finish(); }

Status CheckTakesRows(const v1::Dataset& dataset) {
  const std::string id = IdOf(dataset.name());
  if (dataset.state() == v1::DATASET_STATE_DELETED) {
    return FailedPreconditionError(StrCat("dataset ", id, " is deleted"));
  }
  if (dataset.state() != v1::DATASET_STATE_UPLOADING) {
    return FailedPreconditionError(
        StrCat("the upload of dataset ", id, " is complete; nothing can be added to it"));
  }
  return OkStatus();
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
