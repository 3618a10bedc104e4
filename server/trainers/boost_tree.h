// One tree of a boosted model: grown on the records' residuals, with a value at every node.
//
// Residuals  what a record asks for, a function of the record and released values alone, on a fixed
//            grid of 2^-20: one signed number (two classes, regression), or one a class. Their
//            bounds are the ResidualKind's.
// Split      score u = sum over the children and outputs of |sum of residuals|: a record's are in
//            one child, so u moves by at most the L1 norm of its residuals, either way.
// Measured   sums of the positive and of the negative parts of every child, so that the next level
//            asks for what is left.
// Guarantee  a level costs its share: selection and measurement of its nodes (levels of a tree
//            divide the rows; docs/mechanisms.md#levels). The candidates are the same for all nodes
//            and all data; that of a split into all categories at once depends on the number of
//            nodes, which is released.
// Source     docs/mechanisms.md#boosting.

#ifndef COPPICE_SERVER_TRAINERS_BOOST_TREE_H_
#define COPPICE_SERVER_TRAINERS_BOOST_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/tree/tree.h"
#include "server/trainers/bins.h"
#include "server/trainers/releaser.h"

namespace coppice {

inline constexpr int64_t kResidualUnit = int64_t{1} << 20;

// What residuals can be.
struct ResidualKind {
  uint32_t outputs = 1;
  // Regression: a record counts `whole` in the sums of its child, (whole + r) / 2 to the positive
  // and (whole - r) / 2 to the negative part; 0: |r| to the part of its sign.
  int64_t whole = 0;
  uint64_t range = 0;        // of selections
  uint64_t sensitivity = 0;  // of measurements, L1
  double multiway = 0;       // reduction of a split into B children, in (B - 2) noise scales
};

// Residuals of all rows: values[output][row].
using Residuals = std::vector<std::vector<int32_t>>;

// What was measured in a child: noisy sums of the positive and negative parts, one an output, and
// the scale of their noise.
struct Measured {
  absl::Span<const int64_t> positive, negative;
  double scale = 0;
};

struct BoostTree {
  Tree tree;
  std::vector<std::vector<double>> scores;  // scores[leaf][output]: the values on its path, summed
};

// Grows one tree with one share a level. Before each level `residuals` fills in what rows ask for;
// `value` turns a measurement into the value of a node, one an output; `add` is told which child
// each row went to, with the children's values, so that the rows' scores are what predictions will
// be.
struct BoostSteps {
  absl::FunctionRef<void(Residuals& residuals)> residuals;
  absl::FunctionRef<void(const Measured& measured, absl::Span<double> value)> value;
  absl::FunctionRef<void(absl::Span<const uint32_t> child_of_row,
                         const std::vector<std::vector<double>>& values)>
      add;
};

struct LevelShares {
  Share select;
  Share measure;
};

absl::StatusOr<BoostTree> GrowBoostTree(const Schema& tree_schema, const BinnedRows& rows,
                                        const ResidualKind& kind,
                                        absl::Span<const LevelShares> levels,
                                        const BoostSteps& steps, Releaser& releaser);

}  // namespace coppice

#endif  // COPPICE_SERVER_TRAINERS_BOOST_TREE_H_
