// Grows a tree level by level over rows in bins, by any rule that chooses its splits.
//
// Growing by levels instead of depth first is a matter of accounting: the nodes of a level are
// about different rows, so all their choices together cost what one costs, and the depth times that
// is the whole price.
//
// Guarantee  released splits divide the rows among the nodes of a level, so one node per level sees
//            an added or removed row: a level costs what one Choose() costs, and levels add up
//            (docs/research/mechanisms.md#levels). Every node, even an empty one, is grown to the
//            last level; it ends earlier only if its cell has no split left, which is public.
// Errors     what the rule returns.
// Threads    not safe to share.

#ifndef COPPICE_SERVER_TRAINERS_CORE_GROWER_H_
#define COPPICE_SERVER_TRAINERS_CORE_GROWER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/cell.h"

namespace coppice::trainers {

// A node to be split: its cell is public, its rows are private.
struct NodeRows {
  const Cell& cell;
  const BinnedRows& all;
  absl::Span<const uint32_t> rows;  // positions in `all`
};

// The rule that splits nodes.
class SplitChooser {
 public:
  virtual ~SplitChooser() = default;
  // Unset: a leaf, because the cell has no split; nothing else may make a leaf.
  virtual StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) = 0;
};

// Trees of more levels would have too many leaves.
inline constexpr uint32_t kMaxTrainedDepth = 16;

struct GrownTree {
  Tree tree;
  // The rows of each leaf, in leaf order: rows[begin[l]] to rows[begin[l + 1]].
  std::vector<uint32_t> rows;
  std::vector<size_t> begin;

  absl::Span<const uint32_t> LeafRows(uint32_t leaf) const {
    return absl::MakeConstSpan(rows).subspan(begin[leaf], begin[leaf + 1] - begin[leaf]);
  }
};

// `rows` are the positions that this tree sees; `depth` is at most kMaxTrainedDepth.
StatusOr<GrownTree> GrowTree(const Schema& schema, const BinnedRows& all,
                             std::vector<uint32_t> rows, uint32_t depth, SplitChooser& chooser);

// Divides `rows` among the leaves of a tree that was grown on other rows.
StatusOr<GrownTree> FillTree(const Schema& schema, const Tree& tree, const BinnedRows& all,
                             std::vector<uint32_t> rows);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_GROWER_H_
