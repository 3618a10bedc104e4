// CSV files as their owners have them: what schema suits one, what is wrong with one under a
// schema, and how its rows are shared out among files.
//
// All of it is for whoever may look at the rows: counts and bounds that follow from private rows
// are private. No message quotes a field.

#ifndef COPPICE_COMMON_TABLES_TABLES_H_
#define COPPICE_COMMON_TABLES_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/schema_file.h"

namespace coppice {

// ---- Inference

struct InferOptions {
  std::string label = {};                              // the column of the classes, or
  std::string target = {};                             // of the number that is to be predicted
  std::map<std::string, Target> declared_bounds = {};  // of numeric columns, with their units
  std::vector<std::string> categorical = {};           // columns of codes that look like numbers
  std::vector<std::string> leave_out = {};             // columns
  // Texts that stand for a missing value, instead of those that usually do.
  std::optional<std::vector<std::string>> missing = {};
  char delimiter = kFindDelimiter;
  size_t max_categories = 100;  // a column with more is left out
};

struct InferredSchema {
  SchemaFile file;
  uint64_t rows = 0;
  std::vector<std::string> left_out = {};  // columns
  std::vector<std::string> warnings = {};  // a sentence each
};

// The schema that suits the rows of a CSV file. Bounds enclose the rows' numbers, rounded outward;
// they, the categories and the classes are marked as read off the rows.
//
// Errors     as ReadCsvFile(). InvalidArgument, listing the columns, if neither a label nor a
//            target is named, if they or another option name no column, or if no feature is left.
absl::StatusOr<InferredSchema> InferSchema(const std::string& path, const InferOptions& options);

// The smallest interval around [min, max] whose ends are multiples of 1, 2 or 5 times a power of
// ten that is at most a fifth of its width; of whole numbers if `integer`. As it is if it is a
// point or too wide for that.
Target RoundOutward(Target exact, bool integer);

// "2020-01-31", "31.1.2020", "1/31/20", with a time behind it or not.
bool LooksLikeDate(absl::string_view text);

// ---- Checks

struct CheckOptions {
  bool lenient = false;      // values that readers clamp, round or take as "other" are not wrong
  bool unlabelled = false;   // an empty label is not wrong
  size_t max_problems = 20;  // that are kept; all are counted
};

struct TableProblem {
  uint64_t line = 0;        // 0 if `what` says where
  std::string column = {};  // empty if it is the row's
  std::string what = {};
};

// How many fields of a column do not fit.
struct ColumnCounts {
  std::string name = {};
  uint64_t missing = 0;
  uint64_t clamped = 0;     // numbers outside the bounds
  uint64_t unknown = 0;     // texts outside the vocabulary or the classes
  uint64_t rounded = 0;     // numbers that are not whole, where such are declared
  uint64_t unreadable = 0;  // no numbers
};

struct TableCheck {
  uint64_t rows = 0;
  uint64_t num_problems = 0;
  uint64_t num_outside = 0;                 // of them: what `lenient` does not call wrong
  std::vector<TableProblem> problems = {};  // the first of them
  std::vector<ColumnCounts> columns = {};   // the features in the schema's order, then the label
  std::vector<std::string> warnings = {};
};

// Everything that is wrong with a CSV file under a schema; reading goes on behind each problem
// but one of quotes or encoding.
//
// Errors     NotFound for a missing file; InvalidArgument for LIBSVM.
absl::StatusOr<TableCheck> CheckTable(const std::string& path, const SchemaFile& schema,
                                      const CheckOptions& options);

// ---- Splitting

struct TablePart {
  std::string name = {};
  enum class Kind { kRows, kFraction, kRest } kind = Kind::kRows;
  uint64_t rows = 0;    // for kRows
  double fraction = 0;  // for kFraction, of all rows
};

// "public=200,private=rest,test=0.2". InvalidArgument, saying what is wanted, for anything else and
// for names that are no file names or repeat.
absl::StatusOr<std::vector<TablePart>> ParseParts(absl::string_view text);

// How many of `rows` rows each part has. InvalidArgument if they are too few or too many.
absl::StatusOr<std::vector<uint64_t>> SharesOf(const std::vector<TablePart>& parts, uint64_t rows);

struct WrittenPart {
  std::string file;
  uint64_t rows = 0;
};

// Writes NAME.csv for each part into `folder`, which is made if it is not there: the header, and
// rows as they are in the file and in its order. Which rows follows from `seed`; every choice of as
// many rows is as likely. All files or none are written.
//
// Errors     AlreadyExists if one of the files is there; as ReadCsvFile() and SharesOf().
absl::StatusOr<std::vector<WrittenPart>> SplitTable(const std::string& path,
                                                    const std::vector<TablePart>& parts,
                                                    uint64_t seed, const std::string& folder);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLES_TABLES_H_
