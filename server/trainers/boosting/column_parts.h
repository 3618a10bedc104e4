// Parts of what is on one side of a split, along the column that was split: runs of a numeric
// column, or categories. All of it is public, as bins are.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/schema/schema.h"
#include "common/tree/tree.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

// The run of each bin from `first` to `end`, counted from 0: at most `runs` of about even width,
// none empty. A bin is in the run that its middle is in. `feature` has the column's bounds.
std::vector<uint32_t> EvenRuns(const FeatureBins& bins, const Feature& feature, uint32_t first,
                               uint32_t end, uint32_t runs);

// How the parts, one after the other, are told apart: by the first bins of all runs but the first;
// or by categories, of which the last part has all others. One part: neither.
struct ColumnParts {
  uint32_t column = 0;
  std::vector<uint32_t> first_bins{};
  std::vector<uint32_t> categories{};

  size_t count() const { return 1 + first_bins.size() + categories.size(); }
};

// Every bin after the first that begins a run; `first` is that of run_of_bin[0].
std::vector<uint32_t> FirstBins(const std::vector<uint32_t>& run_of_bin, uint32_t first);

// Puts the questions that tell parts apart in place of the leaf `at`; missing values come to the
// first run. `part_of_node` has a place for each node: leaves get `first_part` and those after it.
void PlantParts(const ColumnParts& parts, const FeatureBins& bins, uint32_t at, uint32_t first_part,
                std::vector<Node>& nodes, std::vector<uint32_t>& part_of_node);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_COLUMN_PARTS_H_
