// Turns the text fields of rows into a Table, for the CSV and LIBSVM readers.

#ifndef COPPICE_COMMON_TABLE_ROW_ENCODER_H_
#define COPPICE_COMMON_TABLE_ROW_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/read_table.h"

namespace coppice {

// Errors     messages name the column and its public bounds, never the field; the caller adds file
//            and line. FinishRow(): ResourceExhausted above options.max_rows.
// Threads    not thread-safe.
class RowEncoder {
 public:
  using Take = std::function<Status(const Table&)>;

  // With `take`, rows go there in blocks of `block_rows`; Finish() passes on the last block.
  RowEncoder(std::shared_ptr<const Schema> schema, const ReadOptions& options,
             size_t block_rows = 0, Take take = nullptr);

  const Schema& schema() const { return table_.schema(); }

  // A row is every feature and the label (or target), in any order, then FinishRow(). With
  // options.total, what is not set is missing.
  Status SetFeature(size_t feature, std::string_view text);
  Status SetLabel(std::string_view text);
  void SetLabel(uint32_t label) { label_ = label; }
  // Sets the owner's id, for options.id_column. InvalidArgument if it is empty or another row's.
  Status SetId(std::string_view text);
  Status FinishRow();

  // Returns the rows that were not passed to `take`. InvalidArgument if there was no row.
  StatusOr<TableFile> Finish() &&;

 private:
  Status SetTarget(std::string_view text);
  std::string_view EmptyIfMissing(std::string_view text) const;
  // The field with its number as a plain decimal, or a text that is no number if it is not written
  // as its column's format says; `column` counts the label as the last.
  std::string Plain(size_t column, std::string_view text) const;
  // Says how the numbers of a column must be written.
  Status NotANumber(size_t column, const Status& status) const;

  ReadOptions options_;
  std::vector<std::optional<NumberFormat>> number_formats_;  // empty if all numbers are plain
  size_t block_rows_;
  Take take_;
  uint64_t rows_taken_ = 0;
  Table table_;
  ReadNotes notes_;
  StringSet seen_ids_;
  std::vector<std::string> ids_;
  Row row_;
  uint32_t label_ = kUnlabelled;
  double target_ = 0;  // for regression
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_ROW_ENCODER_H_
