#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/number.h"
#include "common/table/csv_file.h"
#include "common/table/spelling.h"
#include "common/table/survey.h"
#include "common/table/tables.h"
#include "common/table/written_numbers.h"

namespace coppice {
namespace {

using Names = std::vector<std::string>;

// Derives a schema from a survey.
class Inference {
 public:
  Inference(const InferOptions& options, SurveySink& sink)
      : options_(options), header_(sink.header()), surveys_(sink.surveys()) {
    result_.rows = sink.rows();
    if (sink.delimiter() != ',') result_.file.format.delimiter = sink.delimiter();
    if (sink.numbers().empty()) return;
    Warn(StrCat("names of columns are numbers: ", ListOf(sink.numbers()),
                "; if the first line is a row, put a line of names before it"));
  }

  StatusOr<InferredSchema> Make() && {
    if (result_.rows == 0) return InvalidArgumentError("the file has no rows");
    COPPICE_RETURN_IF_ERROR(CheckNames());
    SettleMissing();
    COPPICE_RETURN_IF_ERROR(CheckDeclaredBounds());
    COPPICE_RETURN_IF_ERROR(CheckNumberFormats());
    std::vector<Feature> features;
    for (size_t c = 0; c < header_.size(); ++c) {
      if (IsFeature(header_[c])) AddFeature(c, features);
    }
    if (features.empty()) {
      return InvalidArgumentError(
          StrCat("no column is left to predict from",
                 result_.warnings.empty() ? "" : StrCat("; the first: ", result_.warnings[0])));
    }
    COPPICE_ASSIGN_OR_RETURN(Schema schema, WithAnswers(std::move(features)));
    if (MayLeak(result_.file.label.bounds)) schema = schema.WithAnswersFromPrivateRows();
    result_.file.schema = std::make_shared<const Schema>(std::move(schema));
    return std::move(result_);
  }

 private:
  const std::string& answer() const {
    return options_.label.empty() ? options_.target : options_.label;
  }
  bool IsFeature(const std::string& name) const {
    return name != answer() && !absl::c_linear_search(options_.leave_out, name);
  }

  std::string Columns() const {
    Names names = header_;
    std::replace(names.begin(), names.end(), std::string(), std::string("(no name)"));
    return ListOf(names);
  }

  Status CheckNames() const {
    if (header_.size() == 1) {
      return InvalidArgumentError(
          StrCat("there is one column, \"", header_[0],
                 "\": a comma, semicolon or tab must stand between fields"));
    }
    if (answer().empty()) return AskForLabel();
    Names named = options_.leave_out;
    named.insert(named.end(), options_.categorical.begin(), options_.categorical.end());
    for (const auto& [name, bounds] : options_.declared_bounds) named.push_back(name);
    for (const auto& [name, format] : options_.number_formats) named.push_back(name);
    named.push_back(answer());
    for (const std::string& name : named) {
      if (absl::c_linear_search(header_, name)) continue;
      return InvalidArgumentError(
          StrCat("there is no column \"", name, "\"; the columns: ", Columns()));
    }
    if (!absl::c_linear_search(options_.leave_out, answer())) return OkStatus();
    return InvalidArgumentError(
        StrCat("column \"", answer(), "\" cannot be predicted and left out"));
  }

  Status AskForLabel() const {
    // The last column, which often is the label, and others with few values.
    Names likely;
    for (size_t c = header_.size(); c-- > 0;) {
      constexpr size_t kFew = 20, kMaxLikely = 3;
      const size_t values = surveys_[c].values.size();
      if (values < 2 || likely.size() == kMaxLikely) continue;
      if (c + 1 < header_.size() && values > kFew) continue;
      likely.push_back(
          StrCat("\"", header_[c], "\" (", values > kFew ? "many" : StrCat(values), " values)"));
    }
    return InvalidArgumentError(
        StrCat("say what to predict: --label NAME for classes or --target NAME for a number; the "
               "columns: ",
               Columns(), likely.empty() ? "" : "; likely: ", ListOf(likely)));
  }

  bool IsNumeric(size_t column) const {
    return surveys_[column].numbers > 0 && surveys_[column].others == 0 &&
           !IsDeclaredCategorical(column);
  }

  // Decides which texts are missing values, in all columns. The others are ordinary values.
  void SettleMissing() {
    std::map<std::string, uint64_t> found;
    for (size_t c = 0; c < header_.size(); ++c) {
      for (const auto& [text, count] : surveys_[c].candidates) {
        if (!options_.missing && !absl::c_linear_search(UsualMissing(), text) && !IsNumeric(c))
          continue;
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
      texts.push_back(StrCat("\"", text, "\" (", count, " fields)"));
    }
    if (texts.empty() || options_.missing) return;
    Warn(StrCat("taken as missing values: ", ListOf(texts),
                "; if one of them is a value, say which are missing with --missing"));
  }

  Status CheckDeclaredBounds() const {
    for (size_t c = 0; c < header_.size(); ++c) {
      if (!options_.declared_bounds.contains(header_[c]) || IsNumeric(c)) continue;
      const std::string advice = NumberAdvice(c);
      return InvalidArgumentError(StrCat(
          "--bounds ", header_[c], ": the column is not one of numbers alone, and has no bounds",
          advice.empty() ? "" : ": ", advice));
    }
    return OkStatus();
  }

  Status CheckNumberFormats() const {
    for (size_t c = 0; c < header_.size(); ++c) {
      if (!surveys_[c].format.has_value()) continue;
      const std::string flag =
          StrCat("--number-format ", header_[c], "=", surveys_[c].format->ToText());
      if (IsDeclaredCategorical(c) || header_[c] == options_.label) {
        return InvalidArgumentError(StrCat(
            flag, ": the column is one of --categorical or --label, too, and so not of numbers"));
      }
      if (surveys_[c].others == 0) continue;
      return InvalidArgumentError(StrCat(
          flag, ": ", surveys_[c].others,
          " of the column's values are not written so, the first on line ",
          surveys_[c].first_other_line, "; correct them, or declare them missing with --missing"));
    }
    return OkStatus();
  }

  bool IsDeclaredCategorical(size_t column) const {
    return absl::c_linear_search(options_.categorical, header_[column]);
  }

  // A flag with a value for a column, as a shell reads it.
  static std::string FlagFor(std::string_view flag, const std::string& value) {
    const bool is_plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
      return IsAsciiAlnum(c) || StrContains("_.,%=-", static_cast<char>(c));
    });
    const char* const quote = is_plain ? "" : StrContains(value, '\'') ? "\"" : "'";
    return StrCat(flag, " ", quote, value, quote);
  }
  std::string CategoricalFlag(size_t column) const {
    return FlagFor("--categorical", header_[column]);
  }

  // How to read a column whose numbers are not plain decimals; empty if it is not one.
  std::string NumberAdvice(size_t column) const {
    const WrittenNumbers& written = surveys_[column].written;
    if (!written.HasFormat()) return "";
    const std::vector<NumberFormat> formats = written.Formats();
    if (formats.empty()) {
      return "its numbers have different signs or marks; write them alike, as plain decimals";
    }
    Names flags;
    for (const NumberFormat& format : formats) {
      flags.push_back(FlagFor("--number-format", StrCat(header_[column], "=", format.ToText())));
    }
    if (flags.size() == 1) {
      return StrCat("its numbers are written as ", formats[0].ToText(), ": read them with ",
                    flags[0]);
    }
    return StrCat(
        "a mark in its numbers may stand between thousands or before decimals, and the wrong "
        "reading is "
        "off by a factor of 1000: say which it is with ",
        StrJoin(flags, " or "));
  }

  void Warn(std::string warning) { result_.warnings.push_back(std::move(warning)); }

  void LeaveOut(size_t column, std::string_view why) {
    result_.left_out.push_back(header_[column]);
    Warn(StrCat("column \"", header_[column], "\" is left out: ", why));
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
    // What the user calls categories is not guessed at.
    if (!IsDeclaredCategorical(column)) {
      std::string why = WhyNotCategories(column);
      if (!why.empty()) return why;
    }
    if (survey.long_texts) return "its texts are too long for categories";
    const size_t most = IsDeclaredCategorical(column)
                            ? std::max(options_.max_categories, kMaxClasses)
                            : options_.max_categories;
    if (survey.values.size() <= most) return "";
    return StrCat("it has more than ", most, " categories; merge some, or raise --max-categories");
  }

  // Says what a column of texts seems to be, if not one of categories.
  std::string WhyNotCategories(size_t column) const {
    const Survey& survey = surveys_[column];
    if (survey.dates == survey.others && survey.numbers == 0) {
      return StrCat(
          "it looks like dates, which have no type here; write them as numbers, such as days, or, "
          "if "
          "they are versions or codes, give ",
          CategoricalFlag(column));
    }
    if (const std::string advice = NumberAdvice(column); !advice.empty()) {
      return StrCat(advice, "; if they are codes, give ", CategoricalFlag(column));
    }
    constexpr double kMostly = 0.9;
    if (static_cast<double>(survey.numbers) > kMostly * static_cast<double>(survey.present())) {
      return StrCat(survey.numbers, " of its values are numbers and ", survey.others,
                    " are not, the first on line ", survey.first_other_line,
                    "; correct them, declare them missing with --missing, or, if all are codes, "
                    "give ",
                    CategoricalFlag(column));
    }
    if (survey.all_differ && survey.present() > options_.max_categories) {
      return "every row has a different text, as in an id or a name";
    }
    return "";
  }

  void AddFeature(size_t column, std::vector<Feature>& features) {
    if (const std::string why = WhyNot(column); !why.empty()) return LeaveOut(column, why);
    const Survey& survey = surveys_[column];
    Feature feature;
    feature.name = header_[column];
    ColumnNotes notes{.bounds = options_.rows};
    if (IsNumeric(column)) {
      const Target bounds = BoundsOf(column, notes);
      feature.min = bounds.min;
      feature.max = bounds.max;
      feature.unit = bounds.unit;
      // Declared bounds with a fraction describe more rows than these.
      feature.integer = survey.integer && IsWhole(bounds.min) && IsWhole(bounds.max);
      WarnOfCodes(column);
    } else {
      feature.type = FeatureType::kCategorical;
      feature.values = CategoriesOf(column);
    }
    feature.from_private_rows = MayLeak(notes.bounds);
    features.push_back(std::move(feature));
    result_.file.features.push_back(notes);
  }

  // Warns of numbers that are more than numbers: ids, and codes that lose their spelling.
  void WarnOfCodes(size_t column) {
    const Survey& survey = surveys_[column];
    const std::string name = StrCat("column \"", header_[column], "\"");
    if (survey.all_whole && survey.all_differ && survey.present() == result_.rows &&
        result_.rows > 20) {
      Warn(StrCat(name,
                  " has a different whole number in every row: if it is an id, leave it out with ",
                  FlagFor("--leave-out", header_[column])));
    }
    for (std::string& warning :
         survey.spelling.Warnings(name, StrCat("give ", CategoricalFlag(column), ", or ",
                                               FlagFor("--leave-out", header_[column])))) {
      Warn(std::move(warning));
    }
  }

  // Also notes where the bounds come from and how their numbers are written.
  Target BoundsOf(size_t column, ColumnNotes& notes) {
    const Survey& survey = surveys_[column];
    if (survey.format.has_value()) {
      result_.file.format.numbers[header_[column]] = *survey.format;
    }
    const auto declared = options_.declared_bounds.find(header_[column]);
    if (declared == options_.declared_bounds.end()) {
      return RoundOutward(survey.range, survey.integer);
    }
    notes.bounds = BoundsOrigin::kDeclared;
    return declared->second;
  }

  // Sorted as numbers if all are numbers.
  Names CategoriesOf(size_t column) {
    const Survey& survey = surveys_[column];
    Names values(survey.values.begin(), survey.values.end());
    WarnOfTwins(header_[column], values);
    if (survey.others > 0) return values;
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
      return *ParseFinite(a) < *ParseFinite(b);
    });
    return values;
  }

  // Warns of categories that people would take for the same.
  void WarnOfTwins(const std::string& column, const Names& values) {
    std::map<std::string, std::string> seen;
    for (const std::string& value : values) {
      const auto [twin, is_new] = seen.emplace(PlainSpelling(value), value);
      if (is_new) continue;
      return Warn(StrCat("column \"", column, "\" has \"", twin->second, "\" and \"", value,
                         "\", which count as two: write them alike if they are one"));
    }
  }

  StatusOr<Schema> WithAnswers(std::vector<Feature> features) {
    const auto found = std::find(header_.begin(), header_.end(), answer());
    const auto column = static_cast<size_t>(found - header_.begin());
    const Survey& survey = surveys_[column];
    const uint64_t without = result_.rows - survey.present();
    if (without > 0) {
      Warn(StrCat(without, " rows have no \"", answer(),
                  "\": complete them, or take them out, or give --unlabelled where it is "
                  "known"));
    }
    ColumnNotes& notes = result_.file.label;
    notes.bounds = options_.rows;
    if (!options_.target.empty()) {
      if (!IsNumeric(column)) {
        const std::string advice = NumberAdvice(column);
        return InvalidArgumentError(StrCat(
            "--target ", answer(), ": the column has texts that are not numbers",
            survey.others == 0 ? "" : StrCat(", the first on line ", survey.first_other_line),
            "; for classes give --label", advice.empty() ? "" : "; ", advice));
      }
      notes.integer = survey.integer;
      return Schema::CreateRegression(std::move(features), answer(), BoundsOf(column, notes));
    }
    const Names classes = CategoriesOf(column);
    if (classes.size() < 2) {
      return InvalidArgumentError(StrCat("--label ", answer(), ": the column has ", classes.size(),
                                         " different values, but needs at least two"));
    }
    constexpr size_t kManyClasses = 50;
    if (classes.size() > kManyClasses && survey.others == 0) {
      Warn(StrCat("column \"", answer(), "\" has ", classes.size(),
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

StatusOr<InferredSchema> InferSchema(const std::string& path, const InferOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckIsCsv(path));
  SurveySink sink(options);
  COPPICE_RETURN_IF_ERROR(ReadCsvFile(path, {.delimiter = options.delimiter}, sink));
  StatusOr<InferredSchema> inferred = Inference(options, sink).Make();
  if (inferred.ok()) return inferred;
  return Status(inferred.status().code(), StrCat(path, ": ", inferred.status().message()));
}

}  // namespace coppice
