// A table as blocks of a few rows each, which may fail to be read.

#ifndef COPPICE_TESTS_SUPPORT_CUT_ROWS_H_
#define COPPICE_TESTS_SUPPORT_CUT_ROWS_H_

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/row_blocks.h"

namespace coppice::testing {

class CutRows final : public RowBlocks {
 public:
  // The table must outlive it.
  CutRows(const Table& table, size_t rows_of_block) : table_(table), block_(rows_of_block) {}

  // From then on, this many passes end well, and the next one fails after its first block.
  void FailAfter(int passes) { left_ = passes; }
  int passes() const { return passes_; }

  const std::shared_ptr<const Schema>& shared_schema() const override {
    return table_.shared_schema();
  }
  size_t num_rows() const override { return table_.num_rows(); }
  Status ForEach(Take take) const override {
    ++passes_;
    const bool fails = left_ && (*left_)-- == 0;
    for (size_t first = 0; first < table_.num_rows(); first += block_) {
      if (fails && first > 0) return DataLossError("a block cannot be read");
      std::vector<size_t> rows(std::min(block_, table_.num_rows() - first));
      std::iota(rows.begin(), rows.end(), first);
      COPPICE_RETURN_IF_ERROR(take(table_.Select(rows)));
    }
    return OkStatus();
  }

 private:
  const Table& table_;
  const size_t block_;
  mutable std::optional<int> left_;
  mutable int passes_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_CUT_ROWS_H_
