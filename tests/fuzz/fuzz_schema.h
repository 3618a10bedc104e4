// Schemas for the readers of tables, and properties of what they read.

#ifndef COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_
#define COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_

#include <memory>
#include <string>
#include <vector>

#include "common/table/read_table.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline std::shared_ptr<const Schema> SchemaOf(std::vector<Feature> features) {
  return std::make_shared<const Schema>(
      *Schema::Create(std::move(features), "label", {"no", "yes"}));
}
inline std::shared_ptr<const Schema> MixedSchema() {
  return SchemaOf({Whole("age", 0, 100), Categorical("color", {"red", "green, or blue"})});
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

// True if only a wrong structure makes a device's file fail: if the structure passes, every schema
// reads the whole file, and into rows that can be answered.
inline bool IsReadByEverySchema(const std::string& path) {
  const bool sound = CheckTableStructure(path).ok();
  for (const auto& schema :
       {MixedSchema(), NumericSchema(), SchemaOf({Categorical("label2", {"0"})})}) {
    const auto read = ReadTable(path, schema, {.total = true});
    if (read.ok() != sound) return false;
    if (!read.ok()) continue;
    for (size_t row = 0; row < read->table.num_rows(); ++row) {
      if (!schema->Validate(read->table.row(row)).ok()) return false;
    }
  }
  return true;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FUZZ_FUZZ_SCHEMA_H_
