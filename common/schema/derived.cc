#include "common/schema/derived.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

absl::Status CheckTerms(const Schema& schema, const DerivedFeature& derived) {
  bool good = derived.size() == 2 || derived.size() == 3;
  for (size_t i = 0; i < derived.size() && good; ++i) {
    good = derived[i].feature < schema.num_features() &&
           (i == 0 || derived[i - 1].feature < derived[i].feature);
    if (!good) break;
    const Feature& feature = schema.features()[derived[i].feature];
    good = feature.type == FeatureType::kNumeric && feature.min < feature.max;
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a derived feature must have two or three terms of different numeric features, in order");
}

Feature FeatureOf(const Schema& schema, const DerivedFeature& derived) {
  Feature feature;
  for (const DerivedTerm& term : derived) {
    absl::StrAppend(&feature.name,
                    feature.name.empty() ? (term.minus ? "-" : "") : (term.minus ? " - " : " + "),
                    schema.features()[term.feature].name);
    (term.minus ? feature.min : feature.max) += term.minus ? -1 : 1;
  }
  feature.name = absl::StrCat("scaled ", feature.name);
  return feature;
}

}  // namespace

absl::StatusOr<Schema> ExtendSchema(const Schema& schema,
                                    absl::Span<const DerivedFeature> derived) {
  std::vector<Feature> features = schema.features();
  for (const DerivedFeature& one : derived) {
    COPPICE_RETURN_IF_ERROR(CheckTerms(schema, one));
    features.push_back(FeatureOf(schema, one));
    std::string& name = features.back().name;
    const auto is_taken = [&] {
      return name == schema.label() ||
             std::any_of(features.begin(), features.end() - 1,
                         [&](const Feature& other) { return other.name == name; });
    };
    while (is_taken()) name += "'";
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
