// Rows as a message carries them and the store keeps them: column by column.
//
// Errors  InvalidArgument that names the column or the row, and quotes no value.

#ifndef COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_
#define COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/schema/schema.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::central {

inline constexpr size_t kMaxRowsPerBlock = 65536;
absl::Status CheckBlockRows(size_t rows);

// The rows of `block`, which may be hostile. OK only if each fits the schema and has a class or
// kUnlabelled, or for regression a number within the target's bounds.
absl::StatusOr<Table> RowsFromProto(const v1::RowBlock& block,
                                    std::shared_ptr<const Schema> schema);
// Adds them to `rows`, which holds some of them after an error.
absl::Status AppendRows(const v1::RowBlock& block, Table& rows);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_
