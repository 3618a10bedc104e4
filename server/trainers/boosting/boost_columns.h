// The public columns that boosting splits: the schema's features in bins, and oblique ones.
//
// They follow from the schema, a fixed seed, and the number of rows as released. A numeric column
// has 31 even cuts, and cuts at, and halving the distance to, zero (or the lower bound, if zero is
// not inside): eight on each side. "At most the cut" goes left. In tables that are mostly numeric
// there are up to 511 even ones, if features and classes are few enough and rows of a class not too
// few, and up to 32 signed pairs and 32 signed triples of scaled features, each in 64 even bins of
// the range that it can reach. A column of whole numbers has at most one cut between neighbours.
//
// Source     docs/research/mechanisms.md#boost-columns.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

struct BoostColumns {
  std::vector<DerivedFeature> derived;
  std::vector<FeatureBins> bins;  // of the schema's features, then of the derived ones
};

inline constexpr double kAllInformation = std::numeric_limits<double>::infinity();

// `information` is the number of rows as released times epsilon, kAllInformation without privacy or
// where no number is known yet: no other gives more bins.
absl::StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema, double information);

// The same with this many even cuts of each number.
absl::StatusOr<BoostColumns> BoostColumnsWithCuts(const Schema& schema, uint32_t even_cuts);

// Columns of few bins, several of them as one, whose bins are the combinations of theirs: a row is
// added to the sums of all of them at once. Which columns are put together follows from their
// numbers of bins alone. A column's sums are sums of those of combinations: the same whole numbers.
//
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

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
