#include "common/schema/derived.h"

#include <cstddef>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// Far more than any trainer makes (boosting: 64); bounds memory and time whatever a file says.
constexpr size_t kMaxDerived = 1024;
constexpr size_t kMaxNameBytes = 200;  // of each part's name in the name of the whole

Status CheckTerms(const Schema& schema, const DerivedFeature& derived) {
  bool good = derived.size() == 2 || derived.size() == 3;
  for (size_t i = 0; i < derived.size() && good; ++i) {
    good = derived[i].feature < schema.num_features() &&
           (i == 0 || derived[i - 1].feature < derived[i].feature);
    if (!good) break;
    const Feature& feature = schema.features()[derived[i].feature];
    good = feature.type == FeatureType::kNumeric && feature.min < feature.max;
  }
  if (good) return OkStatus();
  return InvalidArgumentError(
      "a derived feature must have two or three terms of different numeric features, in order");
}

Feature FeatureOf(const Schema& schema, const DerivedFeature& derived) {
  Feature feature;
  for (const DerivedTerm& term : derived) {
    StrAppend(&feature.name,
              feature.name.empty() ? (term.minus ? "-" : "") : (term.minus ? " - " : " + "),
              schema.features()[term.feature].name.substr(0, kMaxNameBytes));
    (term.minus ? feature.min : feature.max) += term.minus ? -1 : 1;
  }
  feature.name = StrCat("scaled ", feature.name);
  return feature;
}

}  // namespace

StatusOr<Schema> ExtendSchema(const Schema& schema, absl::Span<const DerivedFeature> derived) {
  if (derived.size() > kMaxDerived) {
    return InvalidArgumentError(
        StrCat("there may be at most ", kMaxDerived, " derived features, not ", derived.size()));
  }
  std::vector<Feature> features = schema.features();
  StringSet taken = {schema.label()};
  for (const Feature& feature : features) taken.insert(feature.name);
  for (const DerivedFeature& one : derived) {
    COPPICE_RETURN_IF_ERROR(CheckTerms(schema, one));
    features.push_back(FeatureOf(schema, one));
    std::string& name = features.back().name;
    while (!taken.insert(name).second) name += "'";
  }
  if (schema.target()) {
    return Schema::CreateRegression(std::move(features), schema.label(), *schema.target());
  }
  return Schema::Create(std::move(features), schema.label(), schema.classes());
}

Row ExtendRow(const Schema& schema, absl::Span<const DerivedFeature> derived, RowView row) {
  Row extended(row.begin(), row.end());
  for (const DerivedFeature& one : derived) {
    extended.push_back(DerivedValue(schema, one, [&](uint32_t feature) { return row[feature]; }));
  }
  return extended;
}

}  // namespace coppice
