// Holds the evidence about the nodes of one tree, and predicts at one of them.
//
// A report is about a leaf, and every estimate is unbiased, so the sums of a node are those of its
// leaves added up, noise included. No second question to the devices is needed, and none is paid.
//
// Source     docs/research/mechanisms.md#estimator.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_NODE_EVIDENCE_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_NODE_EVIDENCE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

// Sums over the leaves below one node. Borrows from NodeTable.
struct NodeEvidence {
  double private_rows = 0;                 // estimated; may be negative
  absl::Span<const double> private_label;  // one per class
  double public_rows = 0;
  absl::Span<const double> public_label;  // one per class
  double leaves = 0;                      // below the node; 1 if it is a leaf
};

// NodeEvidence for every node of a tree. The counts must have the tree's shape.
class NodeTable {
 public:
  NodeTable(const Tree& tree, const LeafCounts& private_counts, const PublicCounts& public_counts);

  NodeEvidence at(uint32_t node) const;

 private:
  void AddToParent(uint32_t node, uint32_t parent);

  size_t classes_;
  std::vector<double> private_rows_, private_label_, public_rows_, public_label_, leaves_;
};

// The noise in one tree's private counts per report and leaf (one NoiseVariance per class), and the
// number of reports.
struct PrivateNoise {
  absl::Span<const NoiseVariance> variance;
  double reports = 0;
};

// (private + lambda * public) at one node: probabilities, label and standard error.
LeafPrediction PredictNode(const NodeEvidence& evidence, const PrivateNoise& noise, double lambda);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_NODE_EVIDENCE_H_
