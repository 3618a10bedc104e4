// What the rows of a CSV file hold, column by column: what a schema is inferred from.
//
// Threads    plain values.

#ifndef COPPICE_COMMON_TABLE_SURVEY_H_
#define COPPICE_COMMON_TABLE_SURVEY_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/csv_file.h"
#include "common/table/number_format.h"
#include "common/table/spelling.h"
#include "common/table/tables.h"
#include "common/table/written_numbers.h"

namespace coppice {

// What the rows contain in one column.
struct Survey {
  uint64_t empty = 0, numbers = 0, others = 0;
  uint64_t dates = 0;  // counted among the others
  uint64_t first_other_line = 0;
  Target range;  // range of the numbers
  bool integer = true;
  NumberSpelling spelling;
  WrittenNumbers written;
  std::optional<NumberFormat> format;          // declared
  std::set<std::string> values;                // texts that are not missing, up to a limit
  bool long_texts = false;                     // too long for a category
  std::map<std::string, uint64_t> candidates;  // texts that may stand for a missing value
  absl::flat_hash_set<size_t> hashes;          // hashes of values, as long as all differ
  bool all_differ = true;

  // Whether it has whole numbers alone, however large.
  bool all_whole = true;

  uint64_t present() const { return numbers + others; }
};

// Texts that are missing values in any column. Others are so among numbers alone.
const std::vector<std::string>& UsualMissing();

// Whether a number is whole and in the range in which all whole numbers are doubles.
bool IsWhole(double number);

class SurveySink : public CsvSink {
 public:
  explicit SurveySink(const InferOptions& options)
      : options_(options), max_values_(std::max(options.max_categories, kMaxClasses)) {}

  Status OnHeader(const std::vector<std::string>& names, const CsvRow& row) override;
  void OnField(size_t column, std::string_view text) override;
  Status OnRow(const CsvRow& row) override;

  const std::vector<std::string>& header() const { return header_; }
  char delimiter() const { return delimiter_; }
  // Column names that are numbers.
  const std::vector<std::string>& numbers() const { return numbers_; }
  uint64_t rows() const { return rows_; }
  std::vector<Survey>& surveys() { return surveys_; }

 private:
  bool IsCandidate(std::string_view text) const;
  void Take(std::string_view text, Survey& survey);
  void TakeOther(std::string_view text, Survey& survey);

  const InferOptions& options_;
  std::vector<std::string> header_, numbers_;
  char delimiter_ = ',';
  std::vector<Survey> surveys_;
  size_t max_hashes_ = 0;
  const size_t max_values_;            // distinct values kept per column, plus one
  std::vector<Survey*> first_others_;  // in the row that is being read
  uint64_t rows_ = 0;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_SURVEY_H_
