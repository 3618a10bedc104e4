#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/number.h"
#include "common/table/formats.h"
#include "common/table/row_encoder.h"
#include "common/table/text_file.h"

namespace coppice::data_internal {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 24;
constexpr uint64_t kMaxIndex = uint64_t{1} << 32;  // whatever the schema has

Status CheckHolds(const Schema& schema, const ReadOptions& options) {
  if (!options.id_column.empty()) {
    return InvalidArgumentError(
        StrCat("LIBSVM has no column \"", options.id_column, "\"; use CSV"));
  }
  if (options.total) return OkStatus();
  for (const Feature& feature : schema.features()) {
    if (feature.type == FeatureType::kNumeric) continue;
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\" is categorical, which LIBSVM cannot hold; use CSV"));
  }
  return OkStatus();
}

Status SetLabel(std::string_view text, RowEncoder& encoder) {
  const std::vector<std::string>& classes = encoder.schema().classes();
  const std::optional<double> number = ParseFinite(text);
  const bool is_class = std::find(classes.begin(), classes.end(), text) != classes.end();
  for (uint32_t k = 0; k < classes.size() && number.has_value() && !is_class; ++k) {
    if (ParseFinite(classes[k]) != number) continue;
    encoder.SetLabel(k);
    return OkStatus();
  }
  return encoder.SetLabel(text);
}

// Sets the features of `field`, an "index:value", and of the absent indices before it. `next` is
// the first feature without a value so far. A total reader accepts indices beyond the schema.
Status SetFeatures(std::string_view field, bool total, size_t& next, RowEncoder& encoder) {
  const std::pair<std::string_view, std::string_view> parts = StrSplit(field, MaxSplits(':', 1));
  uint64_t index = 0;
  if (!SimpleAtoi(parts.first, &index) || parts.second.empty()) {
    return InvalidArgumentError("after the label every field must be index:value");
  }
  const size_t features = encoder.schema().num_features();
  const uint64_t largest = total ? kMaxIndex : features;
  if (index <= next || index > largest) {
    return InvalidArgumentError(StrCat("indices must increase and be from 1 to ", largest));
  }
  for (; next + 1 < std::min<uint64_t>(index, features + 1); ++next) {
    COPPICE_RETURN_IF_ERROR(encoder.SetFeature(next, "0"));
  }
  next = index;
  return index > features ? OkStatus() : encoder.SetFeature(index - 1, parts.second);
}

Status TakeLine(std::string_view line, const ReadOptions& options, RowEncoder& encoder) {
  line = line.substr(0, line.find('#'));
  bool has_label = false;
  size_t next = 0;
  for (const std::string_view field : StrSplit(line, ByAnyChar(" \t\r\n"), SkipEmpty())) {
    const bool no_label = options.ignore_labels && StrContains(field, ':');
    if (has_label || no_label) {
      COPPICE_RETURN_IF_ERROR(SetFeatures(field, options.total, next, encoder));
      has_label = true;
    } else if (options.ignore_labels) {
      has_label = true;
    } else {
      COPPICE_RETURN_IF_ERROR(SetLabel(field, encoder));
      has_label = true;
    }
  }
  if (!has_label) return OkStatus();
  for (; next < encoder.schema().num_features(); ++next) {
    COPPICE_RETURN_IF_ERROR(encoder.SetFeature(next, "0"));
  }
  return encoder.FinishRow();
}

}  // namespace

StatusOr<TableFile> ReadLibsvm(const std::string& path, RowEncoder encoder,
                               const ReadOptions& options) {
  COPPICE_RETURN_IF_ERROR(CheckHolds(encoder.schema(), options));
  COPPICE_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, options.max_bytes));
  std::string line;
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const std::string_view piece, file.Next());
    StrAppend(&line, piece);
    if (line.size() > kMaxLineBytes) {
      return file.At(file.line(),
                     InvalidArgumentError(StrCat("more than ", kMaxLineBytes, " bytes")));
    }
    if (!piece.empty() && piece.back() != '\n') continue;
    COPPICE_RETURN_IF_ERROR(file.At(file.line(), TakeLine(line, options, encoder)));
    if (piece.empty()) break;
    line.clear();
  }
  StatusOr<TableFile> table = std::move(encoder).Finish();
  COPPICE_RETURN_IF_ERROR(file.At(file.line(), table.status()));
  return table;
}

}  // namespace coppice::data_internal
