// Reads a CSV file field by field, without interpreting the fields.

#ifndef COPPICE_COMMON_TABLE_CSV_FILE_H_
#define COPPICE_COMMON_TABLE_CSV_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/table/read_table.h"
#include "common/table/text_file.h"

namespace coppice {

struct CsvRow {
  size_t fields = 0;
  uint64_t line = 0;       // line where the row starts, from 1
  uint64_t last_line = 0;  // differs if a quoted field contains line feeds
  char delimiter = ',';
  std::string_view bytes = {};  // as in the file, with the line end; only with `keep_bytes`

  // InvalidArgument unless the row has as many fields as the header.
  Status CheckFields(size_t columns) const;
};

// Receives the contents of a CSV file. Its first error ends the reading.
class CsvSink {
 public:
  virtual ~CsvSink() = default;

  // Called with the first row, before all others.
  virtual Status OnHeader(const std::vector<std::string>& names, const CsvRow& row) = 0;
  // `column` counts from 0. It is beyond the header's columns if the row has too many fields.
  virtual void OnField(size_t column, std::string_view text) = 0;
  // Called after the fields of the row; reports what is wrong with them.
  virtual Status OnRow(const CsvRow& row) = 0;
};

struct CsvOptions {
  char delimiter = kFindDelimiter;
  uint64_t max_bytes = uint64_t{4} << 30;
  bool keep_bytes = false;
};

// InvalidArgument if the file's name says LIBSVM (ReadTable()).
Status CheckIsCsv(const std::string& path);

// `header`'s most frequent delimiter outside quotes: comma, semicolon or tab; a comma if none.
char FindDelimiter(std::string_view header);

// Passes the whole file to `sink`. Blanks around an unquoted field are not part of it; lines end in
// LF or CRLF; empty lines are skipped.
//
// Errors     as TextFile's and the sink's, with file and line. InvalidArgument for an empty file,
//            and for a misplaced or unclosed quote, with the line where its field starts.
Status ReadCsvFile(const std::string& path, const CsvOptions& options, CsvSink& sink);
Status ReadCsv(TextSource source, const CsvOptions& options, CsvSink& sink);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_CSV_FILE_H_
