// Small models for the tests of export formats.

#ifndef COPPICE_TESTS_COMMON_EXPORT_SAMPLE_MODELS_H_
#define COPPICE_TESTS_COMMON_EXPORT_SAMPLE_MODELS_H_

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/model/model.h"
#include "common/schema/schema.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline constexpr char kHostileText[] = "*/ \"end\\\n?\?/ \xc3\xa9";

// x in [0, 1], a whole age in [0, 100], and a job of two categories, one of them hostile.
inline std::vector<Feature> ExportedFeatures() {
  return {Numeric("x", 0, 1), Whole("age", 0, 100), Categorical("job", {"cook", kHostileText})};
}

inline Schema ExportedSchema(std::vector<std::string> classes = {"no", kHostileText}) {
  return *Schema::Create(ExportedFeatures(), "buys", std::move(classes));
}

inline Schema ExportedRegression() {
  return *Schema::CreateRegression(ExportedFeatures(), "price", {.min = -10, .max = 40});
}

inline Node NumericSplit(uint32_t feature, double threshold, bool missing_left = false) {
  return {.kind = SplitKind::kNumeric,
          .missing_left = missing_left,
          .feature = feature,
          .threshold = threshold,
          .left = 1,
          .right = 2};
}

inline Node CategorySplit(double code) {
  return {.kind = SplitKind::kCategory, .feature = 2, .threshold = code, .left = 1, .right = 2};
}

// A model of one tree with one split, whose leaves hold `left` and `right`.
inline Model OneSplit(const Schema& schema, const Node& split, std::vector<double> left,
                      std::vector<double> right, LeafKind kind = LeafKind::kScores,
                      std::vector<DerivedFeature> derived = {}) {
  const Schema tree_schema = *ExtendSchema(schema, derived);
  Forest forest = {*Tree::Create({split, Node{}, Node{}}, tree_schema)};
  const std::vector<LeafPrediction> leaves = {
      {.probabilities = std::move(left),
       .standard_error = std::numeric_limits<double>::infinity(),
       .source_node = 1},
      {.probabilities = std::move(right), .standard_error = 0.5, .source_node = 2}};
  Certificate certificate;
  certificate.epsilon_nanos = 1'500'000'000;
  certificate.delta_atto = 7;
  certificate.releases = {
      {.what = kHostileText, .mechanism = "m", .epsilon_nanos = 1'500'000'000, .delta_atto = 7}};
  certificate.neighbouring = "one row more or less";
  return *Model::Create(schema, std::move(forest), {leaves}, certificate, kind, std::move(derived));
}

// Subtracts the schema's second feature from its first.
inline DerivedFeature SumOfTwo() { return {{.feature = 0}, {.feature = 1, .minus = true}}; }

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_EXPORT_SAMPLE_MODELS_H_
