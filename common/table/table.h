// Rows in memory, one array per feature, with their labels: classes, or numbers for regression.
//
// Devices do not use it: a device has one Row. A Table may hold private rows (in the lab and at the
// data owner), so nothing here prints a value.

#ifndef COPPICE_COMMON_TABLE_TABLE_H_
#define COPPICE_COMMON_TABLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/schema/schema.h"

namespace coppice {

class Table {
 public:
  explicit Table(std::shared_ptr<const Schema> schema);
  // Takes whole columns, one per feature, all as long as the labels or targets. The values must be
  // such as Append() and AppendTarget() take.
  static Table OfClasses(std::shared_ptr<const Schema> schema,
                         std::vector<std::vector<double>> columns, std::vector<uint32_t> labels);
  static Table OfNumbers(std::shared_ptr<const Schema> schema,
                         std::vector<std::vector<double>> columns, std::vector<double> targets);

  const Schema& schema() const { return *schema_; }
  const std::shared_ptr<const Schema>& shared_schema() const { return schema_; }
  size_t num_rows() const { return num_rows_; }

  // `row` must fit the schema and `label` must be one of its classes, or kUnlabelled, which only
  // readers produce that were asked to allow it.
  void Append(RowView row, uint32_t label);
  // For regression: `target` must be within its bounds.
  void AppendTarget(RowView row, double target);
  // `more` must be of the same schema.
  void Append(const Table& more);
  void Reserve(size_t rows);

  double value(size_t row, size_t feature) const { return columns_[feature][row]; }
  uint32_t label(size_t row) const { return labels_[row]; }
  absl::Span<const double> column(size_t feature) const { return columns_[feature]; }
  absl::Span<const uint32_t> labels() const { return labels_; }
  // For regression, where there are no labels.
  double target(size_t row) const { return targets_[row]; }
  absl::Span<const double> targets() const { return targets_; }

  // Copies row `row` into `out`, which is resized.
  void CopyRow(size_t row, Row& out) const;
  Row row(size_t row) const;

  // The rows at `indices`, in that order; an index may repeat.
  Table Select(absl::Span<const size_t> indices) const;

  // Copies the rows to a table with another schema, which they must fit.
  Table WithSchema(std::shared_ptr<const Schema> schema) const;

 private:
  std::shared_ptr<const Schema> schema_;
  std::vector<std::vector<double>> columns_;
  std::vector<uint32_t> labels_;
  std::vector<double> targets_;
  size_t num_rows_ = 0;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_TABLE_H_
