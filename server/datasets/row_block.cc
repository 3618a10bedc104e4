#include "server/datasets/row_block.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"

namespace coppice::central {
namespace {

// Checks that each feature has a column with one value per row, and returns the number of rows.
StatusOr<size_t> CheckShape(const v1::RowBlock& block, const Schema& schema) {
  const bool regression = schema.target().has_value();
  const auto rows = static_cast<size_t>(regression ? block.targets_size() : block.labels_size());
  if (block.columns_size() == 0 && block.labels_size() == 0 && block.targets_size() == 0) return 0;
  if ((regression ? block.labels_size() : block.targets_size()) > 0) {
    return regression ? FieldError("rows.labels", "must be empty: the schema has a target")
                      : FieldError("rows.targets", "must be empty: the schema has classes");
  }
  if (static_cast<size_t>(block.columns_size()) != schema.num_features()) {
    return FieldError("rows.columns", StrCat("must be one a feature (", schema.num_features(),
                                             "), are ", block.columns_size()));
  }
  for (int f = 0; f < block.columns_size(); ++f) {
    if (static_cast<size_t>(block.columns(f).values_size()) == rows) continue;
    return FieldError(
        ElementName("rows.columns", f),
        StrCat("must have one value a row (", rows, "), has ", block.columns(f).values_size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckBlockRows(rows));
  return rows;
}

Status CheckLabel(const v1::RowBlock& block, int row, const Schema& schema) {
  if (const auto& target = schema.target()) {
    // This form also rejects NaN.
    if (block.targets(row) >= target->min && block.targets(row) <= target->max) {
      return OkStatus();
    }
    return FieldError(ElementName("rows.targets", row), "must be within the target's bounds");
  }
  if (block.labels(row) < schema.num_classes() || block.labels(row) == kUnlabelled) {
    return OkStatus();
  }
  return FieldError(ElementName("rows.labels", row),
                    StrCat("must be below ", schema.num_classes(), ", or ", kUnlabelled,
                           " if the class is not known"));
}

}  // namespace

Status CheckBlockRows(size_t rows) {
  if (rows <= kMaxRowsPerBlock) return OkStatus();
  return FieldError("rows",
                    StrCat("must be at most ", kMaxRowsPerBlock, " in a block, are ", rows));
}

StatusOr<Table> ParseRows(const v1::RowBlock& block, std::shared_ptr<const Schema> schema) {
  Table rows(std::move(schema));
  COPPICE_RETURN_IF_ERROR(AppendRows(block, rows));
  return rows;
}

Status AppendRows(const v1::RowBlock& block, Table& rows) {
  const Schema& schema = rows.schema();
  COPPICE_ASSIGN_OR_RETURN(const size_t added, CheckShape(block, schema));
  if (rows.num_rows() == 0) rows.Reserve(added);
  std::vector<const double*> columns;
  for (const v1::ColumnValues& column : block.columns()) columns.push_back(column.values().data());
  Row row(schema.num_features());
  for (size_t r = 0; r < added; ++r) {
    for (size_t f = 0; f < row.size(); ++f) row[f] = columns[f][r];
    const Status fits = schema.Validate(row);
    if (!fits.ok()) return InField(StrCat("rows: row ", r, " of the block"), fits);
    const int at = static_cast<int>(r);
    COPPICE_RETURN_IF_ERROR(CheckLabel(block, at, schema));
    if (schema.target().has_value()) {
      rows.AppendTarget(row, block.targets(at));
    } else {
      rows.Append(row, block.labels(at));
    }
  }
  return OkStatus();
}

}  // namespace coppice::central
