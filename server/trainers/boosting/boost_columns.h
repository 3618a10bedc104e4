// The public columns that boosting splits: the schema's features in bins, and oblique columns.
//
// Cuts must be public, so they cannot follow the rows; they have to lie where rows usually are.
// Even cuts serve numbers that fill their range. Amounts, counts and durations crowd at one end
// instead, on a scale that is unknown, and a few cuts by halves serve every scale at once. Oblique
// columns let one split follow a border that no single feature shows: drawn at random, without the
// rows, they are as public as the features themselves.
//
// They follow from the schema, a fixed seed, and the released number of rows. A numeric column has
// 31 even cuts, and cuts at, and halving the distance to, zero (or the lower bound, if zero is
// outside): twenty on each side. "At most the cut" goes left. Mostly numeric tables have up to 511
// even cuts, if features and classes are few enough and rows per class enough, and up to 32 signed
// pairs and 32 signed triples of scaled features, each in 64 even bins of its range. A column of
// whole numbers has at most one cut between neighbours.
//
// Source     docs/research/mechanisms.md#boost-columns.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

struct BoostColumns {
  std::vector<DerivedFeature> derived;
  std::vector<FeatureBins> bins;  // of the schema's features, then of the derived ones
};

inline constexpr double kAllInformation = std::numeric_limits<double>::infinity();

// `information` is the released number of rows times epsilon; kAllInformation, which gives the most
// bins, before a number is known. The
// bounds of `narrowed` (narrow_bounds.h) are released, and get even cuts besides the declared ones.
StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema, double information,
                                          const Schema& narrowed);
StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema, double information);

// Uses this many even cuts for each number instead.
StatusOr<BoostColumns> BoostColumnsWithCuts(const Schema& schema, uint32_t even_cuts,
                                            const Schema& narrowed);

// Returns as many bins as the columns may have, whatever is released.
std::vector<FeatureBins> MostBoostBins(const Schema& schema, const BoostColumns& columns);

// Several columns of few bins are treated as one, whose bins are the combinations of theirs: a row
// is added to the sums of all of them at once. Only their numbers of bins decide which columns are
// put together. A column's sums are sums over combinations: exactly the same whole numbers.
//
// This limit on combined bins keeps the sums of a few nodes in the nearest cache.
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
  const BinColumn* bin_of_row = nullptr;
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
  // Every column of the rows is a member of exactly one. Sorted by rising number of combinations.
  absl::Span<const JointColumn> all() const { return joint_; }

 private:
  const BinnedRows& rows_;
  std::vector<JointColumn> joint_;
  std::deque<BinColumn> combinations_;  // of those with several members
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
