// Rows for benchmarks of trainers: uniform numbers from 0 to 1, the same at each call.

#ifndef COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_
#define COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/schema/schema.h"
#include "common/table/table.h"

namespace coppice {

// A row's class is what `rule` says of it, turned around for one row in five.
inline Table MakeUniformRows(size_t features, size_t rows,
                             absl::FunctionRef<bool(const Row& row)> rule) {
  std::vector<Feature> columns(features);
  for (size_t f = 0; f < features; ++f) {
    columns[f].name = "x" + std::to_string(f);
    columns[f].max = 1;
  }
  Table table(std::make_shared<const Schema>(*Schema::Create(columns, "y", {"no", "yes"})));
  table.Reserve(rows);
  uint64_t state = 1;
  Row row(features);
  for (size_t i = 0; i < rows; ++i) {
    for (double& x : row) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<double>(state >> 11) * 0x1p-53;
    }
    const bool other = (state >> 32) % 5 == 0;
    table.Append(row, rule(row) != other);
  }
  return table;
}

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_
