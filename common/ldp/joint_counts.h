// Arithmetic of the joint encoding: cell = leaf * classes + label; a leaf is the sum of its cells.

#ifndef COPPICE_COMMON_LDP_JOINT_COUNTS_H_
#define COPPICE_COMMON_LDP_JOINT_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ldp/local_mechanism.h"

namespace coppice {

inline size_t CellOf(LeafLabel value, const Domain& domain) {
  return size_t{value.leaf} * domain.classes + value.label;
}

// Counts computed from `estimate_of(cell)`, the unbiased estimate of one cell.
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

// Second moments of what one report adds to the estimates of cells: the variance where its row is
// not (q) and is (p), and the covariance of two cells with its row in neither (qq) or one (pq).
struct CellMoments {
  double variance_q = 0;
  double variance_p = 0;
  double covariance_qq = 0;
  double covariance_pq = 0;
};

// The noise if `noise` is the same for all cells and all pairs of cells.
inline NoiseVariance JointVariance(const Domain& domain, const CellMoments& noise) {
  const double others = domain.classes - 1;  // cells of the same leaf
  const double more = noise.variance_p - noise.variance_q;
  const double shared = noise.covariance_pq - noise.covariance_qq;
  const double leaf = more + 2 * others * shared;  // whichever cell of the leaf has the row
  return {.leaf = domain.classes * (noise.variance_q + others * noise.covariance_qq),
          .label = noise.variance_q,
          .covariance = noise.variance_q + others * noise.covariance_qq,
          .hit = {.leaf = leaf, .label = more, .covariance = more + others * shared},
          .beside = {.leaf = leaf, .label = 0, .covariance = shared}};
}

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_JOINT_COUNTS_H_
