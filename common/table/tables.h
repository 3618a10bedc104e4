// Works on CSV files as their owners have them: infers a schema, checks rows against a schema, and
// splits rows among files.
//
// All of it is for people who may see the rows: counts and bounds that follow from private rows are
// private. No message quotes a field.

#ifndef COPPICE_COMMON_TABLE_TABLES_H_
#define COPPICE_COMMON_TABLE_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/table/number_format.h"
#include "common/table/schema_file.h"

namespace coppice {

// ---- Inference

struct InferOptions {
  std::string label = {};                              // the column of the classes, or
  std::string target = {};                             // of the number to predict
  std::map<std::string, Target> declared_bounds = {};  // numeric columns' bounds and units
  // Columns of categories, whatever their texts look like.
  std::vector<std::string> categorical = {};
  // How numbers are written, by column, where not as plain decimals.
  std::map<std::string, NumberFormat> number_formats = {};
  std::vector<std::string> leave_out = {};  // columns to leave out
  // Texts for a missing value, instead of the usual ones.
  std::optional<std::vector<std::string>> missing = {};
  char delimiter = kFindDelimiter;
  size_t max_categories = 100;  // a column with more is left out, unless `categorical` names it
  // What is said of bounds, categories and classes that are read from the rows.
  BoundsOrigin rows = BoundsOrigin::kUnsaidRows;
};

struct InferredSchema {
  SchemaFile file;
  uint64_t rows = 0;
  std::vector<std::string> left_out = {};  // columns
  std::vector<std::string> warnings = {};  // one sentence each
};

// Infers a schema from the rows of a CSV file. Bounds enclose the rows' numbers, rounded outward;
// they, the categories and the classes are marked by where the rows come from.
//
// What a column loses as numbers (leading zeros, digits beyond 2^53, spellings) is a warning; dates
// and numbers that are not plain decimals are left out with the options that would read them. An
// option that names a column always decides how the column is read.
//
// Errors     as ReadCsvFile(). InvalidArgument, listing the columns, if neither a label nor a
//            target is named, if they or another option name no column, if two options disagree
//            about one, or if no feature is left.
StatusOr<InferredSchema> InferSchema(const std::string& path, const InferOptions& options);

// The smallest interval around [min, max] whose ends are multiples of 1, 2 or 5 times a power of
// ten that is at most a fifth of its width; whole numbers if `integer`. Unchanged if it is a point
// or too wide for this.
Target RoundOutward(Target exact, bool integer);

// Whether the text is like "2020-01-31", "31.1.2020", "1/31/20", with or without a time after it: a
// day and a month that exist, in some order. Versions such as "10.4.1" can look like it, too.
bool LooksLikeDate(std::string_view text);

// ---- Checks

struct CheckOptions {
  bool lenient = false;      // accept values that readers clamp, round or take as "other"
  bool unlabelled = false;   // accept an empty label
  size_t max_problems = 20;  // how many are kept; all are counted
};

struct TableProblem {
  uint64_t line = 0;        // 0 if `what` says where
  std::string column = {};  // empty if it concerns the whole row
  std::string what = {};
};

// How many fields of a column do not fit, by kind.
struct ColumnCounts {
  std::string name = {};
  uint64_t missing = 0;
  uint64_t clamped = 0;     // numbers outside the bounds
  uint64_t unknown = 0;     // texts outside the vocabulary or the classes
  uint64_t rounded = 0;     // numbers that are not whole, in a column declared whole
  uint64_t unreadable = 0;  // not a number
};

struct TableCheck {
  uint64_t rows = 0;
  uint64_t num_problems = 0;
  uint64_t num_outside = 0;                 // problems among them that `lenient` accepts
  std::vector<TableProblem> problems = {};  // the first ones
  std::vector<ColumnCounts> columns = {};   // the features in the schema's order, then the label
  std::vector<std::string> warnings = {};
};

// Finds everything in a CSV file that does not fit a schema; reading continues after every problem
// except errors of quotes or encoding.
//
// Errors     NotFound for a missing file; InvalidArgument for LIBSVM.
StatusOr<TableCheck> CheckTable(const std::string& path, const SchemaFile& schema,
                                const CheckOptions& options);

// ---- Splitting

struct TablePart {
  std::string name = {};
  enum class Kind { kRows, kFraction, kRest } kind = Kind::kRows;
  uint64_t rows = 0;    // for kRows
  double fraction = 0;  // for kFraction, of all rows
};

// Parses "public=200,private=rest,test=0.2". InvalidArgument, saying what is wanted, for anything
// else and for names that are not file names or repeat.
StatusOr<std::vector<TablePart>> ParseParts(std::string_view text);

// Each part's share of `rows` rows. InvalidArgument if they are too few or too many.
StatusOr<std::vector<uint64_t>> SharesOf(const std::vector<TablePart>& parts, uint64_t rows);

struct WrittenPart {
  std::string file;
  uint64_t rows = 0;
};

// Writes NAME.csv for each part into `folder`, which is created if it is missing: the header, and
// rows unchanged and in the file's order. `seed` determines which rows; every choice of this many
// rows is equally likely. All files or none are written.
//
// Errors     AlreadyExists if one of the files exists; as ReadCsvFile() and SharesOf().
StatusOr<std::vector<WrittenPart>> SplitTable(const std::string& path,
                                              const std::vector<TablePart>& parts, uint64_t seed,
                                              const std::string& folder);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_TABLES_H_
