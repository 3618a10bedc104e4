// Where the rows of one repetition come from: files, split anew each time, or the synthetic pair.

#ifndef COPPICE_SERVER_LAB_ROWS_H_
#define COPPICE_SERVER_LAB_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "server/lab/synthetic.h"

namespace coppice {

struct LabRows {
  std::shared_ptr<const Table> public_rows;
  std::shared_ptr<const Table> private_rows;
  std::shared_ptr<const Table> test_rows;
};

// The rows for one seed: the same for the same seed. Safe to call from several threads.
using RowSource = std::function<LabRows(uint64_t seed)>;

// The same rows for every seed.
RowSource FixedRows(LabRows rows);

// Holds out `share` of the private rows for the test, rounded up, at random; the rest stays
// private. InvalidArgument unless both sides get a row.
absl::StatusOr<RowSource> HoldOut(std::shared_ptr<const Table> public_rows,
                                  std::shared_ptr<const Table> private_rows, double share);

// Fresh rows for each seed.
RowSource SyntheticRows(const SyntheticOptions& options);

}  // namespace coppice

#endif  // COPPICE_SERVER_LAB_ROWS_H_
