// Reads table files: CSV with a header line (RFC 4180 quoting, by libcsv) or LIBSVM.
//
// A number is a plain decimal, or is written as the format declares for its column (CSV only).
// A field is a missing value if it is empty or one of the texts that its format declares for this.
// A number outside its public bounds is clamped, one that is not whole in a column of whole numbers
// is rounded, and an unknown category becomes "other"; all are counted. With `strict` each is an
// error instead. A ragged row, a numeric field that is no finite number ("nan", "inf", "1e999",
// "12x"), an unknown class, a missing or repeated column, an empty file or a NUL byte is always
// InvalidArgument, with file, line and column; a missing file is NotFound. Errors never quote a
// value (it may be private). Columns may come in any order; columns that the schema does not name
// are ignored.

#ifndef COPPICE_COMMON_TABLE_READ_TABLE_H_
#define COPPICE_COMMON_TABLE_READ_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/table/number_format.h"
#include "common/table/table.h"
#include "common/table/text_file.h"

namespace coppice {

inline constexpr char kFindDelimiter = '\0';

// How a table's file is written. A schema file may state it next to the schema (schema_file.h); it
// is not part of a study or a dataset.
struct TableFormat {
  char delimiter = kFindDelimiter;        // comma, semicolon, tab, or whichever the header has most
  std::vector<std::string> missing = {};  // texts for a missing value, such as "NA" or "?"
  // By the column's name, where numbers are not written as plain decimals.
  std::map<std::string, NumberFormat> numbers = {};

  friend bool operator==(const TableFormat&, const TableFormat&) = default;
};

struct ReadOptions {
  bool strict = false;
  // For devices' rows, read with somebody else's schema: an unreadable field or an absent column is
  // a missing value; an unknown class is kUnlabelled. The remaining errors (a ragged row, an
  // unclosed quote, an empty file) do not depend on the schema.
  bool total = false;
  bool allow_unlabelled = false;  // an empty class is kUnlabelled; otherwise an error
  bool ignore_labels = false;     // the label's column may be absent and is not read;
                                  // the table's labels are then meaningless
  // CSV only: the column that identifies the row's owner. InvalidArgument if empty or repeated.
  std::string id_column = {};
  TableFormat format = {};
  uint64_t max_rows = uint64_t{1} << 26;   // ResourceExhausted above
  uint64_t max_bytes = uint64_t{4} << 30;  // ResourceExhausted above
};

// How many fields were changed during reading. For the owner of the rows only.
struct ReadNotes {
  uint64_t clamped = 0;
  uint64_t rounded = 0;
  uint64_t unknown_categories = 0;
  uint64_t missing = 0;
  uint64_t clamped_targets = 0;
  uint64_t unreadable = 0;      // with options.total only
  uint64_t unknown_labels = 0;  // with options.total only

  // One line for people, empty if nothing was changed.
  std::string Summary() const;
};

struct TableFile {
  Table table;
  ReadNotes notes;
  std::vector<std::string> ids = {};  // one per row, with options.id_column only
};

// Returns what a total ReadTable() of the same file would refuse, whatever the schema.
Status CheckTableStructure(const std::string& path, const std::string& id_column = "",
                           const TableFormat& format = {});

// True for names that end in ".svm" or ".libsvm"; all others are CSV.
bool IsLibsvm(const std::string& path);

// Reads a file in the format that its name implies (IsLibsvm()).
StatusOr<TableFile> ReadTable(const std::string& path, std::shared_ptr<const Schema> schema,
                              const ReadOptions& options = {});

// Reads the file in blocks of at most `block_rows` rows, of which one at a time is in memory. Calls
// `take` for each block; stops at its first error and returns that unchanged.
StatusOr<ReadNotes> ReadTableInBlocks(const std::string& path, std::shared_ptr<const Schema> schema,
                                      const ReadOptions& options, size_t block_rows,
                                      absl::FunctionRef<Status(const Table&)> take);
// The same for CSV that is no file, such as a query's rows.
StatusOr<ReadNotes> ReadTableInBlocks(TextSource csv, std::shared_ptr<const Schema> schema,
                                      const ReadOptions& options, size_t block_rows,
                                      absl::FunctionRef<Status(const Table&)> take);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_READ_TABLE_H_
