#include "common/table/row_encoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/number.h"

namespace coppice {

RowEncoder::RowEncoder(std::shared_ptr<const Schema> schema, const ReadOptions& options,
                       size_t block_rows, Take take)
    : options_(options),
      block_rows_(block_rows),
      take_(std::move(take)),
      table_(std::move(schema)),
      row_(table_.schema().num_features(), kMissingValue),
      target_(kMissingValue) {
  // A label that is not read is not used, but a target must be within its bounds.
  if (const auto& target = table_.schema().target(); target && !options_.total) {
    target_ = target->min;
  }
  if (!options_.format.numbers.empty()) {
    number_formats_ = FormatsByColumn(options_.format.numbers, table_.schema());
  }
}

namespace {

Status WithMissingHint(const Status& status) {
  return Status(status.code(), StrCat(status.message(),
                                      "; declare texts for missing values (\"missing\" "
                                      "in the schema file, or --missing)"));
}

}  // namespace

std::string_view RowEncoder::EmptyIfMissing(std::string_view text) const {
  const std::vector<std::string>& missing = options_.format.missing;
  return std::find(missing.begin(), missing.end(), text) == missing.end() ? text : "";
}

std::string RowEncoder::Plain(size_t column, std::string_view text) const {
  const std::optional<NumberFormat>& format = number_formats_[column];
  if (!format.has_value() || text.empty()) return std::string(text);
  return PlainNumber(text, *format).value_or("not in the declared format");
}

Status RowEncoder::NotANumber(size_t column, const Status& status) const {
  if (number_formats_.empty() || !number_formats_[column].has_value()) {
    return WithMissingHint(status);
  }
  const bool is_label = column == schema().num_features();
  return WithMissingHint(InvalidArgumentError(
      StrCat(is_label ? "target \"" : "feature \"",
             is_label ? schema().label() : schema().features()[column].name,
             "\" must be a number written as ", number_formats_[column]->ToText())));
}

Status RowEncoder::SetFeature(size_t feature, std::string_view text) {
  if (!options_.format.missing.empty()) text = EmptyIfMissing(text);
  std::string plain;
  if (!number_formats_.empty()) text = plain = Plain(feature, text);
  EncodedField field;
  if (options_.total) {
    field = schema().EncodeOrMissing(feature, text);
  } else {
    StatusOr<EncodedField> encoded = schema().Encode(feature, text);
    if (!encoded.ok()) return NotANumber(feature, encoded.status());
    field = *encoded;
  }
  const Feature& f = schema().features()[feature];
  row_[feature] = field.value;
  switch (field.note) {
    case FieldNote::kNone:
      return OkStatus();
    case FieldNote::kMissing:
      ++notes_.missing;
      return OkStatus();
    case FieldNote::kUnreadable:
      ++notes_.unreadable;
      return OkStatus();
    case FieldNote::kClamped:
      ++notes_.clamped;
      if (!options_.strict) return OkStatus();
      return InvalidArgumentError(StrCat("column \"", f.name, "\" must be in [",
                                         ShortestNumber(f.min), ", ", ShortestNumber(f.max),
                                         "]; without strict it would be clamped"));
    case FieldNote::kRounded:
      ++notes_.rounded;
      if (!options_.strict) return OkStatus();
      return InvalidArgumentError(
          StrCat("column \"", f.name,
                 "\" must be a whole number, as the schema says "
                 "(\"integer\": true); without strict it would be rounded"));
    case FieldNote::kUnknownCategory:
      ++notes_.unknown_categories;
      if (!options_.strict) return OkStatus();
      return InvalidArgumentError(StrCat("column \"", f.name, "\" must be one of the schema's ",
                                         f.values.size(), " values (", ListOf(f.values),
                                         "); without strict it would become \"other\""));
  }
  return InternalError("unknown field note");
}

Status RowEncoder::SetTarget(std::string_view text) {
  std::string plain;
  const bool has_format = !number_formats_.empty();
  if (has_format) text = plain = Plain(schema().num_features(), text);
  const StatusOr<EncodedField> encoded = schema().EncodeTarget(text);
  if (!encoded.ok() && !options_.total) {
    return has_format ? NotANumber(schema().num_features(), encoded.status()) : encoded.status();
  }
  const EncodedField field = encoded.value_or(EncodedField());
  target_ = field.value;
  if (field.note == FieldNote::kNone) return OkStatus();
  ++notes_.clamped_targets;
  if (!options_.strict) return OkStatus();
  const Target& target = *schema().target();
  return InvalidArgumentError(StrCat("target \"", schema().label(), "\" must be in [",
                                     ShortestNumber(target.min), ", ", ShortestNumber(target.max),
                                     "]; without strict it would be clamped"));
}

Status RowEncoder::SetLabel(std::string_view text) {
  if (!options_.format.missing.empty()) text = EmptyIfMissing(text);
  if (schema().target()) return SetTarget(text);
  if (text.empty() && options_.allow_unlabelled) {
    label_ = kUnlabelled;
    return OkStatus();
  }
  const StatusOr<uint32_t> found = schema().ClassOf(text);
  if (!found.ok() && !options_.total) return found.status();
  label_ = found.value_or(kUnlabelled);
  return OkStatus();
}

Status RowEncoder::SetId(std::string_view text) {
  if (text.empty()) {
    return InvalidArgumentError(
        StrCat("column \"", options_.id_column, "\" must identify whose row it is"));
  }
  if (!seen_ids_.emplace(text).second) {
    return InvalidArgumentError(
        StrCat("column \"", options_.id_column, "\" names someone who already has a row"));
  }
  ids_.emplace_back(text);
  return OkStatus();
}

Status RowEncoder::FinishRow() {
  if (take_ && table_.num_rows() == block_rows_) {
    COPPICE_RETURN_IF_ERROR(take_(table_));
    rows_taken_ += table_.num_rows();
    table_ = Table(table_.shared_schema());
  }
  if (rows_taken_ + table_.num_rows() >= options_.max_rows) {
    return ResourceExhaustedError(
        StrCat("more than ", options_.max_rows, " rows; split the file or raise the limit"));
  }
  if (schema().target()) {
    table_.AppendTarget(row_, target_);
  } else {
    table_.Append(row_, label_);
  }
  const bool is_known = schema().target() ? !IsMissing(target_) : label_ != kUnlabelled;
  if (options_.total && !is_known) ++notes_.unknown_labels;
  return OkStatus();
}

StatusOr<TableFile> RowEncoder::Finish() && {
  if (rows_taken_ + table_.num_rows() == 0) return InvalidArgumentError("the file has no rows");
  return TableFile{std::move(table_), notes_, std::move(ids_)};
}

}  // namespace coppice
