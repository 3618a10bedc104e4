// Table files: CSV with a header line (RFC 4180 quoting, by libcsv) or LIBSVM.
//
// An empty field is a missing value, and so is one of the texts that its format declares for it. A
// number outside its public bounds is clamped, one that is not whole in a column of whole numbers
// is rounded, and an unknown category becomes "other"; all are counted. With `strict` each is an
// error instead. A ragged row, a numeric field that is no finite number ("nan", "inf", "1e999",
// "12x"), an unknown class, a missing or repeated column, an empty file or a NUL byte is always
// InvalidArgument, with file, line and column; a missing file is NotFound. Errors never quote a
// value (it may be private). Columns may come in any order; columns that the schema does not name
// are ignored.

#ifndef COPPICE_COMMON_DATA_READ_TABLE_H_
#define COPPICE_COMMON_DATA_READ_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/table.h"

namespace coppice {

inline constexpr char kFindDelimiter = '\0';

// How a table's file is written. A schema file may say it beside the schema (schema_file.h); it is
// no part of what a study or a dataset is.
struct TableFormat {
  char delimiter = kFindDelimiter;        // comma, semicolon, tab, or whichever the header has most
  std::vector<std::string> missing = {};  // texts that stand for a missing value, as "NA" or "?"

  friend bool operator==(const TableFormat&, const TableFormat&) = default;
};

struct ReadOptions {
  bool strict = false;
  // For rows of devices, by a schema of others: a field that cannot be read, or a column that is
  // not there, is missing; an unknown class is kUnlabelled. What is left to refuse (a ragged row, a
  // quote left open, an empty file) does not depend on the schema.
  bool total = false;
  bool allow_unlabelled = false;  // an empty class is kUnlabelled; otherwise an error
  bool ignore_labels = false;     // the label's column need not be there, nor is it looked
                                  // at; what the table has for labels means nothing
  // CSV only: the column that says whose row it is. InvalidArgument where it is empty or repeats.
  std::string id_column = {};
  TableFormat format = {};
  uint64_t max_rows = uint64_t{1} << 26;   // ResourceExhausted above
  uint64_t max_bytes = uint64_t{4} << 30;  // ResourceExhausted above
};

// How many fields were changed on the way in. For the owner of the rows only.
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

// What a total ReadTable() of the same file refuses, whatever the schema is.
absl::Status CheckTableStructure(const std::string& path, const std::string& id_column = "",
                                 const TableFormat& format = {});

// ".svm" and ".libsvm" are LIBSVM, anything else CSV.
bool IsLibsvm(const std::string& path);

// By the name of the file (IsLibsvm()).
absl::StatusOr<TableFile> ReadTable(const std::string& path, std::shared_ptr<const Schema> schema,
                                    const ReadOptions& options = {});

// The same file in blocks of at most `block_rows` rows, one after another in memory: calls `take`
// for each, and stops at its first error, which is then returned as it is.
absl::StatusOr<ReadNotes> ReadTableInBlocks(const std::string& path,
                                            std::shared_ptr<const Schema> schema,
                                            const ReadOptions& options, size_t block_rows,
                                            absl::FunctionRef<absl::Status(const Table&)> take);

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_READ_TABLE_H_
