// Small trees and models for the tests of this folder.

#ifndef COPPICE_TESTS_COMMON_MODEL_TREES_H_
#define COPPICE_TESTS_COMMON_MODEL_TREES_H_

#include <utility>
#include <vector>

#include "common/model/model.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline Node NumericSplit(uint32_t feature, double threshold, uint32_t left, uint32_t right,
                         bool missing_left = false) {
  return {SplitKind::kNumeric, missing_left, feature, threshold, left, right};
}
inline Node CategorySplit(uint32_t feature, double category, uint32_t left, uint32_t right,
                          bool missing_left = false) {
  return {SplitKind::kCategory, missing_left, feature, category, left, right};
}
inline Node MissingSplit(uint32_t feature, uint32_t left, uint32_t right) {
  return {SplitKind::kMissing, false, feature, 0, left, right};
}

// age in [17, 90], sex Female or Male; low or high income.
inline Schema IncomeSchema() {
  return *Schema::Create({Numeric("age", 17, 90), Categorical("sex", {"Female", "Male"})}, "income",
                         {"low", "high"});
}

// Five leaves, from left to right: age missing | sex = Male | age < 30 | age < 55 | the rest.
inline std::vector<Node> IncomeNodes() {
  return {MissingSplit(0, 1, 2),
          Node{},
          CategorySplit(1, 1, 3, 4, /*missing_left=*/true),
          Node{},
          NumericSplit(0, 30, 5, 6),
          Node{},
          NumericSplit(0, 55, 7, 8),
          Node{},
          Node{}};
}

inline LeafPrediction Leaf(std::vector<double> probabilities, double standard_error, uint32_t label,
                           uint32_t source_node) {
  return {std::move(probabilities), standard_error, label, source_node};
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_MODEL_TREES_H_
