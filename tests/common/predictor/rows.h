// Small tables of public rows for the tests of this folder.

#ifndef COPPICE_TESTS_COMMON_PREDICTOR_ROWS_H_
#define COPPICE_TESTS_COMMON_PREDICTOR_ROWS_H_

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/predictor/tree_grower.h"
#include "common/table/table.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline Table ClassTable(std::vector<Feature> features, uint32_t classes,
                        const std::vector<Row>& rows, const std::vector<uint32_t>& labels) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k) names.push_back("class " + std::to_string(k));
  Table table(std::make_shared<const Schema>(
      *Schema::Create(std::move(features), "label", std::move(names))));
  for (size_t i = 0; i < rows.size(); ++i) table.Append(rows[i], labels[i]);
  return table;
}

inline Table NumberTable(std::vector<Feature> features, Target target, const std::vector<Row>& rows,
                         const std::vector<double>& numbers) {
  Table table(std::make_shared<const Schema>(
      *Schema::CreateRegression(std::move(features), "number", std::move(target))));
  for (size_t i = 0; i < rows.size(); ++i) table.AppendTarget(rows[i], numbers[i]);
  return table;
}

// Two numbers with ties and gaps, and a category; some values are missing.
inline std::vector<Feature> MixedFeatures() {
  return {Numeric("x", -10, 10), Whole("count", 0, 6), Categorical("colour", {"red", "blue"})};
}
inline std::vector<Row> MixedRows(size_t count, uint64_t seed) {
  PublicRandom random(seed);
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({std::round(20 * random.Unit() - 10) / 2, static_cast<double>(random.Below(7)),
                    static_cast<double>(random.Below(3))});
    for (double& value : rows.back()) {
      if (random.Below(8) == 0) value = kMissingValue;
    }
  }
  return rows;
}
inline std::vector<uint32_t> RandomLabels(size_t count, uint32_t classes, uint64_t seed) {
  PublicRandom random(seed);
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < count; ++i) labels.push_back(static_cast<uint32_t>(random.Below(classes)));
  return labels;
}

// The position of the grown node that a row ends in.
inline uint32_t FindGrownLeaf(const std::vector<Node>& nodes, RowView row) {
  uint32_t at = 0;
  while (nodes[at].kind != SplitKind::kLeaf) {
    at = GoesLeft(nodes[at], row[nodes[at].feature]) ? nodes[at].left : nodes[at].right;
  }
  return at;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_PREDICTOR_ROWS_H_
