// LPCT-prune: lets each leaf answer with the sums of one of its ancestors.
//
// A leaf deep in the tree has little bias, but few rows and much noise; each step up doubles both
// rows and noise, roughly, and mixes regions that may have different answers. A node whose estimate
// is further from one half than its error can explain has decided its label, with high probability,
// and a larger node could only add bias: there the walk stops. If no node is that sure, the surest
// is the best guess. This is Lepski's method of choosing a bandwidth (1992) as the paper amends it
// for private noise, and like his it needs no parameter. Where noise alone could make up a private
// sum, only public rows are asked.
//
// The walk goes up from a leaf and stops at the first node whose statistic reaches 1; otherwise it
// takes the largest on the path. The statistic is the distance of the node's estimate from one
// half, over a bound on its error, with the lambda that makes it largest.
//
// The paper's bound is for the 4/epsilon Laplace pair. Here sqrt(variance of a leaf's sum per
// report / 32), which is equal for that pair, replaces 1/epsilon. A height h counts steps up from
// the leaf, and k = (depth asked for) - h, as in a full tree. In an uneven tree two leaves may
// reach one ancestor at different h; each walk uses its own.
//
// Guarantee  post-processing of randomized sums and public rows.
// Source     Ma and Yang 2024, Algorithm 2; docs/research/mechanisms.md#prune, with the deviations.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_PRUNE_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_PRUNE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "server/curator/estimation/counts/node_evidence.h"

namespace coppice::curator {

// The evidence of one node's sums for one class against the rest.
struct PruneStatistic {
  double value = 0;   // |eta - 1/2| over the bound; negative if eta < 1/2
  double lambda = 0;  // weight of a public row: 0 private only, infinity public only
};

// The sizes of the tree's two samples, and the noise scale that replaces the paper's 1/epsilon.
struct PruneSetting {
  double reports = 0;
  double public_rows = 0;
  double noise_scale = 0;
};

// The statistic of one class. `private_label` and `public_label` count its rows at the node, which
// is `height` steps above a leaf of a tree of depth `depth`.
PruneStatistic TestNode(const PruneSetting& setting, uint32_t depth, uint32_t height,
                        double private_rows, double private_label, double public_rows,
                        double public_label);

// max_depth: the depth asked of the partition, or the tree's own if that is more. The walk takes at
// most max_depth - min_depth steps, and at least one.
struct PruneDepths {
  uint32_t max_depth = 0;
  uint32_t min_depth = 1;
};

// One prediction per leaf, with source_node set.
std::vector<LeafPrediction> PruneTree(const Tree& tree, const NodeTable& nodes,
                                      const PrivateNoise& noise, PruneDepths depths);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_PRUNE_H_
