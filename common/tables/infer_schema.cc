#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/optional.h"
#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/data/csv_file.h"
#include "common/schema/number.h"
#include "common/tables/tables.h"

namespace coppice {
namespace {

using Names = std::vector<std::string>;

// Texts that are missing values in any column, and those that are among numbers.
const Names& UsualMissing() {
  static const Names texts = {"NA",  "N/A", "n/a",  "NaN",  "nan",  "NAN",
                              "nil", "?",   "null", "NULL", "#N/A", "<NA>"};
  return texts;
}
const Names& MissingAmongNumbers() {
  static const Names texts = {"na", "none", "None", "NONE", "-", "--", ".", "missing"};
  return texts;
}

bool Contains(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether a number is whole and in the range in which all whole numbers are doubles.
bool IsWhole(double number) {
  constexpr double kMost = 9007199254740992;  // 2^53
  return number == std::floor(number) && std::abs(number) <= kMost;
}

// What the rows contain in one column.
struct Survey {
  uint64_t empty = 0, numbers = 0, others = 0;
  uint64_t dates = 0, decimal_commas = 0;  // counted among the others
  uint64_t first_other_line = 0;
  Target range;  // range of the numbers
  bool integer = true;
  std::set<std::string> values;                // texts that are not missing, up to a limit
  bool long_texts = false;                     // too long for a category
  std::map<std::string, uint64_t> candidates;  // texts that may stand for a missing value
  absl::flat_hash_set<size_t> hashes;          // hashes of values, as long as all differ
  bool all_differ = true;

  uint64_t present() const { return numbers + others; }
};

class SurveySink : public CsvSink {
 public:
  explicit SurveySink(const InferOptions& options)
      : options_(options), max_values_(std::max(options.max_categories, kMaxClasses)) {}

  absl::Status OnHeader(const Names& names, const CsvRow& row) override {
    header_ = names;
    delimiter_ = row.delimiter;
    surveys_.resize(names.size());
    constexpr size_t kMaxHashes = 10'000'000;  // for all columns together
    max_hashes_ = std::max<size_t>(kMaxHashes / names.size(), 100);
    Names sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
    if (twin != sorted.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the header names column \"", *twin, "\" twice: give each column a name of its own"));
    }
    for (const std::string& name : names) {
      if (ParseFinite(name).has_value()) numbers_.push_back(name);
    }
    if (numbers_.size() == names.size()) {
      return absl::InvalidArgumentError(
          "the first line must name the columns, and it has numbers alone: put a line of names "
          "before it");
    }
    return absl::OkStatus();
  }

  void OnField(size_t column, absl::string_view text) override {
    if (column >= surveys_.size()) return;  // OnRow() reports it
    Survey& survey = surveys_[column];
    if (text.empty()) {
      ++survey.empty;
    } else if (IsCandidate(text)) {
      ++survey.candidates[std::string(text)];
    } else {
      Take(text, survey);
    }
  }

  absl::Status OnRow(const CsvRow& row) override {
    if (rows_++ == 0 && row.fields != surveys_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the row has ", row.fields, " fields, the header ", surveys_.size(),
                       " columns: the first line must name all columns and nothing else"));
    }
    for (Survey* survey : first_others_) survey->first_other_line = row.line;
    first_others_.clear();
    return row.CheckFields(surveys_.size());
  }

  const Names& header() const { return header_; }
  char delimiter() const { return delimiter_; }
  // Column names that are numbers.
  const Names& numbers() const { return numbers_; }
  uint64_t rows() const { return rows_; }
  std::vector<Survey>& surveys() { return surveys_; }

 private:
  bool IsCandidate(absl::string_view text) const {
    if (options_.missing) return Contains(*options_.missing, text);
    constexpr size_t kLongest = 7;
    if (text.size() > kLongest || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) {
      return false;
    }
    return Contains(UsualMissing(), text) || Contains(MissingAmongNumbers(), text);
  }

  void Take(absl::string_view text, Survey& survey) {
    constexpr size_t kLongestCategory = 256;
    if (text.size() > kLongestCategory) {
      survey.long_texts = true;
    } else if (survey.values.size() <= max_values_) {
      survey.values.emplace(text);
    }
    if (survey.all_differ && survey.hashes.size() < max_hashes_) {
      survey.all_differ = survey.hashes.insert(absl::HashOf(text)).second;
      if (!survey.all_differ) survey.hashes = {};
    }
    const absl::optional<double> number = ParseFinite(text);
    if (!number.has_value()) return TakeOther(text, survey);
    if (survey.numbers++ == 0) survey.range = {*number, *number};
    survey.range.min = std::min(survey.range.min, *number);
    survey.range.max = std::max(survey.range.max, *number);
    if (!IsWhole(*number)) survey.integer = false;
  }

  void TakeOther(absl::string_view text, Survey& survey) {
    if (survey.others++ == 0) first_others_.push_back(&survey);
    if (LooksLikeDate(text)) ++survey.dates;
    if (ParseFinite(absl::StrReplaceAll(text, {{",", "."}})).has_value()) ++survey.decimal_commas;
  }

  const InferOptions& options_;
  Names header_, numbers_;
  char delimiter_ = ',';
  std::vector<Survey> surveys_;
  size_t max_hashes_ = 0;
  const size_t max_values_;            // distinct values kept per column, plus one
  std::vector<Survey*> first_others_;  // in the row that is being read
  uint64_t rows_ = 0;
};

// Derives a schema from a survey.
class Inference {
 public:
  Inference(const InferOptions& options, SurveySink& sink)
      : options_(options), header_(sink.header()), surveys_(sink.surveys()) {
    result_.rows = sink.rows();
    if (sink.delimiter() != ',') result_.file.format.delimiter = sink.delimiter();
    if (sink.numbers().empty()) return;
    Warn(absl::StrCat("names of columns are numbers: ", ListOf(sink.numbers()),
                      "; if the first line is a row, put a line of names before it"));
  }

  absl::StatusOr<InferredSchema> Make() && {
    if (result_.rows == 0) return absl::InvalidArgumentError("the file has no rows");
    COPPICE_RETURN_IF_ERROR(CheckNames());
    SettleMissing();
    COPPICE_RETURN_IF_ERROR(CheckDeclaredBounds());
    std::vector<Feature> features;
    for (size_t c = 0; c < header_.size(); ++c) {
      if (IsFeature(header_[c])) AddFeature(c, features);
    }
    if (features.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no column is left to predict from",
          result_.warnings.empty() ? "" : absl::StrCat("; the first: ", result_.warnings[0])));
    }
    COPPICE_ASSIGN_OR_RETURN(Schema schema, WithAnswers(std::move(features)));
    result_.file.schema = std::make_shared<const Schema>(std::move(schema));
    return std::move(result_);
  }

 private:
  const std::string& answer() const {
    return options_.label.empty() ? options_.target : options_.label;
  }
  bool IsFeature(const std::string& name) const {
    return name != answer() && !Contains(options_.leave_out, name);
  }

  std::string Columns() const {
    Names names = header_;
    std::replace(names.begin(), names.end(), std::string(), std::string("(no name)"));
    return ListOf(names);
  }

  absl::Status CheckNames() const {
    if (header_.size() == 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is one column, \"", header_[0],
                       "\": a comma, semicolon or tab must stand between fields"));
    }
    if (answer().empty()) return AskForLabel();
    Names named = options_.leave_out;
    named.insert(named.end(), options_.categorical.begin(), options_.categorical.end());
    for (const auto& [name, bounds] : options_.declared_bounds) named.push_back(name);
    named.push_back(answer());
    for (const std::string& name : named) {
      if (Contains(header_, name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("there is no column \"", name, "\"; the columns: ", Columns()));
    }
    if (!Contains(options_.leave_out, answer())) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", answer(), "\" cannot be predicted and left out"));
  }

  absl::Status AskForLabel() const {
    // The last column, which often is the label, and others with few values.
    Names likely;
    for (size_t c = header_.size(); c-- > 0;) {
      constexpr size_t kFew = 20, kMaxLikely = 3;
      const size_t values = surveys_[c].values.size();
      if (values < 2 || likely.size() == kMaxLikely) continue;
      if (c + 1 < header_.size() && values > kFew) continue;
      likely.push_back(absl::StrCat("\"", header_[c], "\" (",
                                    values > kFew ? "many" : absl::StrCat(values), " values)"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "say what is to be predicted, --label NAME for classes or --target NAME for a number; the "
        "columns: ",
        Columns(), likely.empty() ? "" : "; likely: ", ListOf(likely)));
  }

  bool IsNumeric(size_t column) const {
    return surveys_[column].numbers > 0 && surveys_[column].others == 0 &&
           !Contains(options_.categorical, header_[column]);
  }

  // Decides which texts are missing values, in all columns. The others are ordinary values.
  void SettleMissing() {
    std::map<std::string, uint64_t> found;
    for (size_t c = 0; c < header_.size(); ++c) {
      for (const auto& [text, count] : surveys_[c].candidates) {
        if (!options_.missing && !Contains(UsualMissing(), text) && !IsNumeric(c)) continue;
        found[text] += count;
      }
    }
    for (Survey& survey : surveys_) {
      for (const auto& [text, count] : survey.candidates) {
        if (found.contains(text)) continue;
        survey.others += count;
        survey.values.insert(text);
      }
    }
    Names texts;
    for (const auto& [text, count] : found) {
      result_.file.format.missing.push_back(text);
      texts.push_back(absl::StrCat("\"", text, "\" (", count, " fields)"));
    }
    if (texts.empty() || options_.missing) return;
    Warn(absl::StrCat("taken as missing values: ", ListOf(texts),
                      "; if one of them is a value, say which are missing with --missing"));
  }

  absl::Status CheckDeclaredBounds() const {
    for (size_t c = 0; c < header_.size(); ++c) {
      if (!options_.declared_bounds.contains(header_[c]) || IsNumeric(c)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--bounds ", header_[c], ": the column is not one of numbers alone, and has no bounds"));
    }
    return absl::OkStatus();
  }

  void Warn(std::string warning) { result_.warnings.push_back(std::move(warning)); }

  void LeaveOut(size_t column, absl::string_view why) {
    result_.left_out.push_back(header_[column]);
    Warn(absl::StrCat("column \"", header_[column], "\" is left out: ", why));
  }

  // Says why a column cannot be a feature; empty if it can.
  std::string WhyNot(size_t column) const {
    const Survey& survey = surveys_[column];
    if (header_[column].empty()) return "it has no name; name it in the first line";
    if (survey.present() == 0) return "all its values are missing";
    const bool declared = options_.declared_bounds.contains(header_[column]);
    if (survey.values.size() == 1 && !survey.long_texts && !declared) {
      return "all its values are the same";
    }
    if (IsNumeric(column)) {
      return std::isfinite(survey.range.span()) ? "" : "its numbers are too far apart";
    }
    if (survey.others > 0 && survey.dates == survey.others && survey.numbers == 0) {
      return "it looks like dates, which have no type here; write them as numbers, such as days";
    }
    if (survey.others > 0 && survey.decimal_commas == survey.others) {
      return "its numbers have decimal commas; write decimal points";
    }
    constexpr double kMostly = 0.9;
    if (static_cast<double>(survey.numbers) > kMostly * static_cast<double>(survey.present()) &&
        survey.others > 0) {
      return absl::StrCat(survey.numbers, " of its values are numbers and ", survey.others,
                          " are not, the first on line ", survey.first_other_line,
                          "; correct them, or declare them missing with --missing");
    }
    if (survey.all_differ && survey.present() > options_.max_categories) {
      return "each row has another text, as in an id or a name";
    }
    if (survey.long_texts) return "its texts are too long for categories";
    if (survey.values.size() <= options_.max_categories) return "";
    return absl::StrCat("it has more than ", options_.max_categories,
                        " categories; merge some, or raise --max-categories");
  }

  void AddFeature(size_t column, std::vector<Feature>& features) {
    if (const std::string why = WhyNot(column); !why.empty()) return LeaveOut(column, why);
    const Survey& survey = surveys_[column];
    Feature feature;
    feature.name = header_[column];
    ColumnNotes notes{.from_rows = true};
    if (IsNumeric(column)) {
      const Target bounds = BoundsOf(column, notes);
      feature.min = bounds.min;
      feature.max = bounds.max;
      feature.unit = bounds.unit;
      // Declared bounds with a fraction describe more rows than these.
      feature.integer = survey.integer && IsWhole(bounds.min) && IsWhole(bounds.max);
      if (survey.integer && survey.all_differ && survey.present() == result_.rows &&
          result_.rows > 20) {
        Warn(absl::StrCat("column \"", feature.name,
                          "\" has another whole number in each row: if it is an id, leave it out "
                          "with --leave-out ",
                          feature.name));
      }
    } else {
      feature.type = FeatureType::kCategorical;
      feature.values = CategoriesOf(column);
    }
    features.push_back(std::move(feature));
    result_.file.features.push_back(notes);
  }

  Target BoundsOf(size_t column, ColumnNotes& notes) const {
    const auto declared = options_.declared_bounds.find(header_[column]);
    notes.from_rows = declared == options_.declared_bounds.end();
    const Survey& survey = surveys_[column];
    return notes.from_rows ? RoundOutward(survey.range, survey.integer) : declared->second;
  }

  // Sorted as numbers if all are numbers.
  Names CategoriesOf(size_t column) {
    const Survey& survey = surveys_[column];
    Names values(survey.values.begin(), survey.values.end());
    if (survey.others > 0) {
      WarnOfTwins(header_[column], values);
      return values;
    }
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
      return *ParseFinite(a) < *ParseFinite(b);
    });
    return values;
  }

  // Warns of categories that people would take for the same.
  void WarnOfTwins(const std::string& column, const Names& values) {
    std::map<std::string, std::string> seen;
    for (const std::string& value : values) {
      const std::string plain = absl::AsciiStrToLower(absl::StripAsciiWhitespace(value));
      const auto [twin, is_new] = seen.emplace(plain, value);
      if (is_new) continue;
      return Warn(absl::StrCat("column \"", column, "\" has \"", twin->second, "\" and \"", value,
                               "\", which count as two: write them alike if they are one"));
    }
  }

  absl::StatusOr<Schema> WithAnswers(std::vector<Feature> features) {
    const auto found = std::find(header_.begin(), header_.end(), answer());
    const auto column = static_cast<size_t>(found - header_.begin());
    const Survey& survey = surveys_[column];
    const uint64_t without = result_.rows - survey.present();
    if (without > 0) {
      Warn(absl::StrCat(without, " rows have no \"", answer(),
                        "\": complete them, or take them out, or give --unlabelled where it is "
                        "known"));
    }
    ColumnNotes& notes = result_.file.label;
    notes.from_rows = true;
    if (!options_.target.empty()) {
      if (!IsNumeric(column)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--target ", answer(), ": the column has texts that are no numbers",
            survey.others == 0 ? "" : absl::StrCat(", the first on line ", survey.first_other_line),
            "; for classes give --label"));
      }
      notes.integer = survey.integer;
      return Schema::CreateRegression(std::move(features), answer(), BoundsOf(column, notes));
    }
    const Names classes = CategoriesOf(column);
    if (classes.size() < 2) {
      return absl::InvalidArgumentError(absl::StrCat("--label ", answer(), ": the column has ",
                                                     classes.size(),
                                                     " different values, and two are the fewest"));
    }
    constexpr size_t kManyClasses = 50;
    if (classes.size() > kManyClasses && survey.others == 0) {
      Warn(absl::StrCat("column \"", answer(), "\" has ", classes.size(),
                        " different numbers as classes; to predict the number give --target"));
    }
    return Schema::Create(std::move(features), answer(), classes);
  }

  const InferOptions& options_;
  const Names& header_;
  std::vector<Survey>& surveys_;
  InferredSchema result_;
};

}  // namespace

absl::StatusOr<InferredSchema> InferSchema(const std::string& path, const InferOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckIsCsv(path));
  SurveySink sink(options);
  COPPICE_RETURN_IF_ERROR(ReadCsvFile(path, {.delimiter = options.delimiter}, sink));
  absl::StatusOr<InferredSchema> inferred = Inference(options, sink).Make();
  if (inferred.ok()) return inferred;
  return absl::Status(inferred.status().code(),
                      absl::StrCat(path, ": ", inferred.status().message()));
}

}  // namespace coppice
