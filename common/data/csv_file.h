// A CSV file field by field: what is between delimiters, whatever it means.

#ifndef COPPICE_COMMON_DATA_CSV_FILE_H_
#define COPPICE_COMMON_DATA_CSV_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/data/read_table.h"

namespace coppice {

struct CsvRow {
  size_t fields = 0;
  uint64_t line = 0;       // where it starts, from 1
  uint64_t last_line = 0;  // a quoted field may hold line feeds
  char delimiter = ',';
  absl::string_view bytes = {};  // as in the file, with the line's end; with `keep_bytes` only

  // InvalidArgument, unless it has as many fields as the header.
  absl::Status CheckFields(size_t columns) const;
};

// Takes what a CSV file holds. Its first error ends the reading.
class CsvSink {
 public:
  virtual ~CsvSink() = default;

  // The first row, before all others.
  virtual absl::Status OnHeader(const std::vector<std::string>& names, const CsvRow& row) = 0;
  // `column` counts from 0, and beyond the header's in a row with too many fields.
  virtual void OnField(size_t column, absl::string_view text) = 0;
  // The row whose fields were given: the time to say what is wrong with them.
  virtual absl::Status OnRow(const CsvRow& row) = 0;
};

struct CsvOptions {
  char delimiter = kFindDelimiter;
  uint64_t max_bytes = uint64_t{4} << 30;
  bool keep_bytes = false;
};

// InvalidArgument for a file that is LIBSVM by its name (ReadTable()).
absl::Status CheckIsCsv(const std::string& path);

// The delimiter that `header` has most of outside quotes: comma, semicolon or tab; a comma if none.
char FindDelimiter(absl::string_view header);

// Gives the whole file to `sink`. Blanks around an unquoted field are not part of it; lines end in
// LF or CRLF; empty lines are skipped.
//
// Errors     as TextFile's and the sink's, with file and line. InvalidArgument for an empty file,
//            and for a quote out of place or left open, at the line where its field starts.
absl::Status ReadCsvFile(const std::string& path, const CsvOptions& options, CsvSink& sink);

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_CSV_FILE_H_
