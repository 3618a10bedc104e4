// Random tables for the trainers' tests, with every kind of feature, missing values, categories
// outside the vocabulary, values on cuts, and rows without labels.

#ifndef COPPICE_TESTS_SERVER_TRAINERS_TABLES_H_
#define COPPICE_TESTS_SERVER_TRAINERS_TABLES_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/trainers/core/bins.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline std::vector<Feature> MixedFeatures() {
  return {Numeric("amount", 0, 100),      Categorical("colour", {"red", "green", "blue", "grey"}),
          Numeric("balance", -3, 5),      Categorical("yes", {"y", "n"}),
          Numeric("constant", 7, 7),      Categorical("alone", {"only"}),
          Numeric("tiny", 1e-12, 1.5e-12)};
}

inline std::shared_ptr<const Schema> MixedClasses(uint32_t classes = 3) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < classes; ++c) names.push_back(StrCat("class", c));
  return std::make_shared<const Schema>(*Schema::Create(MixedFeatures(), "label", names));
}

inline std::shared_ptr<const Schema> MixedRegression() {
  return std::make_shared<const Schema>(
      *Schema::CreateRegression(MixedFeatures(), "price", {.min = -2, .max = 6}));
}

// Features with far more cuts than a tree has levels.
inline std::vector<Feature> NumericFeatures(uint32_t count) {
  std::vector<Feature> features;
  for (uint32_t f = 0; f < count; ++f) features.push_back(Numeric(StrCat("x", f), 0, 1));
  return features;
}

inline double RandomValue(const Feature& feature, double missing, std::mt19937_64& engine) {
  if (std::uniform_real_distribution<>(0, 1)(engine) < missing) return kMissingValue;
  if (feature.type == FeatureType::kCategorical) {
    return static_cast<double>(
        std::uniform_int_distribution<size_t>(0, feature.values.size())(engine));
  }
  // The value is at one of a few even places, where cuts are, or anywhere.
  const double span = feature.max - feature.min;
  const double share = std::uniform_real_distribution<>(0, 1)(engine);
  if (share < 0.5) return feature.min + span * static_cast<int>(share * 18) / 8;
  return feature.min + span * (2 * share - 1);
}

struct TableShape {
  size_t rows = 100;
  double missing = 0.1;
  double unlabelled = 0;
};

// Labels depend a little on the features, so that there is something to learn.
inline Table RandomTable(const std::shared_ptr<const Schema>& schema, const TableShape& shape,
                         uint64_t seed) {
  std::mt19937_64 engine(seed);
  Table table(schema);
  for (size_t r = 0; r < shape.rows; ++r) {
    Row row;
    for (const Feature& feature : schema->features()) {
      row.push_back(RandomValue(feature, shape.missing, engine));
    }
    const double share = std::uniform_real_distribution<>(0, 1)(engine);
    const bool high = row[0] > (schema->features()[0].min + schema->features()[0].max) / 2;
    if (schema->target()) {
      table.AppendTarget(row, schema->target()->min +
                                  schema->target()->span() * (high ? 1 - share * share : share));
      continue;
    }
    const auto label = static_cast<uint32_t>(share * share * schema->num_classes());
    const bool known = std::uniform_real_distribution<>(0, 1)(engine) >= shape.unlabelled;
    table.Append(row, !known ? kUnlabelled : high ? schema->num_classes() - 1 - label : label);
  }
  return table;
}

inline trainers::BinnedRows Binned(const Table& table, uint32_t cuts) {
  return *trainers::BinnedRows::Create(table, *trainers::PublicBins(table.schema(), cuts));
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_TRAINERS_TABLES_H_
