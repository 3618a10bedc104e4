#include "server/curator/partition/cell_box.h"

#include <algorithm>

#include "server/curator/partition/split_search.h"

namespace coppice::curator {
namespace {

double CategoryLength(size_t remaining, size_t all) {
  return remaining > 1 ? static_cast<double>(remaining) / static_cast<double>(all) : 0;
}

}  // namespace

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

double CellBox::middle(size_t feature) const {
  return Midpoint(edges_[feature].low, edges_[feature].high);
}

}  // namespace coppice::curator
