#include "common/table/table.h"

#include <utility>

namespace coppice {

Table::Table(std::shared_ptr<const Schema> schema)
    : schema_(std::move(schema)), columns_(schema_->num_features()) {}

Table Table::OfClasses(std::shared_ptr<const Schema> schema,
                       std::vector<std::vector<double>> columns, std::vector<uint32_t> labels) {
  Table table(std::move(schema));
  table.columns_ = std::move(columns);
  table.labels_ = std::move(labels);
  table.num_rows_ = table.labels_.size();
  return table;
}

Table Table::OfNumbers(std::shared_ptr<const Schema> schema,
                       std::vector<std::vector<double>> columns, std::vector<double> targets) {
  Table table(std::move(schema));
  table.columns_ = std::move(columns);
  table.targets_ = std::move(targets);
  table.num_rows_ = table.targets_.size();
  return table;
}

void Table::Append(RowView row, uint32_t label) {
  for (size_t f = 0; f < columns_.size(); ++f) columns_[f].push_back(row[f]);
  labels_.push_back(label);
  ++num_rows_;
}

void Table::AppendTarget(RowView row, double target) {
  for (size_t f = 0; f < columns_.size(); ++f) columns_[f].push_back(row[f]);
  targets_.push_back(target);
  ++num_rows_;
}

void Table::Append(const Table& more) {
  for (size_t f = 0; f < columns_.size(); ++f) {
    columns_[f].insert(columns_[f].end(), more.columns_[f].begin(), more.columns_[f].end());
  }
  labels_.insert(labels_.end(), more.labels_.begin(), more.labels_.end());
  targets_.insert(targets_.end(), more.targets_.begin(), more.targets_.end());
  num_rows_ += more.num_rows_;
}

void Table::Reserve(size_t rows) {
  for (std::vector<double>& column : columns_) column.reserve(rows);
  if (schema_->target()) {
    targets_.reserve(rows);
  } else {
    labels_.reserve(rows);
  }
}

void Table::CopyRow(size_t row, Row& out) const {
  out.resize(columns_.size());
  for (size_t f = 0; f < columns_.size(); ++f) out[f] = columns_[f][row];
}

Row Table::row(size_t row) const {
  Row out;
  CopyRow(row, out);
  return out;
}

Table Table::Select(absl::Span<const size_t> indices) const {
  Table selected(schema_);
  selected.Reserve(indices.size());
  for (size_t f = 0; f < columns_.size(); ++f) {
    for (const size_t row : indices) selected.columns_[f].push_back(columns_[f][row]);
  }
  for (const size_t row : indices) {
    if (schema_->target()) {
      selected.targets_.push_back(targets_[row]);
    } else {
      selected.labels_.push_back(labels_[row]);
    }
  }
  selected.num_rows_ = indices.size();
  return selected;
}

Table Table::WithSchema(std::shared_ptr<const Schema> schema) const {
  Table table = *this;
  table.schema_ = std::move(schema);
  return table;
}

}  // namespace coppice
