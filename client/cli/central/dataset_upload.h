// Uploads the rows of a table to a dataset, in blocks, from where the dataset stands.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/table/table.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::cli {

// Rows in one message: at most 65536, and about a megabyte. A broken stream loses at most this.
size_t RowsPerBlock(size_t features);

// Rows begin to end of the table.
v1::RowBlock BlockOf(const Table& table, size_t begin, size_t end);

struct UploadHooks {
  std::function<void(uint64_t rows)> progress;  // this many have been sent
  std::function<bool()> stop;                   // asked between two blocks
};

// Uploads rows block by block as they are read, from the first that `dataset` does not have yet.
// `dataset` is updated to the curator's last response, even after an error.
//
// Guarantee  Every row arrives once and in order: after a broken stream the curator is asked how
//            many rows it has, and the next block begins there. Blocks are held until the curator
//            has stored them, and no more than one stream of them: some 16 MiB.
// Errors     Cancelled if `stop` says so; FailedPrecondition if the dataset takes no more rows, or
//            somebody else uploads to it; InvalidArgument if it has more rows than were added;
//            otherwise the curator's error, once several tries in a row added no row. After an
//            error nothing more may be added.
class RowUpload {
 public:
  RowUpload(const Remote& remote, const UploadHooks& hooks, v1::Dataset& dataset);
  ~RowUpload();
  RowUpload(const RowUpload&) = delete;
  RowUpload& operator=(const RowUpload&) = delete;

  // Takes the next rows of the table, which begins with its row 0, also where an upload continues.
  Status Add(const Table& rows);
  // There are no more rows: returns once the curator has all of them.
  Status Finish();

 private:
  class Sender;
  const std::unique_ptr<Sender> sender_;
};

// OK if rows can be added to an upload to `dataset`.
Status CheckTakesRows(const v1::Dataset& dataset);

// `name` is "datasets/ID". With `patiently` it retries while the server cannot be reached.
StatusOr<v1::Dataset> GetDataset(const Remote& remote, const std::string& name,
                                 bool patiently = false);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_
