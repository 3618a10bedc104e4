#include "server/central/row_block.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"

namespace coppice::central {
namespace {

void CopyRow(const v1::RowBlock& block, size_t row, Row& out) {
  for (size_t f = 0; f < out.size(); ++f) {
    out[f] = block.columns(static_cast<int>(f)).values(static_cast<int>(row));
  }
}

// One feature has a column, and all have as many values as there are rows.
absl::StatusOr<size_t> CheckShape(const v1::RowBlock& block, const Schema& schema) {
  const bool regression = schema.target().has_value();
  const auto rows = static_cast<size_t>(regression ? block.targets_size() : block.labels_size());
  if (block.columns_size() == 0 && block.labels_size() == 0 && block.targets_size() == 0) return 0;
  if ((regression ? block.labels_size() : block.targets_size()) > 0) {
    return regression ? FieldError("rows.labels", "must be empty: the schema has a target")
                      : FieldError("rows.targets", "must be empty: the schema has classes");
  }
  if (static_cast<size_t>(block.columns_size()) != schema.num_features()) {
    return FieldError("rows.columns", absl::StrCat("must be one a feature (", schema.num_features(),
                                                   "), are ", block.columns_size()));
  }
  for (int f = 0; f < block.columns_size(); ++f) {
    if (static_cast<size_t>(block.columns(f).values_size()) == rows) continue;
    return FieldError(ElementName("rows.columns", f),
                      absl::StrCat("must have one value a row (", rows, "), has ",
                                   block.columns(f).values_size()));
  }
  if (rows > kMaxRowsPerBlock) {
    return FieldError(
        "rows", absl::StrCat("must be at most ", kMaxRowsPerBlock, " in a block, are ", rows));
  }
  return rows;
}

absl::Status CheckLabel(const v1::RowBlock& block, int row, const Schema& schema) {
  if (const auto& target = schema.target()) {
    // Written so that NaN fails too.
    if (block.targets(row) >= target->min && block.targets(row) <= target->max) {
      return absl::OkStatus();
    }
    return FieldError(ElementName("rows.targets", row), "must be within the target's bounds");
  }
  if (block.labels(row) < schema.num_classes() || block.labels(row) == kUnlabelled) {
    return absl::OkStatus();
  }
  return FieldError(ElementName("rows.labels", row),
                    absl::StrCat("must be below ", schema.num_classes(), ", or ", kUnlabelled,
                                 " if the class is not known"));
}

}  // namespace

absl::StatusOr<size_t> CheckRows(const v1::RowBlock& block, const Schema& schema) {
  COPPICE_ASSIGN_OR_RETURN(const size_t rows, CheckShape(block, schema));
  Row row(schema.num_features());
  for (size_t r = 0; r < rows; ++r) {
    CopyRow(block, r, row);
    const absl::Status fits = schema.Validate(row);
    if (!fits.ok()) return InField(absl::StrCat("rows: row ", r, " of the block"), fits);
    COPPICE_RETURN_IF_ERROR(CheckLabel(block, static_cast<int>(r), schema));
  }
  return rows;
}

void AppendRows(const v1::RowBlock& block, Table& table) {
  const bool regression = table.schema().target().has_value();
  const int rows = regression ? block.targets_size() : block.labels_size();
  Row row(table.schema().num_features());
  for (int r = 0; r < rows; ++r) {
    CopyRow(block, static_cast<size_t>(r), row);
    if (regression) {
      table.AppendTarget(row, block.targets(r));
    } else {
      table.Append(row, block.labels(r));
    }
  }
}

}  // namespace coppice::central
