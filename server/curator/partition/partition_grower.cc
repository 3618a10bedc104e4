#include "server/curator/partition/partition_grower.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "server/curator/partition/cell_box.h"
#include "server/curator/partition/cell_rows.h"
#include "server/curator/partition/split_search.h"

namespace coppice::curator {
namespace {

// A node that is still to be cut or left a leaf.
struct Cell {
  uint32_t node = 0;
  uint32_t depth = 0;
  RowRange rows;
  CellBox box;  // for the edge rules
};

class Grower {
 public:
  Grower(const Table& rows, const PartitionOptions& options, PublicRandom& random,
         const CancelCheck& cancel)
      : schema_(rows.schema()),
        options_(options),
        random_(random),
        cancel_(cancel),
        rows_(rows, /*sorted=*/options.rule == SplitRule::kCart),
        search_(rows, options.criterion, options.min_leaf) {
    nodes_.emplace_back();
    cells_.push_back({0, 0, {0, rows.num_rows()}, CellBox(rows)});
  }

  absl::StatusOr<Tree> Grow() && {
    while (!cells_.empty()) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      const Cell cell = std::move(cells_.back());
      cells_.pop_back();
      const absl::optional<Split> split = FindSplit(cell);
      if (!split.has_value()) continue;
      if (nodes_.size() + 2 > kMaxNodes) {
        return absl::InvalidArgumentError(
            absl::StrCat("the partition would have more than ", kMaxNodes,
                         " nodes: lower max_depth or raise min_leaf"));
      }
      Divide(cell, split->node);
    }
    return Tree::Create(std::move(nodes_), schema_);
  }

 private:
  absl::optional<Split> FindSplit(const Cell& cell) {
    if (cell.depth == options_.max_depth || cell.rows.size() < 2) return absl::nullopt;
    search_.SetCell(rows_.Rows(cell.rows));
    return options_.rule == SplitRule::kCart ? CartSplit(cell) : EdgeSplit(cell);
  }

  // One of the longest edges: the best, or any.
  absl::optional<Split> EdgeSplit(const Cell& cell) {
    const double longest = cell.box.longest();
    if (longest == 0) return absl::nullopt;
    std::vector<Split> splits;
    for (uint32_t f = 0; f < schema_.num_features(); ++f) {
      if (cell.box.length(f) < longest - kTie) continue;
      const absl::optional<Split> split = AlongEdge(cell.box, f);
      if (split.has_value()) splits.push_back(*split);
    }
    if (splits.empty()) return absl::nullopt;
    if (options_.rule == SplitRule::kRandomMaxEdge) return splits[random_.Below(splits.size())];
    return Best(splits);
  }

  // Rows with a missing value leave first, if they are enough for a leaf of their own.
  absl::optional<Split> AlongEdge(const CellBox& box, uint32_t f) {
    absl::optional<Split> missing = search_.Missing(f);
    if (missing.has_value()) return missing;
    if (schema_.features()[f].type == FeatureType::kNumeric) {
      return search_.Threshold(f, box.middle(f));
    }
    return options_.rule == SplitRule::kRandomMaxEdge ? search_.MostFrequentCategory(f)
                                                      : search_.BestCategory(f);
  }

  // The largest decrease over all features; a cut that decreases nothing is none.
  absl::optional<Split> CartSplit(const Cell& cell) {
    std::vector<Split> splits;
    for (uint32_t f = 0; f < schema_.num_features(); ++f) {
      const bool numeric = schema_.features()[f].type == FeatureType::kNumeric;
      const absl::optional<Split> by_value =
          numeric ? search_.BestThreshold(f, rows_.SortedBy(f, cell.rows))
                  : search_.BestCategory(f);
      if (by_value.has_value()) splits.push_back(*by_value);
      const absl::optional<Split> missing = search_.Missing(f);
      if (missing.has_value()) splits.push_back(*missing);
    }
    if (splits.empty()) return absl::nullopt;
    const Split& best = Best(splits);
    if (best.decrease <= kTie) return absl::nullopt;
    return best;
  }

  // The earliest of those with the largest decrease.
  static const Split& Best(const std::vector<Split>& splits) {
    const Split* best = &splits.front();
    for (const Split& split : splits) {
      if (split.decrease > best->decrease + kTie) best = &split;
    }
    return *best;
  }

  void Divide(const Cell& cell, Node split) {
    const size_t middle = cell.rows.begin + rows_.Cut(cell.rows, split);
    split.left = static_cast<uint32_t>(nodes_.size());
    split.right = split.left + 1;
    nodes_.resize(nodes_.size() + 2);
    nodes_[cell.node] = split;
    const uint32_t depth = cell.depth + 1;
    cells_.push_back(
        {split.right, depth, {middle, cell.rows.end}, cell.box.After(split, false, schema_)});
    cells_.push_back(
        {split.left, depth, {cell.rows.begin, middle}, cell.box.After(split, true, schema_)});
  }

  const Schema& schema_;
  const PartitionOptions& options_;
  PublicRandom& random_;
  const CancelCheck& cancel_;
  CellRows rows_;
  SplitSearch search_;
  std::vector<Node> nodes_;
  std::vector<Cell> cells_;  // a stack: depth first, left before right
};

}  // namespace

absl::StatusOr<Tree> GrowTree(const Table& public_rows, const PartitionOptions& options,
                              PublicRandom& random, const CancelCheck& cancel) {
  return Grower(public_rows, options, random, cancel).Grow();
}

}  // namespace coppice::curator
