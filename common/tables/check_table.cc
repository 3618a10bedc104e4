#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/data/csv_file.h"
#include "common/schema/number.h"
#include "common/tables/tables.h"

namespace coppice {
namespace {

// Checks each field against a schema. The last of its columns is the label's.
class CheckingSink : public CsvSink {
 public:
  CheckingSink(const SchemaFile& file, const CheckOptions& options)
      : file_(file), schema_(*file.schema), options_(options), seen_(schema_.num_features()) {
    for (const Feature& feature : schema_.features()) Add({.name = feature.name});
    Add({.name = schema_.label()});
    classes_seen_.resize(schema_.num_classes());
  }

  absl::Status OnHeader(const std::vector<std::string>& names, const CsvRow& row) override {
    columns_.assign(names.size(), kIgnored);
    for (size_t c = 0; c < check_.columns.size(); ++c) {
      const std::string& name = check_.columns[c].name;
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        Report(name,
               absl::StrCat("is missing from the header, whose columns are: ", ListOf(names)));
        continue;
      }
      columns_[static_cast<size_t>(found - names.begin())] = c;
      if (std::find(found + 1, names.end(), name) == names.end()) continue;
      Report(name, "is in the header twice");
    }
    Flush(row.line);
    return absl::OkStatus();
  }

  void OnField(size_t column, absl::string_view text) override {
    if (column >= columns_.size() || columns_[column] == kIgnored) return;
    const size_t c = columns_[column];
    if (std::find(file_.format.missing.begin(), file_.format.missing.end(), text) !=
        file_.format.missing.end()) {
      text = "";
    }
    if (c < schema_.num_features()) {
      TakeFeature(c, text);
    } else {
      TakeLabel(text);
    }
  }

  absl::Status OnRow(const CsvRow& row) override {
    ++check_.rows;
    const absl::Status fields = row.CheckFields(columns_.size());
    if (!fields.ok()) Report("", std::string(fields.message()));
    Flush(row.line);
    return absl::OkStatus();
  }

  // `end` is the status with which the reading ended.
  TableCheck Finish(const absl::Status& end) && {
    if (!end.ok()) Report("", std::string(end.message()));
    Flush(0);
    if (end.ok() && check_.rows == 0) Report("", "the file has no rows");
    Flush(1);
    WarnOfWideBounds();
    WarnOfUnseenClasses();
    return std::move(check_);
  }

 private:
  static constexpr size_t kIgnored = std::numeric_limits<size_t>::max();

  struct Seen {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
  };

  void Add(ColumnCounts column) { check_.columns.push_back(std::move(column)); }

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

  void ReportOutside(const std::string& column, absl::string_view what, absl::string_view instead) {
    if (options_.lenient) return;
    ++check_.num_outside;
    Report(column, absl::StrCat(what, instead));
  }

  void TakeFeature(size_t f, absl::string_view text) {
    const Feature& feature = schema_.features()[f];
    ColumnCounts& counts = check_.columns[f];
    const absl::StatusOr<EncodedField> field = schema_.Encode(f, text);
    if (!field.ok()) {
      ++counts.unreadable;
      return Report(feature.name,
                    "is no finite decimal number; a text that stands for a missing value is "
                    "listed under \"missing\" in the schema");
    }
    if (feature.type == FeatureType::kNumeric && !text.empty()) {
      const double number = *ParseFinite(text);
      seen_[f] = {std::min(seen_[f].min, number), std::max(seen_[f].max, number)};
    }
    switch (field->note) {
      case FieldNote::kMissing:
        ++counts.missing;
        return;
      case FieldNote::kClamped:
        ++counts.clamped;
        return ReportOutside(feature.name,
                             absl::StrCat("is outside [", ShortestNumber(feature.min), ", ",
                                          ShortestNumber(feature.max), "]"),
                             "; readers clamp it");
      case FieldNote::kRounded:
        ++counts.rounded;
        return ReportOutside(feature.name,
                             "is no whole number, and the schema says \"integer\": true",
                             "; readers round it");
      case FieldNote::kUnknownCategory:
        ++counts.unknown;
        return ReportOutside(feature.name,
                             absl::StrCat("is none of the values: ", ListOf(feature.values)),
                             "; readers take it as \"other\"");
      case FieldNote::kNone:
      case FieldNote::kUnreadable:
        return;
    }
  }

  void TakeLabel(absl::string_view text) {
    ColumnCounts& counts = check_.columns.back();
    if (text.empty()) {
      ++counts.missing;
      if (!options_.unlabelled) Report(counts.name, "is empty, and says what is to be predicted");
      return;
    }
    if (schema_.target()) return TakeTarget(text);
    if (const absl::StatusOr<uint32_t> label = schema_.ClassOf(text); label.ok()) {
      classes_seen_[*label] = true;
      return;
    }
    ++counts.unknown;
    Report(counts.name, absl::StrCat("is none of the classes: ", ListOf(schema_.classes())));
  }

  void TakeTarget(absl::string_view text) {
    ColumnCounts& counts = check_.columns.back();
    const absl::StatusOr<EncodedField> field = schema_.EncodeTarget(text);
    if (!field.ok()) {
      ++counts.unreadable;
      return Report(counts.name, "is no finite decimal number");
    }
    if (field->note != FieldNote::kClamped) return;
    ++counts.clamped;
    const Target& target = *schema_.target();
    ReportOutside(counts.name,
                  absl::StrCat("is outside [", ShortestNumber(target.min), ", ",
                               ShortestNumber(target.max), "]"),
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
      check_.warnings.push_back(absl::StrCat(
          "column \"", schema_.label(), "\": no row has class \"", schema_.classes()[k], "\""));
    }
  }

  const SchemaFile& file_;
  const Schema& schema_;
  const CheckOptions& options_;
  std::vector<size_t> columns_;  // for each column of the file: its index in check_.columns
  std::vector<Seen> seen_;       // per numeric feature
  std::vector<bool> classes_seen_;
  size_t placed_ = 0;  // problems whose line is known
  TableCheck check_;
};

}  // namespace

absl::StatusOr<TableCheck> CheckTable(const std::string& path, const SchemaFile& schema,
                                      const CheckOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckIsCsv(path));
  CheckingSink sink(schema, options);
  const absl::Status end = ReadCsvFile(path, {.delimiter = schema.format.delimiter}, sink);
  if (absl::IsNotFound(end)) return end;
  return std::move(sink).Finish(end);
}

}  // namespace coppice
