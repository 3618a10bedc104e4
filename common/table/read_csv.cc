#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/csv_file.h"
#include "common/table/formats.h"
#include "common/table/row_encoder.h"

namespace coppice::data_internal {
namespace {

// Returns the text that follows "is missing from the header".
std::string WhatTheHeaderHas(const std::vector<std::string>& header) {
  if (header.size() > 1) return StrCat("; its columns: ", ListOf(header));
  return StrCat("; its one column: ", header[0],
                " (a comma, semicolon or tab must stand between fields, the schema's "
                "\"delimiter\" if it has one)");
}

// Passes the fields of a CSV file to the encoder.
class EncodingSink : public CsvSink {
 public:
  EncodingSink(RowEncoder encoder, const ReadOptions& options)
      : encoder_(std::move(encoder)),
        has_labels_(!options.ignore_labels),
        total_(options.total),
        id_column_(options.id_column) {}

  Status OnHeader(const std::vector<std::string>& names, const CsvRow& /*row*/) override {
    header_ = names;
    targets_.assign(header_.size(), Target{});
    const Schema& schema = encoder_.schema();
    for (size_t f = 0; f < schema.num_features(); ++f) {
      COPPICE_RETURN_IF_ERROR(MapColumn(schema.features()[f].name, {Target::kFeature, f}));
    }
    if (has_labels_) COPPICE_RETURN_IF_ERROR(MapColumn(schema.label(), {Target::kLabel, 0}));
    return id_column_.empty() ? OkStatus() : MapIdColumn();
  }

  void OnField(size_t column, std::string_view text) override {
    if (column >= targets_.size() || !field_.ok()) return;
    const Target& target = targets_[column];
    if (target.kind == Target::kFeature) field_ = encoder_.SetFeature(target.feature, text);
    if (target.kind == Target::kLabel) field_ = encoder_.SetLabel(text);
    if (target.is_id) field_.Update(encoder_.SetId(text));
  }

  Status OnRow(const CsvRow& row) override {
    // Checked first: an extra delimiter also shifts fields into columns where they do not fit.
    COPPICE_RETURN_IF_ERROR(row.CheckFields(targets_.size()));
    COPPICE_RETURN_IF_ERROR(field_);
    return encoder_.FinishRow();
  }

  StatusOr<TableFile> Finish() && { return std::move(encoder_).Finish(); }

 private:
  // Where a column of the file goes.
  struct Target {
    enum { kIgnored, kFeature, kLabel } kind = kIgnored;
    size_t feature = 0;
    bool is_id = false;  // in addition to its kind
  };

  Status MapIdColumn() {
    const auto found = std::find(header_.begin(), header_.end(), id_column_);
    if (found == header_.end()) {
      return InvalidArgumentError(StrCat("the header has no column \"", id_column_,
                                         "\" for whose row it is; its columns: ", ListOf(header_)));
    }
    targets_[static_cast<size_t>(found - header_.begin())].is_id = true;
    return OkStatus();
  }

  Status MapColumn(const std::string& name, Target target) {
    std::optional<size_t> found;
    for (size_t c = 0; c < header_.size(); ++c) {
      if (header_[c] != name || (found.has_value() && total_)) continue;
      if (found.has_value()) {
        return InvalidArgumentError(StrCat("column \"", name, "\" appears twice"));
      }
      found = c;
    }
    if (!found.has_value() && total_) return OkStatus();
    if (!found.has_value()) {
      return InvalidArgumentError(StrCat("column \"", name,
                                         "\" of the schema is missing from the header",
                                         WhatTheHeaderHas(header_)));
    }
    targets_[*found] = target;
    return OkStatus();
  }

  RowEncoder encoder_;
  const bool has_labels_;
  const bool total_;  // of columns with one name the first counts, and none is required
  const std::string id_column_;
  std::vector<std::string> header_;
  std::vector<Target> targets_;
  Status field_;  // the row's first error in a field
};

}  // namespace

StatusOr<TableFile> ReadCsv(TextSource source, RowEncoder encoder, const ReadOptions& options) {
  const std::string name = source.name;
  EncodingSink sink(std::move(encoder), options);
  const CsvOptions csv{.delimiter = options.format.delimiter, .max_bytes = options.max_bytes};
  COPPICE_RETURN_IF_ERROR(coppice::ReadCsv(std::move(source), csv, sink));
  StatusOr<TableFile> table = std::move(sink).Finish();
  if (table.ok()) return table;
  return Status(table.status().code(), StrCat(name, ": ", table.status().message()));
}

}  // namespace coppice::data_internal
