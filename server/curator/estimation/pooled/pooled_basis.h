// The forest and public rows in the form that the pooled estimator needs. It depends on no report,
// so one basis serves a study.
//
// Why a basis: what is known of the class margin comes in three forms, as a prior (smooth functions
// are likelier), as noisy sums in leaves, and as labels of public rows. In the rows themselves all
// three are entangled. In the eigenvectors of the rows' likeness none is: the prior is a function
// of the likeness by definition; sums that each leaf adds to its rows with equal noise have the
// likeness for their noise's covariance; and labels have the same noise at every row, which no
// rotation changes. So each coordinate can be estimated by itself, from three numbers.
//
// Rows that share leaves are alike. P = Z Z' / T is the share of trees in which two public rows are
// in one leaf (Z: rows by leaves of all T trees), with eigenvectors Q and eigenvalues lambda. A
// function on the public rows is stored by its coordinates in Q. Shapes: n public rows, r = rank().
// Columns of labels: one of +-1 for two classes, else one per class, scale() * (1{label = k} -
// 1/K); for numbers one, scale() * (place in their range - center()). The basis takes one symmetric
// eigen-decomposition: of size n up to kManyPublicRows rows, above that of the leaves of all trees,
// at most kMaxLeafBasis.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_BASIS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_BASIS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"

namespace coppice::curator {

inline constexpr size_t kMaxLeafBasis = 2048;

// values[tree][leaf]
using LeafValues = std::vector<std::vector<double>>;

// Errors     InvalidArgument: no public row, or more rows and leaves than the limits above.
// Threads    immutable after Create(); safe to share.
// Source     docs/research/mechanisms.md#pooled.
class PooledBasis {
 public:
  static StatusOr<PooledBasis> Create(const Forest& forest, const Table& public_rows);

  size_t trees() const { return rows_in_leaf_.size(); }
  size_t rows() const { return rows_; }
  size_t rank() const { return lambda_.size(); }
  // Classes, or the two ends of the numbers' range.
  uint32_t classes() const { return classes_; }
  size_t columns() const { return classes_ == 2 ? 1 : classes_; }
  // c = K / sqrt(K - 1), which gives a column of labels mean square 1 if classes are balanced. For
  // numbers: the range in standard deviations of the public ones, or kRangeDeviations if these are
  // all the same.
  double scale() const { return scale_; }
  // The value subtracted from a class's share of a row, or a number's place in its range: 1/K, or
  // the mean place of the public numbers.
  double center() const { return center_; }
  // The mean square of the devices' answers, in labels' units: 1 for classes; more for numbers,
  // which are rounded to an end.
  double answer_square() const { return answer_square_; }
  bool has_numbers() const { return has_numbers_; }

  absl::Span<const double> lambda() const { return lambda_; }  // descending
  // Public rows in each leaf.
  const LeafValues& rows_in_leaf() const { return rows_in_leaf_; }
  // The mean, over public rows and trees, of the share of public rows in the row's leaf.
  double mean_mass() const { return mean_mass_; }
  // n^2 / sum of lambda^2: the number of equal cells that would tell rows apart as well.
  double effective_cells() const;

  // Coordinates of the public labels, w[column][j], and the sum of their squares, by column.
  const std::vector<std::vector<double>>& labels() const { return labels_; }
  const std::vector<double>& label_squares() const { return label_squares_; }

  // Coordinates of the function that sums `values` over the leaves of a row: Q' Z values.
  std::vector<double> FromLeaves(const LeafValues& values) const;
  // Leaf values whose sum over the leaves of a row is the function with these coordinates.
  LeafValues ToLeaves(absl::Span<const double> coordinates) const;
  // How many public rows AtRows() evaluates: all of them, or above kManyPublicRows a sample.
  size_t rows_looked_at() const { return (rows_ + step_ - 1) / step_; }
  // Several functions at those rows: values[function * rows_looked_at() + row], from
  // coordinates[function * rank() + j].
  std::vector<double> AtRows(absl::Span<const double> coordinates) const;
  // The most that a row moves if every leaf of one tree moves by one, each to its own worst side,
  // for coordinates u_j = gains_j (Q' Z values)_j. Returns 0 above kManyPublicRows, where it would
  // take too long.
  double LargestSwing(absl::Span<const double> gains) const;
  // The mean variance of the function at the rows of each leaf, from its coordinates' variances.
  LeafValues VarianceInLeaves(absl::Span<const double> variances) const;
  // The same from the covariances of the coordinates, rank() by rank().
  LeafValues VarianceInLeavesOf(absl::Span<const double> covariances) const;
  // The leaves' weights in these coordinates: Q' Z diag(weights) Z' Q, rank() by rank().
  std::vector<double> Gram(const LeafValues& weights) const;

 private:
  PooledBasis() = default;
  void SetScale(const Table& public_rows);
  void SetLabels(const Table& public_rows);
  Status DecomposeRows();
  Status DecomposeLeaves();
  void LookAtSomeRows();
  LeafValues MeanInLeaves(absl::Span<const double> at_rows) const;
  // Q' times a function on all public rows.
  std::vector<double> FromRows(absl::Span<const double> values) const;

  size_t rows_ = 0;
  uint32_t classes_ = 0;
  bool has_numbers_ = false;
  double scale_ = 0;
  double center_ = 0;
  double answer_square_ = 1;
  std::vector<std::vector<uint32_t>> leaf_of_;  // leaf_of_[tree][row]
  LeafValues rows_in_leaf_;
  double mean_mass_ = 0;
  std::vector<double> lambda_;
  // Column by column. Up to kManyPublicRows rows: Q, rows by rank. Above: E, leaves by rank, with
  // Q = Z E / sqrt(T lambda).
  bool by_rows_ = true;
  std::vector<double> vectors_;
  std::vector<size_t> first_leaf_;  // of each tree, in E
  // Q at every step_-th row, column by column; empty up to kManyPublicRows rows, where it is Q.
  std::vector<double> some_rows_;
  size_t step_ = 1;
  std::vector<std::vector<double>> labels_;
  std::vector<double> label_squares_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_POOLED_BASIS_H_
