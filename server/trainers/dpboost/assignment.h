// Assigns each record to a part, independently and with public odds, so that each part's releases
// may spend all of epsilon (docs/research/mechanisms.md#composition).
//
// If each record draws its part by itself, a record more or less changes one part and leaves all
// others as they are, so the privacy loss is that of one part (parallel composition). If the table
// were shuffled and cut into parts of equal size instead, a record more would move others across
// the cuts and change every part.
//
// Odds are whole numbers.
//
// Guarantee  a record's part depends on no other record and on no value of its own. Parts have
//            random sizes; sizes that follow from the number of records would break this.
// Errors     what the releaser returns.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_ASSIGNMENT_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// Returns odds of `parts` parts, each `ratio` of the one before, 0 < ratio <= 1, and none 0. At
// most 2^20 parts.
std::vector<uint64_t> GeometricOdds(size_t parts, double ratio);

// The rows 0 to count - 1, grouped by part and in order: part p has rows[begin[p]] to
// rows[begin[p + 1]].
struct Assignment {
  std::vector<uint32_t> rows;
  std::vector<size_t> begin;

  absl::Span<const uint32_t> Part(size_t part) const {
    return absl::MakeConstSpan(rows).subspan(begin[part], begin[part + 1] - begin[part]);
  }
  // Returns the rows of all later parts.
  absl::Span<const uint32_t> After(size_t part) const {
    return absl::MakeConstSpan(rows).subspan(begin[part + 1]);
  }
};
StatusOr<Assignment> AssignRows(size_t count, absl::Span<const uint64_t> odds,
                                PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_ASSIGNMENT_H_
