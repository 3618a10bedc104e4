#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/number.h"
#include "common/table/csv_file.h"
#include "common/table/spelling.h"
#include "common/table/tables.h"

namespace coppice {
namespace {

// Checks each field against a schema. The last of its columns is the label's.
class CheckingSink : public CsvSink {
 public:
  CheckingSink(const SchemaFile& file, const CheckOptions& options)
      : file_(file),
        schema_(*file.schema),
        options_(options),
        formats_(FormatsByColumn(file.format.numbers, schema_)),
        seen_(schema_.num_features() + 1) {
    for (const Feature& feature : schema_.features()) {
      AddSpellings(feature.values);
      Add({.name = feature.name});
    }
    AddSpellings(schema_.classes());
    Add({.name = schema_.label()});
    classes_seen_.resize(schema_.num_classes());
  }

  Status OnHeader(const std::vector<std::string>& names, const CsvRow& row) override {
    columns_.assign(names.size(), kIgnored);
    for (size_t c = 0; c < check_.columns.size(); ++c) {
      const std::string& name = check_.columns[c].name;
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        Report(name, StrCat("is missing from the header, whose columns are: ", ListOf(names)));
        continue;
      }
      columns_[static_cast<size_t>(found - names.begin())] = c;
      if (std::find(found + 1, names.end(), name) == names.end()) continue;
      Report(name, "is in the header twice");
    }
    Flush(row.line);
    return OkStatus();
  }

  void OnField(size_t column, std::string_view text) override {
    if (column >= columns_.size() || columns_[column] == kIgnored) return;
    const size_t c = columns_[column];
    if (std::find(file_.format.missing.begin(), file_.format.missing.end(), text) !=
        file_.format.missing.end()) {
      text = "";
    }
    std::string plain;
    if (formats_[c].has_value() && !text.empty()) {
      text = plain = PlainNumber(text, *formats_[c]).value_or("not in the declared format");
    }
    if (c < schema_.num_features()) {
      TakeFeature(c, text);
    } else {
      TakeLabel(text);
    }
  }

  Status OnRow(const CsvRow& row) override {
    ++check_.rows;
    const Status fields = row.CheckFields(columns_.size());
    if (!fields.ok()) Report("", std::string(fields.message()));
    Flush(row.line);
    return OkStatus();
  }

  // `end` is the status with which the reading ended.
  TableCheck Finish(const Status& end) && {
    if (!end.ok()) Report("", std::string(end.message()));
    Flush(0);
    if (end.ok() && check_.rows == 0) Report("", "the file has no rows");
    Flush(1);
    WarnOfWideBounds();
    WarnOfUnseenClasses();
    WarnOfSpellings();
    return std::move(check_);
  }

 private:
  static constexpr size_t kIgnored = std::numeric_limits<size_t>::max();

  struct Seen {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    NumberSpelling spelling{};
    uint64_t twins = 0;  // texts outside the vocabulary that people would take for one inside
  };

  void Add(ColumnCounts column) { check_.columns.push_back(std::move(column)); }

  void AddSpellings(const std::vector<std::string>& values) {
    StringSet& known = spellings_.emplace_back();
    for (const std::string& value : values) known.insert(PlainSpelling(value));
  }

  void NoteUnknown(size_t column, std::string_view text) {
    if (spellings_[column].contains(PlainSpelling(text))) ++seen_[column].twins;
  }

  // Says what is wrong with a text that is no number.
  std::string NotANumber(size_t column) const {
    return formats_[column].has_value()
               ? StrCat("is not a number written as ", formats_[column]->ToText())
               : std::string("is not a finite decimal number");
  }

  // The line number is added when the row ends.
  void Report(const std::string& column, std::string what) {
    ++check_.num_problems;
    if (check_.problems.size() < options_.max_problems) {
      check_.problems.push_back({.column = column, .what = std::move(what)});
    }
  }

  void Flush(uint64_t line) {
    for (; placed_ < check_.problems.size(); ++placed_) check_.problems[placed_].line = line;
  }

  void ReportOutside(const std::string& column, std::string_view what, std::string_view instead) {
    if (options_.lenient) return;
    ++check_.num_outside;
    Report(column, StrCat(what, instead));
  }

  void TakeFeature(size_t f, std::string_view text) {
    const Feature& feature = schema_.features()[f];
    ColumnCounts& counts = check_.columns[f];
    const StatusOr<EncodedField> field = schema_.Encode(f, text);
    if (!field.ok()) {
      ++counts.unreadable;
      return Report(feature.name, StrCat(NotANumber(f),
                                         "; a text that stands for a missing value is listed under "
                                         "\"missing\" in the schema"));
    }
    if (feature.type == FeatureType::kNumeric && !text.empty()) {
      const double number = *ParseFinite(text);
      seen_[f].min = std::min(seen_[f].min, number);
      seen_[f].max = std::max(seen_[f].max, number);
      if (!formats_[f].has_value()) seen_[f].spelling.Take(text, number);
    }
    switch (field->note) {
      case FieldNote::kMissing:
        ++counts.missing;
        return;
      case FieldNote::kClamped:
        ++counts.clamped;
        return ReportOutside(feature.name,
                             StrCat("is outside [", ShortestNumber(feature.min), ", ",
                                    ShortestNumber(feature.max), "]"),
                             "; readers clamp it");
      case FieldNote::kRounded:
        ++counts.rounded;
        return ReportOutside(feature.name,
                             "is not a whole number, but the schema says \"integer\": true",
                             "; readers round it");
      case FieldNote::kUnknownCategory:
        ++counts.unknown;
        NoteUnknown(f, text);
        return ReportOutside(feature.name,
                             StrCat("is not one of the values: ", ListOf(feature.values)),
                             "; readers take it as \"other\"");
      case FieldNote::kNone:
      case FieldNote::kUnreadable:
        return;
    }
  }

  void TakeLabel(std::string_view text) {
    ColumnCounts& counts = check_.columns.back();
    if (text.empty()) {
      ++counts.missing;
      if (!options_.unlabelled) Report(counts.name, "is empty, but is what is to be predicted");
      return;
    }
    if (schema_.target()) return TakeTarget(text);
    if (const StatusOr<uint32_t> label = schema_.ClassOf(text); label.ok()) {
      classes_seen_[*label] = true;
      return;
    }
    ++counts.unknown;
    NoteUnknown(schema_.num_features(), text);
    Report(counts.name, StrCat("is not one of the classes: ", ListOf(schema_.classes())));
  }

  void TakeTarget(std::string_view text) {
    ColumnCounts& counts = check_.columns.back();
    const StatusOr<EncodedField> field = schema_.EncodeTarget(text);
    if (!field.ok()) {
      ++counts.unreadable;
      return Report(counts.name, NotANumber(schema_.num_features()));
    }
    if (field->note != FieldNote::kClamped) return;
    ++counts.clamped;
    const Target& target = *schema_.target();
    ReportOutside(
        counts.name,
        StrCat("is outside [", ShortestNumber(target.min), ", ", ShortestNumber(target.max), "]"),
        "; readers clamp it");
  }

  void WarnOfWideBounds() {
    constexpr double kMuchWider = 5;
    for (size_t f = 0; f < schema_.num_features(); ++f) {
      const Feature& feature = schema_.features()[f];
      const double seen = seen_[f].max - seen_[f].min;
      const double declared = feature.max - feature.min;
      if (feature.type != FeatureType::kNumeric || !(seen > 0) || declared <= kMuchWider * seen) {
        continue;
      }
      check_.warnings.push_back(absl::StrFormat(
          "column \"%s\": the bounds [%s, %s] are %.3g times as wide as the rows' values; splits "
          "and noise are wasted on what no row has: narrow them to what is known without looking "
          "at private rows",
          feature.name, ShortestNumber(feature.min), ShortestNumber(feature.max), declared / seen));
    }
  }

  void WarnOfUnseenClasses() {
    for (size_t k = 0; k < classes_seen_.size() && check_.rows > 0; ++k) {
      if (classes_seen_[k]) continue;
      check_.warnings.push_back(StrCat("column \"", schema_.label(), "\": no row has class \"",
                                       schema_.classes()[k], "\""));
    }
  }

  void WarnOfSpellings() {
    for (size_t c = 0; c < seen_.size(); ++c) {
      const std::string column = StrCat("column \"", check_.columns[c].name, "\"");
      for (std::string& warning : seen_[c].spelling.Warnings(
               column,
               "make the column categorical in the schema, with their texts as its values")) {
        check_.warnings.push_back(std::move(warning));
      }
      if (seen_[c].twins == 0) continue;
      check_.warnings.push_back(StrCat(
          column, ": ", seen_[c].twins,
          " of its texts are values of the schema in another spelling, such as 1.0 or 01 for 1, or "
          "other capitals or blanks, and do not count as them: write them as the schema does"));
    }
  }

  const SchemaFile& file_;
  const Schema& schema_;
  const CheckOptions& options_;
  std::vector<size_t> columns_;  // for each column of the file: its index in check_.columns
  // Per column of check_: declared formats, what was seen, and the plain spellings of its values.
  const std::vector<std::optional<NumberFormat>> formats_;
  std::vector<Seen> seen_;
  std::vector<StringSet> spellings_;
  std::vector<bool> classes_seen_;
  size_t placed_ = 0;  // problems whose line is known
  TableCheck check_;
};

}  // namespace

StatusOr<TableCheck> CheckTable(const std::string& path, const SchemaFile& schema,
                                const CheckOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckIsCsv(path));
  CheckingSink sink(schema, options);
  const Status end = ReadCsvFile(path, {.delimiter = schema.format.delimiter}, sink);
  if (IsNotFound(end)) return end;
  return std::move(sink).Finish(end);
}

}  // namespace coppice
