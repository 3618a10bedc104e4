// The part of the public domain that a node stands for, and the splits of it that there are.
//
// A cell is public: it follows from the bins and the splits above it, never from rows: whether a
// feature can still be split is the same for all data.
//
// Splits of a numeric feature are each cut inside the cell, missing values going right; and missing
// values against the rest, while both can come; those of a categorical one are one value against
// the rest, "other" and missing being values too. A feature with no cut left, or fewer than two
// known values, is used up: what "other" and missing rows would be split from is not there.

#ifndef COPPICE_SERVER_TRAINERS_CORE_CELL_H_
#define COPPICE_SERVER_TRAINERS_CORE_CELL_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/tree/tree.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// A split in terms of bins. Left are: the bins up to `bin` (kNumeric), the bin `bin` (kCategory),
// or the missing (kMissing).
struct BinSplit {
  SplitKind kind = SplitKind::kLeaf;
  uint32_t feature = 0;
  uint32_t bin = 0;

  bool GoesLeft(uint32_t value) const {
    return kind == SplitKind::kNumeric ? value <= bin : value == bin;
  }
  // The same as a node of a tree, without children.
  Node ToNode(const std::vector<FeatureBins>& bins) const;
};

// Threads    plain values.
class Cell {
 public:
  // The whole domain. `bins` must outlive all cells.
  explicit Cell(const std::vector<FeatureBins>& bins) : bins_(&bins) {}

  // Splits of one feature, in a fixed order; none if it is used up.
  std::vector<BinSplit> Splits(uint32_t feature) const;
  bool CanSplit(uint32_t feature) const;
  // The features with a split, in order.
  std::vector<uint32_t> SplittableFeatures() const;

  Cell Left(const BinSplit& split) const;
  Cell Right(const BinSplit& split) const;

 private:
  // What is left of a feature that was split above.
  struct Part {
    uint32_t feature = 0;
    uint32_t low = 0, high = 0;        // numeric: bins that can come, both ends included
    bool missing = true;               // a missing value can come
    bool ordinary = true;              // a value can come
    std::vector<uint32_t> excluded{};  // categorical: bins that cannot
  };

  Part PartOf(uint32_t feature) const;
  bool HasSplit(const Part& part) const;
  Cell With(Part part) const;

  const std::vector<FeatureBins>* bins_;
  std::vector<Part> parts_;  // at most one per feature
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_CELL_H_
