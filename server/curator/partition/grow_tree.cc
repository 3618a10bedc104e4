// Implements GrowTree() of partition.h.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/cut_between.h"
#include "server/curator/partition/partition.h"
#include "server/curator/partition/split_search.h"

namespace coppice::curator {
namespace {

// The shape of a cell under the max-edge rules: the remaining length of each edge, and the next cut
// along it.
//
// A numeric edge has length 1 at the root, the box of the public rows; a cut at the midpoint halves
// it. A category's edge has length 1 at the root, for all categories of the vocabulary and "other".
// After a cut of one category the rest keep (remaining categories) / (all categories), or 0 once a
// single category is left, as on the side of "equal". A cut into missing | present keeps the edge
// of "present"; the other side has nothing left to cut. A feature whose public rows have at most
// one value has length 0 from the start.
class CellBox {
 public:
  explicit CellBox(const Table& public_rows);

  // The cell's shape after `split`, on its left or its right.
  CellBox After(const Node& split, bool left, const Schema& schema) const;

  double length(size_t feature) const { return edges_[feature].length; }
  double longest() const;

  // For numeric features with length > 0.
  double middle(const Schema& schema, size_t feature) const;

 private:
  struct Edge {
    double length = 0;
    double low = 0;  // numeric
    double high = 0;
    size_t categories = 0;  // that can still occur
  };

  std::vector<Edge> edges_;
};

double CategoryLength(size_t remaining, size_t all) {
  return remaining > 1 ? static_cast<double>(remaining) / static_cast<double>(all) : 0;
}

CellBox::CellBox(const Table& public_rows) : edges_(public_rows.schema().num_features()) {
  for (size_t f = 0; f < edges_.size(); ++f) {
    Edge& edge = edges_[f];
    bool seen = false;
    for (const double value : public_rows.column(f)) {
      if (IsMissing(value)) continue;
      edge.low = seen ? std::min(edge.low, value) : value;
      edge.high = seen ? std::max(edge.high, value) : value;
      seen = true;
    }
    edge.categories = public_rows.schema().features()[f].values.size() + 1;
    edge.length = edge.low < edge.high ? 1 : 0;
  }
}

CellBox CellBox::After(const Node& split, bool left, const Schema& schema) const {
  CellBox after = *this;
  Edge& edge = after.edges_[split.feature];
  switch (split.kind) {
    case SplitKind::kNumeric:
      (left ? edge.high : edge.low) = split.threshold;
      edge.length /= 2;
      if (schema.features()[split.feature].integer) {
        // Only whole numbers remain.
        edge.high = std::floor(edge.high);
        edge.low = std::ceil(edge.low);
        if (edge.low == edge.high) edge.length = 0;
      }
      break;
    case SplitKind::kCategory:
      edge.categories = left ? 1 : edge.categories - 1;
      edge.length =
          CategoryLength(edge.categories, schema.features()[split.feature].values.size() + 1);
      break;
    case SplitKind::kMissing:
      if (left) edge.length = 0;
      break;
    case SplitKind::kLeaf:
      break;
  }
  return after;
}

double CellBox::longest() const {
  double longest = 0;
  for (const Edge& edge : edges_) longest = std::max(longest, edge.length);
  return longest;
}

double CellBox::middle(const Schema& schema, size_t feature) const {
  return CutBetween(schema.features()[feature], edges_[feature].low, edges_[feature].high);
}

struct RowRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};

// The public rows in the order of a growing tree's cells: each cell is a range of positions, and so
// is each side of a cut. A cut is linear in its rows for every order kept: each numeric column is
// sorted once per tree, not once per node.
//
// Threads    one at a time.
class CellRows {
 public:
  // `rows` must outlive this. If `sorted`, cells are also kept in the order of each numeric
  // feature.
  CellRows(const Table& rows, bool sorted);

  absl::Span<const uint32_t> Rows(RowRange cell) const { return Slice(rows_order_, cell); }
  // Missing values are last, equal values in the order of the table. Requires `sorted`.
  absl::Span<const uint32_t> SortedBy(uint32_t feature, RowRange cell) const {
    return Slice(sorted_[feature], cell);
  }

  // Moves the rows that go left to the front of the cell and returns their number.
  size_t Cut(RowRange cell, const Node& split);

 private:
  static absl::Span<const uint32_t> Slice(const std::vector<uint32_t>& order, RowRange cell) {
    return absl::MakeConstSpan(order).subspan(cell.begin, cell.size());
  }
  void StablePartition(std::vector<uint32_t>& order, RowRange cell);

  const Table& rows_;
  std::vector<uint32_t> rows_order_;
  std::vector<std::vector<uint32_t>> sorted_;  // by feature; empty for categorical ones
  std::vector<uint8_t> goes_left_;             // by row, for the current cut
  std::vector<uint32_t> right_;
};

CellRows::CellRows(const Table& rows, bool sorted)
    : rows_(rows),
      rows_order_(rows.num_rows()),
      sorted_(rows.schema().num_features()),
      goes_left_(rows.num_rows()) {
  std::iota(rows_order_.begin(), rows_order_.end(), 0u);
  if (!sorted) return;
  for (size_t f = 0; f < sorted_.size(); ++f) {
    if (rows.schema().features()[f].type != FeatureType::kNumeric) continue;
    const absl::Span<const double> column = rows.column(f);
    sorted_[f] = rows_order_;
    std::sort(sorted_[f].begin(), sorted_[f].end(), [column](uint32_t a, uint32_t b) {
      const bool a_missing = IsMissing(column[a]), b_missing = IsMissing(column[b]);
      if (a_missing != b_missing) return b_missing;
      if (!a_missing && column[a] != column[b]) return column[a] < column[b];
      return a < b;
    });
  }
}

size_t CellRows::Cut(RowRange cell, const Node& split) {
  const absl::Span<const double> column = rows_.column(split.feature);
  size_t left = 0;
  for (const uint32_t row : Rows(cell)) {
    goes_left_[row] = GoesLeft(split, column[row]) ? 1 : 0;
    left += goes_left_[row];
  }
  StablePartition(rows_order_, cell);
  for (std::vector<uint32_t>& order : sorted_) {
    if (!order.empty()) StablePartition(order, cell);
  }
  return left;
}

void CellRows::StablePartition(std::vector<uint32_t>& order, RowRange cell) {
  right_.clear();
  size_t next = cell.begin;
  for (size_t i = cell.begin; i < cell.end; ++i) {
    const uint32_t row = order[i];
    if (goes_left_[row] != 0) {
      order[next++] = row;
    } else {
      right_.push_back(row);
    }
  }
  std::copy(right_.begin(), right_.end(), order.begin() + static_cast<std::ptrdiff_t>(next));
}

// A node not yet decided: it will be cut or stay a leaf.
struct Cell {
  uint32_t node = 0;
  uint32_t depth = 0;
  RowRange rows;
  CellBox box;  // used by the edge rules
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

  StatusOr<Tree> Grow() && {
    while (!cells_.empty()) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      const Cell cell = std::move(cells_.back());
      cells_.pop_back();
      const std::optional<Split> split = FindSplit(cell);
      if (!split.has_value()) continue;
      if (nodes_.size() + 2 > kMaxNodes) {
        return InvalidArgumentError(StrCat("the partition would have more than ", kMaxNodes,
                                           " nodes: lower max_depth or raise min_leaf"));
      }
      Divide(cell, split->node);
    }
    return Tree::Create(std::move(nodes_), schema_);
  }

 private:
  std::optional<Split> FindSplit(const Cell& cell) {
    if (cell.depth == options_.max_depth || cell.rows.size() < 2) return std::nullopt;
    search_.SetCell(rows_.Rows(cell.rows));
    return options_.rule == SplitRule::kCart ? CartSplit(cell) : EdgeSplit(cell);
  }

  // Cuts one of the longest edges: the best, or a random one. An edge that cannot be cut, because a
  // side would have too few rows, keeps its length: the cell then ends here unless another edge is
  // as long. Going on along a shorter edge would give up the cubes that the rule is for.
  std::optional<Split> EdgeSplit(const Cell& cell) {
    const double longest = cell.box.longest();
    if (longest == 0) return std::nullopt;
    std::vector<Split> splits;
    for (uint32_t f = 0; f < schema_.num_features(); ++f) {
      if (cell.box.length(f) < longest - kTie) continue;
      const std::optional<Split> split = AlongEdge(cell.box, f);
      if (split.has_value()) splits.push_back(*split);
    }
    if (splits.empty()) return std::nullopt;
    if (options_.rule == SplitRule::kRandomMaxEdge) return splits[random_.Below(splits.size())];
    return Best(splits);
  }

  // Rows with a missing value are split off first if they fill a leaf of their own.
  std::optional<Split> AlongEdge(const CellBox& box, uint32_t f) {
    std::optional<Split> missing = search_.Missing(f);
    if (missing.has_value()) return missing;
    if (schema_.features()[f].type == FeatureType::kNumeric) {
      return search_.Threshold(f, box.middle(schema_, f));
    }
    return options_.rule == SplitRule::kRandomMaxEdge ? search_.MostFrequentCategory(f)
                                                      : search_.BestCategory(f);
  }

  // The largest decrease over all features. Without a decrease there is no cut.
  std::optional<Split> CartSplit(const Cell& cell) {
    std::vector<Split> splits;
    for (uint32_t f = 0; f < schema_.num_features(); ++f) {
      const bool numeric = schema_.features()[f].type == FeatureType::kNumeric;
      const std::optional<Split> by_value =
          numeric ? search_.BestThreshold(f, rows_.SortedBy(f, cell.rows))
                  : search_.BestCategory(f);
      if (by_value.has_value()) splits.push_back(*by_value);
      const std::optional<Split> missing = search_.Missing(f);
      if (missing.has_value()) splits.push_back(*missing);
    }
    if (splits.empty()) return std::nullopt;
    const Split& best = Best(splits);
    if (best.decrease <= kTie) return std::nullopt;
    return best;
  }

  // The earliest split with the largest decrease.
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

StatusOr<Tree> GrowTree(const Table& public_rows, const PartitionOptions& options,
                        PublicRandom& random, const CancelCheck& cancel) {
  return Grower(public_rows, options, random, cancel).Grow();
}

}  // namespace coppice::curator
