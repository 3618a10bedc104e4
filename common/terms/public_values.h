// What a report shows in the clear, the values of public features, and what follows from it: the
// leaves that can contain the row.
//
// All of it is public.

#ifndef COPPICE_COMMON_TERMS_PUBLIC_VALUES_H_
#define COPPICE_COMMON_TERMS_PUBLIC_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"

namespace coppice {

// The leaves that can contain `row`, in ascending order: at a split on a public feature the walk
// follows the row, at one on a private feature both sides. Never empty; all leaves if no feature is
// public, one if all are.
//
// Guarantee  depends on the tree and on the row's public values alone: private ones are not read.
std::vector<uint32_t> ConsistentLeaves(const Tree& tree, const Schema& schema, RowView row);

// The features whose values a report in `tree` shows, in ascending order: the public ones that the
// tree asks about, or all if all are public, as the curator then learns from each report
// (docs/protocol.md).
std::vector<uint32_t> ShownFeatures(const Schema& schema, const Tree& tree);

// Writes one value per shown feature, each an IEEE 754 double in 8 bytes, little-endian; a missing
// value is 7ff8000000000000. `row` must fit the schema.
std::string EncodePublicValues(const Schema& schema, const Tree& tree, RowView row);

// Returns a row with the shown values and all others missing. InvalidArgument unless `bytes` is
// what EncodePublicValues() returns for some row.
StatusOr<Row> DecodePublicValues(const Schema& schema, const Tree& tree, std::string_view bytes);

// In a study that is joined by an id (Terms::joined_by) a report shows the id instead of values: 1
// to kMaxJoinIdBytes bytes. InvalidArgument, without quoting it, if `id` is not valid.
inline constexpr size_t kMaxJoinIdBytes = 64;
Status CheckJoinId(std::string_view id);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_PUBLIC_VALUES_H_
