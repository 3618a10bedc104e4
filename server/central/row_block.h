// Rows as they are uploaded and stored: column by column.
//
// Errors  InvalidArgument that names the column or the row, and quotes no value.

#ifndef COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_
#define COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/schema/schema.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::central {

inline constexpr size_t kMaxRowsPerBlock = 65536;

// How many rows `block` has. OK only if each fits the schema and has a class or kUnlabelled, or for
// regression a number within the target's bounds.
absl::StatusOr<size_t> CheckRows(const v1::RowBlock& block, const Schema& schema);

// Adds the rows of a block that was checked.
void AppendRows(const v1::RowBlock& block, Table& table);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_ROW_BLOCK_H_
