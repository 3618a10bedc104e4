// Trees that begin with the values of one public feature, so that what is counted leaf by leaf is
// counted value by value, too.
//
// In front of a tree stands a chain of questions: is it the first value, the second, ..., is it
// missing. Behind each answer, and behind the last "no" ("other"), stands a copy of the whole tree:
// with P copies of L leaves, leaf l of copy p is leaf p L + l. A copy's own questions about the
// feature stay as they are; beyond the answer that the chain has given, no row arrives.
//
// Guarantee  a row is consistent with the same leaves of its copy as it was of the tree, in the
//            same order, so its device's mechanism is the same. All of it is public.
// Errors     InvalidArgument, naming the field.
// Source     docs/research/mechanisms.md#by-value.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_
#define COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/schema/schema.h"
#include "common/tree/tree.h"

namespace coppice::curator {

// A value of a categorical feature as people say it.
struct FeatureValue {
  enum class Kind { kCategory, kMissing, kOther };

  std::string feature;
  Kind kind = Kind::kCategory;
  std::string category{};  // for kCategory

  // "plan = gold", "plan is missing", "plan is none of the known". Different values have different
  // texts: a name that could be misread is quoted.
  std::string ToString() const;
};

// The same as rows have it.
struct EncodedValue {
  uint32_t feature = 0;
  double value = kMissingValue;

  bool Holds(RowView row) const {
    return IsMissing(value) ? IsMissing(row[feature]) : row[feature] == value;
  }
};
// For a feature or a category that the schema does not have the error lists those that it has.
absl::StatusOr<EncodedValue> EncodeValue(const Schema& schema, const FeatureValue& value);

// The position of the public categorical feature called `name`, which trees can begin with.
absl::StatusOr<uint32_t> FindByFeature(const Schema& schema, absl::string_view name);

// Copies of a tree: one a value in the order of the vocabulary, then missing, then other.
inline uint32_t NumCopies(const Feature& feature) {
  return static_cast<uint32_t>(feature.values.size()) + 2;
}
uint32_t CopyOf(const Schema& schema, const EncodedValue& value);

// The nodes of a tree with this many copies where the chain's answers lead: for each question the
// copy on its left, then what stands on its right.
std::vector<uint32_t> NodesOfValues(const Tree& tree, uint32_t copies);

// `feature` must be one that FindByFeature() returned.
absl::StatusOr<Forest> PutValuesInFront(const Forest& forest, const Schema& schema,
                                        uint32_t feature);
// The forest that PutValuesInFront() made `forest` of.
absl::StatusOr<Forest> TakeValuesFromFront(const Forest& forest, const Schema& schema,
                                           uint32_t feature);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_
