// Schemas for the readers of tables, and what must hold of what they read.

#ifndef COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_
#define COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_

#include <memory>
#include <vector>

#include "common/data/read_table.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline std::shared_ptr<const Schema> SchemaOf(std::vector<Feature> features) {
  return std::make_shared<const Schema>(
      *Schema::Create(std::move(features), "label", {"no", "yes"}));
}
inline std::shared_ptr<const Schema> MixedSchema() {
  return SchemaOf({Numeric("age", 0, 100), Categorical("color", {"red", "green, or blue"})});
}
inline std::shared_ptr<const Schema> NumericSchema() {
  return SchemaOf({Numeric("x1", -1, 1), Numeric("x2", 0, 10)});
}

inline bool FitsItsSchema(const Table& table) {
  for (size_t row = 0; row < table.num_rows(); ++row) {
    if (!table.schema().Validate(table.row(row)).ok()) return false;
    if (table.labels()[row] >= table.schema().num_classes()) return false;
  }
  return true;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_
