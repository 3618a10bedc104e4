// Trees that begin with the values of one public feature, so that counts by leaf are counts by
// value, too.
//
// A chain of questions stands in front of a tree: is it the first value, the second, ..., is it
// missing. Behind each "yes", and behind the last "no" ("other"), stands a copy of the whole tree:
// with P copies of L leaves, leaf l of copy p is leaf p L + l. A copy keeps its own questions about
// the feature, but rows reach only the answer that the chain has given.
//
// Guarantee  a row is consistent with the same leaves of its copy as it was of the tree, in the
//            same order, so its device's mechanism is the same. All of it is public.
// Errors     InvalidArgument, naming the field.
// Source     docs/research/mechanisms.md#by-value.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_
#define COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"

namespace coppice::curator {

// A value of a categorical feature, by name.
struct FeatureValue {
  enum class Kind { kCategory, kMissing, kOther };

  std::string feature;
  Kind kind = Kind::kCategory;
  std::string category{};  // for kCategory

  // "plan = gold", "plan is missing", "plan is not in the schema". Different values have different
  // texts: an ambiguous name is quoted.
  std::string ToString() const;
};

// The same value as rows encode it.
struct EncodedValue {
  uint32_t feature = 0;
  double value = kMissingValue;

  bool Holds(RowView row) const {
    return IsMissing(value) ? IsMissing(row[feature]) : row[feature] == value;
  }
};
// For an unknown feature or category, the error lists the known ones.
StatusOr<EncodedValue> EncodeValue(const Schema& schema, const FeatureValue& value);

// The position of the public categorical feature called `name`, which trees can begin with.
StatusOr<uint32_t> FindByFeature(const Schema& schema, std::string_view name);

// The number of copies of a tree: one per value in vocabulary order, then missing, then other.
inline uint32_t NumCopies(const Feature& feature) {
  return static_cast<uint32_t>(feature.values.size()) + 2;
}
uint32_t CopyOf(const Schema& schema, const EncodedValue& value);

// The nodes that the chain's answers lead to, in a tree with this many copies: for each question
// the copy on its left, then the node on its right.
std::vector<uint32_t> NodesOfValues(const Tree& tree, uint32_t copies);

// `feature` must be one that FindByFeature() returned.
StatusOr<Forest> PutValuesInFront(const Forest& forest, const Schema& schema, uint32_t feature);
// Inverts PutValuesInFront().
StatusOr<Forest> TakeValuesFromFront(const Forest& forest, const Schema& schema, uint32_t feature);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_BY_VALUE_H_
