// The part of the public domain that a node stands for, and its possible splits.
//
// A cell is public: it follows from the bins and the splits above it, never from rows, so whether a
// feature can still be split is the same for all data.
//
// A numeric feature splits at each cut inside the cell, with missing values on the right, or into
// missing values and the rest if both are possible. A categorical feature splits into one value and
// the rest; "other" and missing are values too. A feature with no cut left, or fewer than two known
// values, is used up: "other" and missing values would have nothing to split from.

#ifndef COPPICE_SERVER_TRAINERS_CORE_CELL_H_
#define COPPICE_SERVER_TRAINERS_CORE_CELL_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/model/tree.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// A split in terms of bins. Left are the bins up to `bin` (kNumeric), the bin `bin` (kCategory), or
// the missing values (kMissing).
struct BinSplit {
  SplitKind kind = SplitKind::kLeaf;
  uint32_t feature = 0;
  uint32_t bin = 0;

  bool GoesLeft(uint32_t value) const {
    return kind == SplitKind::kNumeric ? value <= bin : value == bin;
  }
  // Converts the split to a node of a tree, without children.
  Node ToNode(const std::vector<FeatureBins>& bins) const;
};

// Threads    plain values.
class Cell {
 public:
  // Stands for the whole domain. `bins` must outlive all cells.
  explicit Cell(const std::vector<FeatureBins>& bins) : bins_(&bins) {}

  // Returns the splits of one feature, in a fixed order; none if it is used up.
  std::vector<BinSplit> Splits(uint32_t feature) const;
  bool CanSplit(uint32_t feature) const;
  // Returns the features that have a split, in order.
  std::vector<uint32_t> SplittableFeatures() const;

  Cell Left(const BinSplit& split) const;
  Cell Right(const BinSplit& split) const;

 private:
  // What is left of a feature that was split above.
  struct Part {
    uint32_t feature = 0;
    uint32_t low = 0, high = 0;        // numeric: the possible bins, both ends included
    bool missing = true;               // a missing value is possible
    bool ordinary = true;              // a value is possible
    std::vector<uint32_t> excluded{};  // categorical: impossible bins
  };

  Part PartOf(uint32_t feature) const;
  bool HasSplit(const Part& part) const;
  Cell With(Part part) const;

  const std::vector<FeatureBins>* bins_;
  std::vector<Part> parts_;  // at most one per feature
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_CELL_H_
