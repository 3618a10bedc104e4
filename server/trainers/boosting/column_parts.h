// Parts of one side of a split, along the split column: runs of a numeric column, or categories.
// All of it is public, as bins are.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// Returns the run of each bin from `first` to `end`, counted from 0: at most `runs` of about even
// width, none empty. A bin belongs to the run that contains its middle. `feature` has the bounds.
std::vector<uint32_t> EvenRuns(const FeatureBins& bins, const Feature& feature, uint32_t first,
                               uint32_t end, uint32_t runs);

// What tells the parts apart, one after the other: the first bins of all runs but the first; or the
// categories, where one more part has all others. A single part has neither.
struct ColumnParts {
  uint32_t column = 0;
  std::vector<uint32_t> first_bins{};
  std::vector<uint32_t> categories{};

  size_t count() const { return 1 + first_bins.size() + categories.size(); }
};

// Returns every bin after the first that begins a run; `first` is the bin of run_of_bin[0].
std::vector<uint32_t> FirstBins(const std::vector<uint32_t>& run_of_bin, uint32_t first);

// Replaces the leaf `at` by the questions that tell parts apart; missing values go to the first
// run. `part_of_node` has an entry per node: leaves get `first_part` and the following numbers.
void PlantParts(const ColumnParts& parts, const FeatureBins& bins, uint32_t at, uint32_t first_part,
                std::vector<Node>& nodes, std::vector<uint32_t>& part_of_node);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_
