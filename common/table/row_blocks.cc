#include "common/table/row_blocks.h"

#include <utility>

#include "common/base/status_macros.h"

namespace coppice {

StatusOr<std::vector<uint32_t>> ReadLabels(const RowBlocks& rows) {
  std::vector<uint32_t> labels;
  if (rows.schema().target()) return labels;
  labels.reserve(rows.num_rows());
  COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
    labels.insert(labels.end(), block.labels().begin(), block.labels().end());
    return OkStatus();
  }));
  return labels;
}

StatusOr<Table> ReadWhole(const RowBlocks& rows) {
  Table whole(rows.shared_schema());
  whole.Reserve(rows.num_rows());
  COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
    whole.Append(block);
    return OkStatus();
  }));
  return whole;
}

}  // namespace coppice
