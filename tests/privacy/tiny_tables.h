// All tables of a few rows over a tiny domain, for laws that are computed instead of sampled.

#ifndef COPPICE_TESTS_PRIVACY_TINY_TABLES_H_
#define COPPICE_TESTS_PRIVACY_TINY_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coppice::testing {

struct TinyRow {
  uint32_t x = 0;  // a feature, below kTinyValues
  uint32_t y = 0;  // a label, 0 or 1

  friend auto operator<=>(const TinyRow&, const TinyRow&) = default;
};
inline constexpr uint32_t kTinyValues = 3;
inline constexpr uint32_t kTinyKinds = kTinyValues * 2;

inline TinyRow TinyRowOf(uint32_t kind) { return {.x = kind / 2, .y = kind % 2}; }

// Rows in ascending order: a table is a multiset, and nothing here depends on the order.
using TinyTable = std::vector<TinyRow>;

// Every table of at most `rows` rows.
inline std::vector<TinyTable> AllTinyTables(size_t rows) {
  std::vector<TinyTable> tables = {{}};
  for (size_t at = 0; at < tables.size(); ++at) {
    if (tables[at].size() == rows) continue;
    for (uint32_t kind = 0; kind < kTinyKinds; ++kind) {
      const TinyRow row = TinyRowOf(kind);
      if (!tables[at].empty() && row < tables[at].back()) continue;
      tables.push_back(tables[at]);
      tables.back().push_back(row);
    }
  }
  return tables;
}

// `table` with one more row.
inline TinyTable WithRow(TinyTable table, TinyRow row) {
  auto at = table.begin();
  while (at != table.end() && *at < row) ++at;
  table.insert(at, row);
  return table;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_TINY_TABLES_H_
