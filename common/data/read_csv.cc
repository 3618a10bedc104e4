#include <csv.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/data/formats.h"
#include "common/data/row_encoder.h"
#include "common/data/text_file.h"

namespace coppice::data_internal {
namespace {

// A quote left open would otherwise swallow the rest of the file into memory.
constexpr size_t kMaxFieldBytes = size_t{1} << 20;

void* ReallocateField(void* field, size_t bytes) {
  return bytes > kMaxFieldBytes ? nullptr : std::realloc(field, bytes);
}

// Takes fields from libcsv and gives rows to the encoder. The first error stops it.
class CsvRows {
 public:
  CsvRows(RowEncoder encoder, const ReadOptions& options)
      : encoder_(std::move(encoder)),
        has_labels_(!options.ignore_labels),
        total_(options.total),
        id_column_(options.id_column) {}

  void OnField(absl::string_view text) {
    if (!status_.ok()) return;
    if (in_header_) {
      header_.emplace_back(text);
    } else {
      status_ = Take(text);
    }
    ++column_;
  }

  void OnRowEnd() {
    // libcsv also reports the ends of empty lines, and "\r\n" as two ends.
    if (!status_.ok() || column_ == 0) return;
    status_ = in_header_ ? MapHeader() : EndRow();
    in_header_ = false;
    column_ = 0;
  }

  bool between_rows() const { return column_ == 0; }
  const absl::Status& status() const { return status_; }

  absl::StatusOr<TableFile> Finish() && {
    if (in_header_) {
      return absl::InvalidArgumentError("the file is empty; the first line must name the columns");
    }
    return std::move(encoder_).Finish();
  }

 private:
  // Where a column of the file goes.
  struct Target {
    enum { kIgnored, kFeature, kLabel } kind = kIgnored;
    size_t feature = 0;
    bool is_id = false;  // beside what else it is
  };

  absl::Status MapHeader() {
    targets_.assign(header_.size(), Target{});
    const Schema& schema = encoder_.schema();
    for (size_t f = 0; f < schema.num_features(); ++f) {
      COPPICE_RETURN_IF_ERROR(MapColumn(schema.features()[f].name, {Target::kFeature, f}));
    }
    if (has_labels_) COPPICE_RETURN_IF_ERROR(MapColumn(schema.label(), {Target::kLabel, 0}));
    return id_column_.empty() ? absl::OkStatus() : MapIdColumn();
  }

  absl::Status MapIdColumn() {
    const auto found = std::find(header_.begin(), header_.end(), id_column_);
    if (found == header_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the header has no column \"", id_column_, "\" for whose row it is"));
    }
    targets_[static_cast<size_t>(found - header_.begin())].is_id = true;
    return absl::OkStatus();
  }

  absl::Status MapColumn(const std::string& name, Target target) {
    absl::optional<size_t> found;
    for (size_t c = 0; c < header_.size(); ++c) {
      if (header_[c] != name || (found.has_value() && total_)) continue;
      if (found.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" appears twice"));
      }
      found = c;
    }
    if (!found.has_value() && total_) return absl::OkStatus();
    if (!found.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", name, "\" of the schema is missing from the header"));
    }
    targets_[*found] = target;
    return absl::OkStatus();
  }

  absl::Status Take(absl::string_view text) {
    if (column_ >= targets_.size()) return absl::OkStatus();  // EndRow() complains.
    const Target& target = targets_[column_];
    if (target.is_id) COPPICE_RETURN_IF_ERROR(encoder_.SetId(text));
    if (target.kind == Target::kLabel) return encoder_.SetLabel(text);
    if (target.kind == Target::kFeature) return encoder_.SetFeature(target.feature, text);
    return absl::OkStatus();
  }

  absl::Status EndRow() {
    if (column_ != targets_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the row has ", column_, " fields, the header ", targets_.size(), " columns"));
    }
    return encoder_.FinishRow();
  }

  RowEncoder encoder_;
  const bool has_labels_;
  const bool total_;  // the first of several columns of one name counts, and none need be there
  const std::string id_column_;
  std::vector<std::string> header_;
  std::vector<Target> targets_;
  bool in_header_ = true;
  size_t column_ = 0;  // fields of the row so far
  absl::Status status_;
};

// libcsv's parser with its buffer. Its callbacks are C.
class Parser {
 public:
  explicit Parser(CsvRows& rows) : rows_(rows) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL);
    csv_set_realloc_func(&parser_, ReallocateField);
    csv_set_blk_size(&parser_, 4096);
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  absl::Status Parse(absl::string_view piece) {
    const size_t read = csv_parse(&parser_, piece.data(), piece.size(), OnField, OnRowEnd, &rows_);
    if (read != piece.size()) return SyntaxError();
    return rows_.status();
  }

  absl::Status Finish() {
    if (csv_fini(&parser_, OnField, OnRowEnd, &rows_) != 0) {
      return absl::InvalidArgumentError("a quoted field that starts here is never closed");
    }
    return rows_.status();
  }

 private:
  static void OnField(void* field, size_t bytes, void* rows) {
    static_cast<CsvRows*>(rows)->OnField({static_cast<const char*>(field), bytes});
  }
  static void OnRowEnd(int /*terminator*/, void* rows) { static_cast<CsvRows*>(rows)->OnRowEnd(); }

  absl::Status SyntaxError() {
    if (csv_error(&parser_) == CSV_EPARSE) {
      return absl::InvalidArgumentError(
          "a quote inside a field must be doubled and the whole field quoted");
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a field has more than ", kMaxFieldBytes, " bytes; is a quote left open?"));
  }

  CsvRows& rows_;
  csv_parser parser_;
};

}  // namespace

absl::StatusOr<TableFile> ReadCsv(const std::string& path, RowEncoder encoder,
                                  const ReadOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, options.max_bytes));
  CsvRows rows(std::move(encoder), options);
  Parser parser(rows);
  uint64_t row_line = 1;  // where the row starts: a quoted field may hold line feeds
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const absl::string_view piece, file.Next());
    if (piece.empty()) break;
    if (rows.between_rows()) row_line = file.line();
    COPPICE_RETURN_IF_ERROR(file.At(row_line, parser.Parse(piece)));
  }
  COPPICE_RETURN_IF_ERROR(file.At(row_line, parser.Finish()));
  absl::StatusOr<TableFile> table = std::move(rows).Finish();
  COPPICE_RETURN_IF_ERROR(file.At(row_line, table.status()));
  return table;
}

}  // namespace coppice::data_internal
