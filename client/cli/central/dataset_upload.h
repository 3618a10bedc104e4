// The rows of a table on their way to a dataset, in blocks, from where the dataset is.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/remote.h"
#include "common/data/table.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::cli {

// At most 65536 rows, and about a megabyte, in one message: what a broken stream loses at most.
size_t RowsPerBlock(size_t features);

// Rows begin to end of the table.
v1::RowBlock BlockOf(const Table& table, size_t begin, size_t end);

// OK if an upload of `table` to `dataset` can go on.
absl::Status CheckResumable(const v1::Dataset& dataset, const Table& table);

struct UploadHooks {
  std::function<void(uint64_t rows)> progress;  // this many have been sent
  std::function<bool()> stop;                   // asked between two blocks
};

// Uploads the rows that `dataset` does not have yet and ends the upload. `dataset` is then, also
// after an error, what the curator last said.
//
// Guarantee  Every row arrives once and in order, whatever breaks: after a broken stream the
//            curator is asked how many rows it has, and the next block begins there.
// Errors     Cancelled if `stop` says so; FailedPrecondition if the dataset takes no rows any more,
//            or somebody else uploads to it; InvalidArgument if it has more rows than the table;
//            what the curator answers otherwise, once several tries in a row brought it no row.
absl::Status UploadTable(const Remote& remote, const Table& table, const UploadHooks& hooks,
                         v1::Dataset& dataset);

// `name` is "datasets/ID". `patiently`: again and again while the server cannot be reached.
absl::StatusOr<v1::Dataset> GetDataset(const Remote& remote, const std::string& name,
                                       bool patiently = false);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DATASET_UPLOAD_H_
