// Numeric features that follow from others: signed sums of two or three, each scaled to [0, 1] by
// its declared bounds. A split on a derived feature is an oblique split on the features that it is
// made of.
//
// The set of derived features follows from the schema and a fixed seed, never from rows. A derived
// feature is missing if any of its parts is. Training and prediction compute it with the same code,
// so with the same bits.
//
// Threads    plain values.

#ifndef COPPICE_COMMON_SCHEMA_DERIVED_H_
#define COPPICE_COMMON_SCHEMA_DERIVED_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice {

struct DerivedTerm {
  uint32_t feature = 0;  // numeric, with bounds that differ
  bool minus = false;

  friend bool operator==(const DerivedTerm&, const DerivedTerm&) = default;
};
using DerivedFeature = std::vector<DerivedTerm>;  // 2 or 3 terms, increasing features

// Returns `schema` with the derived features after its own, as numeric features with names of their
// own, within the bounds that they can reach. InvalidArgument for invalid terms.
StatusOr<Schema> ExtendSchema(const Schema& schema, absl::Span<const DerivedFeature> derived);

// Computes a derived feature; `value_of` returns a feature's value.
template <typename ValueOf>
double DerivedValue(const Schema& schema, const DerivedFeature& derived, ValueOf value_of) {
  double sum = 0;
  for (const DerivedTerm& term : derived) {
    const Feature& feature = schema.features()[term.feature];
    const double scaled = (value_of(term.feature) - feature.min) / (feature.max - feature.min);
    sum = term.minus ? sum - scaled : sum + scaled;  // a missing part makes the sum missing
  }
  return sum;
}

// Returns `row` with the derived values after its own.
Row ExtendRow(const Schema& schema, absl::Span<const DerivedFeature> derived, RowView row);

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_DERIVED_H_
