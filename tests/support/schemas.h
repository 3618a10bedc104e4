// Short ways to write features in tests.

#ifndef COPPICE_TESTS_SUPPORT_SCHEMAS_H_
#define COPPICE_TESTS_SUPPORT_SCHEMAS_H_

#include <string>
#include <utility>
#include <vector>

#include "common/schema/schema.h"

namespace coppice::testing {

inline Feature Numeric(std::string name, double min, double max) {
  Feature feature;
  feature.name = std::move(name);
  feature.min = min;
  feature.max = max;
  return feature;
}

inline Feature Whole(std::string name, double min, double max) {
  Feature feature = Numeric(std::move(name), min, max);
  feature.integer = true;
  return feature;
}

inline Feature Categorical(std::string name, std::vector<std::string> values) {
  Feature feature;
  feature.name = std::move(name);
  feature.type = FeatureType::kCategorical;
  feature.values = std::move(values);
  return feature;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCHEMAS_H_
