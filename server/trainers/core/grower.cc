#include "server/trainers/core/grower.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

// A node while the tree grows. Its rows are rows[begin] to rows[end].
struct PartialNode {
  BinSplit split;
  size_t begin = 0, end = 0;
  uint32_t left = 0, right = 0;
};

struct OpenNode {
  uint32_t node = 0;
  Cell cell;
};

class Grower {
 public:
  Grower(const BinnedRows& all, std::vector<uint32_t> rows, SplitChooser& chooser)
      : all_(all), rows_(std::move(rows)), scratch_(rows_.size()), chooser_(chooser) {}

  Status Grow(uint32_t depth) {
    nodes_.push_back({.split = {}, .begin = 0, .end = rows_.size()});
    std::vector<OpenNode> open = {{.node = 0, .cell = Cell(all_.bins())}};
    for (uint32_t level = 0; level < depth; ++level) {
      std::vector<OpenNode> next;
      for (const OpenNode& parent : open) {
        COPPICE_RETURN_IF_ERROR(Split(parent, level, next));
      }
      open = std::move(next);
    }
    return OkStatus();
  }

  // Leaves from left to right have their rows from left to right.
  StatusOr<GrownTree> Finish(const Schema& schema) && {
    std::vector<Node> nodes;
    std::vector<size_t> begin;
    for (const PartialNode& node : nodes_) {
      nodes.push_back(node.split.kind == SplitKind::kLeaf ? Node{}
                                                          : node.split.ToNode(all_.bins()));
      nodes.back().left = node.left;
      nodes.back().right = node.right;
      if (node.split.kind == SplitKind::kLeaf) begin.push_back(node.begin);
    }
    COPPICE_ASSIGN_OR_RETURN(Tree tree, Tree::Create(std::move(nodes), schema));
    // Empty leaves share their begin with the next leaf, so sorting keeps the order.
    std::sort(begin.begin(), begin.end());
    begin.push_back(rows_.size());
    return GrownTree{.tree = std::move(tree), .rows = std::move(rows_), .begin = std::move(begin)};
  }

 private:
  Status Split(const OpenNode& parent, uint32_t level, std::vector<OpenNode>& next) {
    const size_t begin = nodes_[parent.node].begin, end = nodes_[parent.node].end;
    COPPICE_ASSIGN_OR_RETURN(
        const std::optional<BinSplit> split,
        chooser_.Choose({.cell = parent.cell,
                         .all = all_,
                         .rows = absl::MakeConstSpan(rows_).subspan(begin, end - begin)},
                        level));
    if (!split) return OkStatus();
    const size_t middle = Partition(begin, end, *split);
    const auto left = static_cast<uint32_t>(nodes_.size());
    nodes_[parent.node].split = *split;
    nodes_[parent.node].left = left;
    nodes_[parent.node].right = left + 1;
    nodes_.push_back({.split = {}, .begin = begin, .end = middle});
    nodes_.push_back({.split = {}, .begin = middle, .end = end});
    next.push_back({.node = left, .cell = parent.cell.Left(*split)});
    next.push_back({.node = left + 1, .cell = parent.cell.Right(*split)});
    return OkStatus();
  }

  // Moves the rows that go left to the front, in order; returns where the others begin.
  size_t Partition(size_t begin, size_t end, const BinSplit& split) {
    const BinColumn& column = all_.column(split.feature);
    size_t left = begin, right = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = rows_[i];
      const bool goes_left = split.GoesLeft(column[row]);
      rows_[left] = row;
      scratch_[right] = row;
      left += goes_left ? 1 : 0;
      right += goes_left ? 0 : 1;
    }
    std::copy_n(scratch_.begin(), right, rows_.begin() + static_cast<std::ptrdiff_t>(left));
    return left;
  }

  const BinnedRows& all_;
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> scratch_;
  SplitChooser& chooser_;
  std::vector<PartialNode> nodes_;
};

// Repeats a tree's choices, node by node, in the order in which GrowTree() asks: level by level.
class Replay final : public SplitChooser {
 public:
  Replay(const Tree& tree, const std::vector<FeatureBins>& bins) : tree_(tree), bins_(bins) {}

  StatusOr<std::optional<BinSplit>> Choose(const NodeRows&, uint32_t level) override {
    if (level != level_) {
      level_ = level;
      open_ = std::move(next_);
      next_.clear();
      at_ = 0;
    }
    const Node& node = tree_.nodes()[open_[at_++]];
    if (node.kind == SplitKind::kLeaf) return std::nullopt;
    next_.push_back(node.left);
    next_.push_back(node.right);
    return SplitOf(node);
  }

 private:
  BinSplit SplitOf(const Node& node) const {
    const FeatureBins& bins = bins_[node.feature];
    BinSplit split{.kind = node.kind, .feature = node.feature};
    if (node.kind == SplitKind::kMissing) split.bin = bins.missing();
    if (node.kind == SplitKind::kCategory) split.bin = static_cast<uint32_t>(node.threshold);
    if (node.kind == SplitKind::kNumeric) {
      split.bin = static_cast<uint32_t>(
          std::lower_bound(bins.cuts.begin(), bins.cuts.end(), node.threshold) - bins.cuts.begin());
    }
    return split;
  }

  const Tree& tree_;
  const std::vector<FeatureBins>& bins_;
  uint32_t level_ = 0;
  std::vector<uint32_t> open_ = {0}, next_;
  size_t at_ = 0;
};

}  // namespace

StatusOr<GrownTree> GrowTree(const Schema& schema, const BinnedRows& all,
                             std::vector<uint32_t> rows, uint32_t depth, SplitChooser& chooser) {
  Grower grower(all, std::move(rows), chooser);
  COPPICE_RETURN_IF_ERROR(grower.Grow(depth));
  return std::move(grower).Finish(schema);
}

StatusOr<GrownTree> FillTree(const Schema& schema, const Tree& tree, const BinnedRows& all,
                             std::vector<uint32_t> rows) {
  Replay replay(tree, all.bins());
  return GrowTree(schema, all, std::move(rows), tree.depth(), replay);
}

}  // namespace coppice::trainers
