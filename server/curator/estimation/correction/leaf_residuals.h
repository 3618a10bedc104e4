// What reports say about the errors of known probabilities, leaf by leaf.
//
// A public predictor gives every row a probability p of a class, and reports tell how much of the
// class a leaf really holds. The difference is what has to be explained: the residual of leaf l is
// the mean over all devices of 1{in l} (y - p), where y is 1 for a device of the class. Devices do
// not know p, but public rows stand for them:
//
//     r_l = (V_l - g U_l) / N  -  mean over public rows of 1{in l} (p - g)
//
// N reports estimate V_l devices of the class in the leaf and U_l devices in all. Any guess g makes
// r_l unbiased, since g leaves both terms. It decides the noise: near the leaf's true share of the
// class, what is wrong with the leaf's mass U_l cancels to first order. Where reports give margins
// only, U_l is not known and drops out for g = 1/2.
//
// Only honest rows, those that a tree was not grown on, may say what its leaves hold. A tree cuts
// where the labels of its own rows are pure, so in its leaves these rows have held-out
// probabilities that look too timid: with all rows of a leaf, reports would seem to say that the
// predictor is too sure, and make it worse (at epsilon = 4 the log loss rose by .012 on spambase
// and by .026 on robot24). The tree's own rows give the guess.
//
// The variance of r_l is that of the reports and of their devices' labels, and of the few honest
// rows, whose scatter within a leaf around g is measured over the tree.
//
// A number is a class in disguise: its device rounds it to one of the two ends of a range, so y is
// 1 for the upper end, and p the place of the expected answer between them (number_answers.h).
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Threads    plain functions and values.
// Source     docs/research/mechanisms.md#correction.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_LEAF_RESIDUALS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_LEAF_RESIDUALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

// How often each public row was drawn for each tree: bags[tree][row].
using Bags = std::vector<std::vector<uint32_t>>;

// The public rows in the leaves of all trees, whose leaves are numbered one tree after the other.
class PublicLeaves {
 public:
  // `bags` has one entry per tree of the forest and row of the table. A tree that was grown on all
  // rows has no honest one; there all rows count as honest.
  PublicLeaves(const Forest& forest, const Table& rows, const Bags& bags);

  size_t trees() const { return leaf_of_.size(); }
  size_t rows() const { return rows_; }
  size_t leaves() const { return rows_in_leaf_.size(); }
  size_t tree_of(size_t leaf) const { return tree_of_[leaf]; }
  size_t first_leaf(size_t tree) const { return first_leaf_[tree]; }
  // The leaf of every row, among the leaves of all trees.
  absl::Span<const uint32_t> leaf_of(size_t tree) const { return leaf_of_[tree]; }
  bool is_honest(size_t tree, size_t row) const { return honest_[tree][row] != 0; }
  double rows_in_leaf(size_t leaf) const { return rows_in_leaf_[leaf]; }
  double honest_rows(size_t tree) const { return honest_rows_[tree]; }

 private:
  size_t rows_ = 0;
  std::vector<std::vector<uint32_t>> leaf_of_;
  std::vector<std::vector<uint8_t>> honest_;
  std::vector<size_t> first_leaf_;
  std::vector<size_t> tree_of_;
  std::vector<double> rows_in_leaf_;
  std::vector<double> honest_rows_;
};

struct LeafResiduals {
  std::vector<double> value;     // r_l, by leaf
  std::vector<double> variance;  // of r_l, by leaf; infinite in a tree that nobody answered in
  // By row: the variance of what a row's leaves hold beside what its own probability says.
  std::vector<double> row_variance;
};

// The residuals of one output's probabilities (or places), one per public row. `counts` has one
// entry per tree, for the same leaves.
LeafResiduals ComputeResiduals(const PublicLeaves& leaves, absl::Span<const PrivateCounts> counts,
                               uint32_t output, absl::Span<const double> probabilities);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_LEAF_RESIDUALS_H_
