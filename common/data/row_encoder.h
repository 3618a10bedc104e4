// Turns the text fields of one row after another into a Table: what the CSV and LIBSVM readers
// share.

#ifndef COPPICE_COMMON_DATA_ROW_ENCODER_H_
#define COPPICE_COMMON_DATA_ROW_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/data/read_table.h"

namespace coppice {

// Errors     messages name the column and its public bounds, never the field; the caller adds file
//            and line. FinishRow(): ResourceExhausted above options.max_rows.
// Threads    one at a time.
class RowEncoder {
 public:
  using Take = std::function<absl::Status(const Table&)>;

  // With `take` the rows go there, `block_rows` at a time, and the last of them to Finish().
  RowEncoder(std::shared_ptr<const Schema> schema, const ReadOptions& options,
             size_t block_rows = 0, Take take = nullptr);

  const Schema& schema() const { return table_.schema(); }

  // A row is every feature and the label (or target), in any order, then FinishRow(). With
  // options.total what is not set is missing.
  absl::Status SetFeature(size_t feature, absl::string_view text);
  absl::Status SetLabel(absl::string_view text);
  void SetLabel(uint32_t label) { label_ = label; }
  // Whose row it is, for options.id_column. InvalidArgument if it is empty or another row's.
  absl::Status SetId(absl::string_view text);
  absl::Status FinishRow();

  // InvalidArgument if there was no row. The rows that no block took.
  absl::StatusOr<TableFile> Finish() &&;

 private:
  absl::Status SetTarget(absl::string_view text);
  absl::string_view EmptyIfMissing(absl::string_view text) const;

  ReadOptions options_;
  size_t block_rows_;
  Take take_;
  uint64_t rows_taken_ = 0;
  Table table_;
  ReadNotes notes_;
  absl::flat_hash_set<std::string> seen_ids_;
  std::vector<std::string> ids_;
  Row row_;
  uint32_t label_ = kUnlabelled;
  double target_ = 0;  // for regression
};

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_ROW_ENCODER_H_
