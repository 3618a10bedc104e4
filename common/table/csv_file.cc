#include "common/table/csv_file.h"

#include <csv.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/text_file.h"

namespace coppice {
namespace {

// Without a limit, an unclosed quote would read the rest of the file into memory.
constexpr size_t kMaxFieldBytes = size_t{1} << 20;
constexpr size_t kMaxRowBytes = size_t{1} << 26;  // of a row with kept bytes

void* ReallocateField(void* field, size_t bytes) {
  return bytes > kMaxFieldBytes ? nullptr : std::realloc(field, bytes);
}

Status Error(std::string_view message) { return InvalidArgumentError(message); }

// Runs libcsv's parser, whose callbacks are C, between a file and a sink.
class Reader {
 public:
  Reader(TextFile file, const CsvOptions& options, CsvSink& sink)
      : file_(std::move(file)), options_(options), sink_(sink) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL);
    csv_set_realloc_func(&parser_, ReallocateField);
    csv_set_blk_size(&parser_, 4096);
  }
  ~Reader() { csv_free(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Status Read() {
    while (true) {
      COPPICE_ASSIGN_OR_RETURN(const std::string_view piece, file_.Next());
      if (piece.empty()) break;
      if (!has_delimiter_) SetDelimiter(piece);
      COPPICE_RETURN_IF_ERROR(Parse(piece));
    }
    return Finish();
  }

 private:
  bool in_row() const { return column_ > 0 || parser_.quoted != 0; }

  void SetDelimiter(std::string_view piece) {
    has_delimiter_ = !StripAsciiWhitespace(piece).empty();
    delimiter_ = options_.delimiter == kFindDelimiter ? FindDelimiter(piece) : options_.delimiter;
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter_));
  }

  Status Parse(std::string_view piece) {
    const bool was_quoted = parser_.quoted != 0;
    if (!in_row() && !piece_is_part_) {
      row_line_ = file_.line();
      bytes_.clear();
    }
    piece_ = piece;
    ended_in_piece_ = 0;
    fields_in_piece_ = 0;
    const size_t read = csv_parse(&parser_, piece.data(), piece.size(), OnField, OnRowEnd, this);
    // libcsv forgets that a field was quoted when the field ends.
    if (parser_.quoted != 0 && (fields_in_piece_ > 0 || !was_quoted)) quote_line_ = file_.line();
    if (read != piece.size()) return SyntaxError();
    COPPICE_RETURN_IF_ERROR(file_.At(row_line_, status_));
    piece_is_part_ = piece.back() != '\n';
    return KeepUnfinished();
  }

  // Remembers the unfinished part of a row that continues in the next piece.
  Status KeepUnfinished() {
    if (!options_.keep_bytes || !(in_row() || piece_is_part_)) return OkStatus();
    StrAppend(&bytes_, piece_);
    piece_ = {};
    if (bytes_.size() <= kMaxRowBytes) return OkStatus();
    return file_.At(row_line_, Error(StrCat("a row has more than ", kMaxRowBytes, " bytes")));
  }

  Status Finish() {
    if (csv_fini(&parser_, OnField, OnRowEnd, this) != 0) {
      return file_.At(quote_line_, Error(StrCat("a quoted field that starts here is never "
                                                "closed: close the quote of ",
                                                ColumnName())));
    }
    COPPICE_RETURN_IF_ERROR(file_.At(row_line_, status_));
    if (!in_header_) return OkStatus();
    return file_.At(1, Error("the file is empty; the first line must name the columns"));
  }

  static void OnField(void* field, size_t bytes, void* reader) {
    static_cast<Reader*>(reader)->TakeField({static_cast<const char*>(field), bytes});
  }
  static void OnRowEnd(int /*terminator*/, void* reader) { static_cast<Reader*>(reader)->EndRow(); }

  void TakeField(std::string_view text) {
    if (!status_.ok()) return;
    ++fields_in_piece_;
    if (in_header_) {
      header_.emplace_back(text);
    } else {
      sink_.OnField(column_, text);
    }
    ++column_;
  }

  void EndRow() {
    // libcsv also reports empty lines, and "\r\n" as two ends of a line.
    if (!status_.ok() || column_ == 0) return;
    const CsvRow row{column_, row_line_, file_.line(), delimiter_, RowBytes()};
    if (options_.keep_bytes && ++ended_in_piece_ > 1) {
      status_ = Error("rows end in CR alone; convert the line ends with tr");
    } else {
      status_ = in_header_ ? sink_.OnHeader(header_, row) : sink_.OnRow(row);
    }
    in_header_ = false;
    column_ = 0;
  }

  std::string_view RowBytes() {
    if (!options_.keep_bytes || bytes_.empty()) return piece_;
    StrAppend(&bytes_, piece_);
    return bytes_;
  }

  // Names the column that is being read, for messages.
  std::string ColumnName() const {
    if (in_header_ || column_ >= header_.size()) return StrCat("field ", column_ + 1);
    return StrCat("column \"", header_[column_], "\"");
  }

  Status SyntaxError() {
    const bool quoted = parser_.quoted != 0;
    if (csv_error(&parser_) != CSV_EPARSE) {
      return file_.At(quoted ? quote_line_ : row_line_,
                      Error(StrCat("a field has more than ", kMaxFieldBytes,
                                   " bytes; is a quote left open? See ", ColumnName())));
    }
    if (quoted && quote_line_ < file_.line()) {
      return file_.At(quote_line_,
                      Error(StrCat("a quoted field that starts here continues to a quote on line ",
                                   file_.line(), " that does not end it: close the quote of ",
                                   ColumnName(), ", or double those that belong to its text")));
    }
    return file_.At(file_.line(), Error("a quote inside a field must be doubled and the whole "
                                        "field quoted"));
  }

  TextFile file_;
  const CsvOptions options_;
  CsvSink& sink_;
  csv_parser parser_;
  bool has_delimiter_ = false;
  char delimiter_ = ',';
  std::vector<std::string> header_;
  bool in_header_ = true;
  size_t column_ = 0;           // fields of the row so far
  uint64_t row_line_ = 1;       // where the row starts
  uint64_t quote_line_ = 1;     // where the quoted field starts
  std::string_view piece_;      // the part of the file that is being parsed
  bool piece_is_part_ = false;  // the line continues after this piece
  std::string bytes_;           // the row's bytes in the pieces before
  size_t ended_in_piece_ = 0;   // rows that ended in this piece
  size_t fields_in_piece_ = 0;
  Status status_;
};

}  // namespace

Status CsvRow::CheckFields(size_t columns) const {
  if (fields == columns) return OkStatus();
  std::string message = StrCat("the row has ", fields, " fields, the header ", columns, " columns");
  if (last_line > line) {
    StrAppend(&message, "; it continues to line ", last_line, ": is a quote left open?");
  } else if (fields > columns) {
    StrAppend(&message, "; a field that holds the delimiter must be quoted");
  }
  return Error(message);
}

Status CheckIsCsv(const std::string& path) {
  if (!IsLibsvm(path)) return OkStatus();
  return Error(StrCat(path, ": this command takes CSV with a header line, not LIBSVM"));
}

char FindDelimiter(std::string_view header) {
  constexpr std::string_view kDelimiters = ",;\t";
  size_t counts[kDelimiters.size()] = {};
  bool quoted = false;
  for (const char c : header) {
    if (!quoted && (c == '\n' || c == '\r')) break;
    if (c == '"') quoted = !quoted;
    const size_t found = kDelimiters.find(c);
    if (!quoted && found != std::string_view::npos) ++counts[found];
  }
  return kDelimiters[static_cast<size_t>(std::max_element(counts, counts + kDelimiters.size()) -
                                         counts)];
}

Status ReadCsvFile(const std::string& path, const CsvOptions& options, CsvSink& sink) {
  COPPICE_ASSIGN_OR_RETURN(TextSource source, OpenTextSource(path));
  return ReadCsv(std::move(source), options, sink);
}

Status ReadCsv(TextSource source, const CsvOptions& options, CsvSink& sink) {
  COPPICE_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(std::move(source), options.max_bytes));
  return Reader(std::move(file), options, sink).Read();
}

}  // namespace coppice
