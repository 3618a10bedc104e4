// Columns of few bins, several of them as one, whose bins are the combinations of theirs: a row is
// added to the sums of all of them at once.
//
// Which columns are put together follows from their numbers of bins alone. A column's sums are sums
// of those of combinations: the same whole numbers.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_JOINT_COLUMNS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_JOINT_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// The bins of columns put together, so that sums of them and a few nodes stay in the nearest cache.
inline constexpr size_t kMaxJointBins = 128;

struct JointColumn {
  // A member's bin is `bin / stride % bins` of the combination.
  struct Member {
    uint32_t column = 0;
    size_t bins = 1;
    size_t stride = 1;
  };
  std::vector<Member> members{};
  size_t bins = 1;  // combinations
  absl::Span<const uint16_t> bin_of_row{};
};

// Adds `joint`, a sum per combination, to `sums`, one per bin of the member.
void AddSumsOfMember(const JointColumn::Member& member, absl::Span<const int64_t> joint,
                     absl::Span<int64_t> sums);

// Threads    immutable once made.
class JointColumns {
 public:
  // The rows must outlive it.
  explicit JointColumns(const BinnedRows& rows);
  JointColumns(const JointColumns&) = delete;
  JointColumns& operator=(const JointColumns&) = delete;

  const BinnedRows& rows() const { return rows_; }
  // Every column of the rows is a member of one. From few combinations to many.
  absl::Span<const JointColumn> all() const { return joint_; }

 private:
  const BinnedRows& rows_;
  std::vector<JointColumn> joint_;
  std::vector<std::vector<uint16_t>> combinations_;  // of those with several members
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_JOINT_COLUMNS_H_
