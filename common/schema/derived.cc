#include "common/schema/derived.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// Far more than any trainer makes (boosting: 64); bounds memory and time whatever a file says.
constexpr size_t kMaxDerived = 1024;
constexpr size_t kMaxNameBytes = 200;  // of each part's name in the name of the whole

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
                    schema.features()[term.feature].name.substr(0, kMaxNameBytes));
    (term.minus ? feature.min : feature.max) += term.minus ? -1 : 1;
  }
  feature.name = absl::StrCat("scaled ", feature.name);
  return feature;
}

}  // namespace

absl::StatusOr<Schema> ExtendSchema(const Schema& schema,
                                    absl::Span<const DerivedFeature> derived) {
  if (derived.size() > kMaxDerived) {
    return absl::InvalidArgumentError(absl::StrCat("there may be at most ", kMaxDerived,
                                                   " derived features, not ", derived.size()));
  }
  std::vector<Feature> features = schema.features();
  absl::flat_hash_set<std::string> taken = {schema.label()};
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
