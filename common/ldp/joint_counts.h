// The joint encoding's arithmetic: cell = leaf * classes + label, a leaf is the sum of its cells.

#ifndef COPPICE_COMMON_LDP_JOINT_COUNTS_H_
#define COPPICE_COMMON_LDP_JOINT_COUNTS_H_

#include <cstddef>
#include <cstdint>

#include "common/ldp/local_mechanism.h"

namespace coppice {

inline size_t CellOf(LeafLabel value, const Domain& domain) {
  return size_t{value.leaf} * domain.classes + value.label;
}

// Counts from `estimate_of(cell)`, the unbiased estimate of one cell.
template <typename EstimateOf>
LeafCounts JointCounts(const Domain& domain, EstimateOf estimate_of) {
  LeafCounts counts{.classes = domain.classes,
                    .leaf = std::vector<double>(domain.leaves),
                    .label = std::vector<double>(domain.cells())};
  for (size_t cell = 0; cell < counts.label.size(); ++cell) {
    counts.label[cell] = estimate_of(cell);
    counts.leaf[cell / domain.classes] += counts.label[cell];
  }
  return counts;
}

// From the variance of one cell that the reporting row is not in, and what being in it adds.
inline NoiseVariance JointVariance(const Domain& domain, double cell, double hit) {
  return {.leaf = domain.classes * cell, .label = cell, .covariance = cell, .hit = hit};
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_JOINT_COUNTS_H_
