// Converts rows between tables and the column-wise form of messages and of the store.
//
// Errors     InvalidArgument names the column or the row, and quotes no value.

#ifndef COPPICE_SERVER_DATASETS_ROW_BLOCK_H_
#define COPPICE_SERVER_DATASETS_ROW_BLOCK_H_

#include <cstddef>
#include <memory>

#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::central {

inline constexpr size_t kMaxRowsPerBlock = 65536;
Status CheckBlockRows(size_t rows);

// Returns the rows of `block`, which may be hostile. OK only if each row fits the schema and has a
// class or kUnlabelled, or for regression a number within the target's bounds.
StatusOr<Table> ParseRows(const v1::RowBlock& block, std::shared_ptr<const Schema> schema);
// Adds the rows of `block` to `rows`. After an error, some may have been added.
Status AppendRows(const v1::RowBlock& block, Table& rows);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_ROW_BLOCK_H_
