// Rows that are read block by block, as often as a reader likes: those of a table in memory, or of
// one in a store that memory might not hold.

#ifndef COPPICE_COMMON_TABLE_ROW_BLOCKS_H_
#define COPPICE_COMMON_TABLE_ROW_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/table.h"

namespace coppice {

// Guarantee  every pass that ends without an error has the same rows in the same order, num_rows()
//            of them, each of which fits the schema.
// Errors     ForEach() returns the first error of `take`, unchanged, or why the rows could not be
//            read; some blocks were taken then.
// Threads    safe to share.
class RowBlocks {
 public:
  virtual ~RowBlocks() = default;

  virtual const std::shared_ptr<const Schema>& shared_schema() const = 0;
  const Schema& schema() const { return *shared_schema(); }
  virtual size_t num_rows() const = 0;

  // Calls `take` with one block after the other, none of them empty. A block is gone when the call
  // returns.
  using Take = absl::FunctionRef<Status(const Table& block)>;
  virtual Status ForEach(Take take) const = 0;
};

// A table as a single block.
class BlocksOfTable final : public RowBlocks {
 public:
  // The table must outlive it.
  explicit BlocksOfTable(const Table& table) : table_(table) {}

  const std::shared_ptr<const Schema>& shared_schema() const override {
    return table_.shared_schema();
  }
  size_t num_rows() const override { return table_.num_rows(); }
  Status ForEach(Take take) const override {
    return table_.num_rows() > 0 ? take(table_) : OkStatus();
  }

 private:
  const Table& table_;
};

// Returns the class, or kUnlabelled, of every row; empty for regression.
StatusOr<std::vector<uint32_t>> ReadLabels(const RowBlocks& rows);

// Returns all rows as one table, for a reader that cannot do with less: 8 bytes a value.
StatusOr<Table> ReadWhole(const RowBlocks& rows);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_ROW_BLOCKS_H_
