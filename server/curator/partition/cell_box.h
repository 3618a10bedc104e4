// The shape of a cell under the max-edge rules: how long each of its edges still is, and where the
// next cut along an edge would be.
//
// Numeric    length 1 at the root, the box of the public rows; a cut at the midpoint halves it.
// Category   length 1 at the root, for all categories of the vocabulary and "other"; after a cut of
//            one category the rest keep (remaining categories) / (all categories). 0 once a single
//            category can be left, as on the side of "equal".
// Missing    a cut into missing | present does not shorten the edge of "present"; on the other side
//            there is nothing left to cut.
// A feature whose public rows have one value, or none, has length 0 from the start.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_CELL_BOX_H_
#define COPPICE_SERVER_CURATOR_PARTITION_CELL_BOX_H_

#include <cstddef>
#include <vector>

#include "common/data/table.h"
#include "common/tree/tree.h"

namespace coppice::curator {

class CellBox {
 public:
  explicit CellBox(const Table& public_rows);

  // The cell's shape after `split`, on its left or its right.
  CellBox After(const Node& split, bool left, const Schema& schema) const;

  double length(size_t feature) const { return edges_[feature].length; }
  double longest() const;

  // Numeric features with length > 0.
  double middle(size_t feature) const;

 private:
  struct Edge {
    double length = 0;
    double low = 0;  // numeric
    double high = 0;
    size_t categories = 0;  // that can still occur
  };

  std::vector<Edge> edges_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_CELL_BOX_H_
