#include "server/curator/estimation/pooled/pooled_basis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "Eigen/Dense"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/estimation/pooled/symmetric_eigen.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Above kManyPublicRows, functions are evaluated at this many rows, evenly spaced. They serve for
// forecasts and standard errors, which more rows would hardly change; memory and time grow with
// their product with the rank.
constexpr size_t kRowsLookedAt = 1200;

Eigen::Map<const MatrixXd> Matrix(const std::vector<double>& values, size_t columns) {
  const auto rows = static_cast<Eigen::Index>(columns == 0 ? 0 : values.size() / columns);
  return {values.data(), rows, static_cast<Eigen::Index>(columns)};
}

Eigen::Map<const VectorXd> Vector(absl::Span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

std::vector<double> Copy(const VectorXd& values) {
  return std::vector<double>(values.begin(), values.end());
}

Status Decompose(MatrixXd matrix, std::vector<double>& lambda, std::vector<double>& vectors) {
  COPPICE_ASSIGN_OR_RETURN(Eigenvectors found, DecomposeSymmetric(std::move(matrix)));
  lambda = std::move(found.values);
  vectors = std::move(found.vectors);
  return OkStatus();
}

// Adds a leaf's weight wherever two rows share it.
void AddShared(const std::vector<uint32_t>& leaf_of, const std::vector<double>& weights,
               MatrixXd& shared) {
  std::vector<std::vector<Eigen::Index>> members(weights.size());
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    members[leaf_of[i]].push_back(static_cast<Eigen::Index>(i));
  }
  for (size_t leaf = 0; leaf < members.size(); ++leaf) {
    for (const Eigen::Index a : members[leaf]) {
      for (const Eigen::Index b : members[leaf]) shared(b, a) += weights[leaf];
    }
  }
}

LeafValues EmptyLike(const LeafValues& other) {
  LeafValues values(other.size());
  for (size_t t = 0; t < other.size(); ++t) values[t].resize(other[t].size(), 0);
  return values;
}

}  // namespace

StatusOr<PooledBasis> PooledBasis::Create(const Forest& forest, const Table& public_rows) {
  if (public_rows.num_rows() == 0) {
    return InvalidArgumentError("the pooled estimator needs at least one public row");
  }
  KeepBlasOnTheCaller();
  PooledBasis basis;
  basis.rows_ = public_rows.num_rows();
  basis.classes_ = public_rows.schema().num_outputs();
  basis.SetScale(public_rows);
  for (const Tree& tree : forest) {
    basis.leaf_of_.push_back(FindLeaves(tree, public_rows));
    std::vector<double>& rows = basis.rows_in_leaf_.emplace_back(tree.num_leaves(), 0);
    for (const uint32_t leaf : basis.leaf_of_.back()) rows[leaf] += 1;
    // Each of a leaf's u rows shares the leaf with u rows.
    for (const double u : rows) basis.mean_mass_ += u * u;
  }
  const auto n = static_cast<double>(basis.rows_);
  basis.mean_mass_ /= n * n * static_cast<double>(forest.size());
  basis.by_rows_ = basis.rows_ <= kManyPublicRows;
  COPPICE_RETURN_IF_ERROR(basis.by_rows_ ? basis.DecomposeRows() : basis.DecomposeLeaves());
  if (!basis.by_rows_) basis.LookAtSomeRows();
  basis.SetLabels(public_rows);
  return basis;
}

Status PooledBasis::DecomposeRows() {
  const auto n = static_cast<Eigen::Index>(rows_);
  MatrixXd shared = MatrixXd::Zero(n, n);
  for (size_t t = 0; t < trees(); ++t) {
    AddShared(leaf_of_[t], std::vector<double>(rows_in_leaf_[t].size(), 1), shared);
  }
  shared /= static_cast<double>(trees());
  return Decompose(std::move(shared), lambda_, vectors_);
}

// The likeness of n rows is Z Z' / T. Where rows are many and leaves few, its eigenvectors are had
// from the small matrix Z' Z / T (leaves by leaves), which has the same eigenvalues: if E are its
// eigenvectors, those of the large one are Z E / sqrt(T lambda).
Status PooledBasis::DecomposeLeaves() {
  size_t leaves = 0;
  for (const std::vector<double>& of_tree : rows_in_leaf_) {
    first_leaf_.push_back(leaves);
    leaves += of_tree.size();
  }
  if (leaves > kMaxLeafBasis) {
    return InvalidArgumentError(
        StrCat("the pooled estimator handles at most ", kMaxLeafBasis,
               " leaves in total with more than ", kManyPublicRows, " public rows; there are ",
               leaves, ": let the size of the forest be chosen, or limit its trees and leaves"));
  }
  const auto size = static_cast<Eigen::Index>(leaves);
  MatrixXd shared = MatrixXd::Zero(size, size);
  std::vector<Eigen::Index> mine(trees());
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t t = 0; t < trees(); ++t) {
      mine[t] = static_cast<Eigen::Index>(first_leaf_[t] + leaf_of_[t][i]);
    }
    for (const Eigen::Index a : mine) {
      for (const Eigen::Index b : mine) shared(b, a) += 1;
    }
  }
  shared /= static_cast<double>(trees());
  return Decompose(std::move(shared), lambda_, vectors_);
}

void PooledBasis::SetScale(const Table& public_rows) {
  const double classes = classes_;
  scale_ = classes / std::sqrt(classes - 1);
  center_ = 1 / classes;
  has_numbers_ = public_rows.schema().target().has_value();
  if (!has_numbers_) return;
  center_ = MeanPlace(public_rows);
  const double deviation = PlaceDeviation(public_rows);
  // In these units public numbers have variance 1, as labels of balanced classes do, so that one
  // grid of priors serves both. Equal public numbers have no unit of their own.
  const double deviations = deviation > 0 ? 1 / deviation : kRangeDeviations;
  answer_square_ = std::pow(deviations / scale_, 2);
  scale_ = deviations;
}

void PooledBasis::SetLabels(const Table& public_rows) {
  std::vector<double> y(rows_);
  for (size_t k = 0; k < columns(); ++k) {
    const auto of_class = static_cast<uint32_t>(columns() == 1 ? 1 : k);
    double squares = 0;
    for (size_t i = 0; i < rows_; ++i) {
      y[i] = scale() * (OutputShare(public_rows, i, of_class) - center_);
      squares += y[i] * y[i];
    }
    labels_.push_back(FromRows(y));
    label_squares_.push_back(squares);
  }
}

double PooledBasis::effective_cells() const {
  const auto n = static_cast<double>(rows_);
  return n * n / std::inner_product(lambda_.begin(), lambda_.end(), lambda_.begin(), 0.0);
}

std::vector<double> PooledBasis::FromRows(absl::Span<const double> values) const {
  if (by_rows_) return Copy(Matrix(vectors_, rank()).transpose() * Vector(values));
  // Q' y = E' (leaf sums of y) / sqrt(T lambda)
  LeafValues sums = EmptyLike(rows_in_leaf_);
  for (size_t t = 0; t < trees(); ++t) {
    for (size_t i = 0; i < rows_; ++i) sums[t][leaf_of_[t][i]] += values[i];
  }
  std::vector<double> result = FromLeaves(sums);
  for (size_t j = 0; j < rank(); ++j) result[j] /= static_cast<double>(trees()) * lambda_[j];
  return result;
}

std::vector<double> PooledBasis::FromLeaves(const LeafValues& values) const {
  if (by_rows_) {
    std::vector<double> at_rows(rows_, 0);
    for (size_t t = 0; t < trees(); ++t) {
      for (size_t i = 0; i < rows_; ++i) at_rows[i] += values[t][leaf_of_[t][i]];
    }
    return FromRows(at_rows);
  }
  // Q' Z values = sqrt(T lambda) E' values
  std::vector<double> all;
  for (const std::vector<double>& of_tree : values) {
    all.insert(all.end(), of_tree.begin(), of_tree.end());
  }
  std::vector<double> result = Copy(Matrix(vectors_, rank()).transpose() * Vector(all));
  for (size_t j = 0; j < rank(); ++j) {
    result[j] *= std::sqrt(static_cast<double>(trees()) * lambda_[j]);
  }
  return result;
}

// A function of the basis is a sum of leaf values over the trees, since P Q = Q lambda: by rows,
// Q theta = P (Q theta / lambda) = Z (Z' Q theta / (T lambda)). This is what makes the estimate an
// ordinary forest, which also answers for rows that are not public.
LeafValues PooledBasis::ToLeaves(absl::Span<const double> coordinates) const {
  LeafValues values = EmptyLike(rows_in_leaf_);
  const auto num_trees = static_cast<double>(trees());
  VectorXd scaled(static_cast<Eigen::Index>(rank()));
  for (size_t j = 0; j < rank(); ++j) {
    const double divisor = by_rows_ ? lambda_[j] * num_trees : std::sqrt(num_trees * lambda_[j]);
    scaled[static_cast<Eigen::Index>(j)] = coordinates[j] / divisor;
  }
  const VectorXd result = Matrix(vectors_, rank()) * scaled;
  for (size_t t = 0; t < trees(); ++t) {
    if (by_rows_) {
      for (size_t i = 0; i < rows_; ++i) {
        values[t][leaf_of_[t][i]] += result[static_cast<Eigen::Index>(i)];
      }
      continue;
    }
    for (size_t leaf = 0; leaf < values[t].size(); ++leaf) {
      values[t][leaf] = result[static_cast<Eigen::Index>(first_leaf_[t] + leaf)];
    }
  }
  return values;
}

void PooledBasis::LookAtSomeRows() {
  step_ = (rows_ + kRowsLookedAt - 1) / kRowsLookedAt;
  const Eigen::Map<const MatrixXd> vectors = Matrix(vectors_, rank());
  const auto size = static_cast<Eigen::Index>(rows_looked_at());
  MatrixXd q = MatrixXd::Zero(size, vectors.cols());
  for (Eigen::Index s = 0; s < size; ++s) {
    const size_t row = static_cast<size_t>(s) * step_;
    for (size_t t = 0; t < trees(); ++t) {
      q.row(s) += vectors.row(static_cast<Eigen::Index>(first_leaf_[t] + leaf_of_[t][row]));
    }
  }
  for (Eigen::Index j = 0; j < q.cols(); ++j) {
    q.col(j) /= std::sqrt(static_cast<double>(trees()) * lambda_[static_cast<size_t>(j)]);
  }
  some_rows_.assign(q.data(), q.data() + q.size());
}

std::vector<double> PooledBasis::AtRows(absl::Span<const double> coordinates) const {
  const auto functions = static_cast<Eigen::Index>(coordinates.size() / rank());
  const Eigen::Map<const MatrixXd> theta(coordinates.data(), static_cast<Eigen::Index>(rank()),
                                         functions);
  const MatrixXd values = Matrix(by_rows_ ? vectors_ : some_rows_, rank()) * theta;
  return std::vector<double>(values.data(), values.data() + values.size());
}

double PooledBasis::LargestSwing(absl::Span<const double> gains) const {
  if (!by_rows_) return 0;
  const Eigen::Map<const MatrixXd> q = Matrix(vectors_, rank());
  const MatrixXd moved = q * Vector(gains).asDiagonal() * q.transpose();
  double largest = 0;
  std::vector<double> of_leaf;
  for (Eigen::Index i = 0; i < moved.rows(); ++i) {
    for (size_t t = 0; t < trees(); ++t) {
      of_leaf.assign(rows_in_leaf_[t].size(), 0);
      for (size_t other = 0; other < rows_; ++other) {
        of_leaf[leaf_of_[t][other]] += moved(static_cast<Eigen::Index>(other), i);
      }
      double swing = 0;
      for (const double value : of_leaf) swing += std::abs(value);
      largest = std::max(largest, swing);
    }
  }
  return largest;
}

LeafValues PooledBasis::VarianceInLeaves(absl::Span<const double> variances) const {
  const Eigen::Map<const MatrixXd> q = Matrix(by_rows_ ? vectors_ : some_rows_, rank());
  return MeanInLeaves(Copy(q.cwiseAbs2() * Vector(variances)));
}

LeafValues PooledBasis::VarianceInLeavesOf(absl::Span<const double> covariances) const {
  const Eigen::Map<const MatrixXd> q = Matrix(by_rows_ ? vectors_ : some_rows_, rank());
  const auto size = static_cast<Eigen::Index>(rank());
  const Eigen::Map<const MatrixXd> covariance(covariances.data(), size, size);
  return MeanInLeaves(Copy((q * covariance).cwiseProduct(q).rowwise().sum()));
}

// Averages over the rows that AtRows() evaluates.
LeafValues PooledBasis::MeanInLeaves(absl::Span<const double> at_rows) const {
  const double mean = Vector(at_rows).mean();
  LeafValues total = EmptyLike(rows_in_leaf_);
  LeafValues rows = total;
  for (size_t t = 0; t < trees(); ++t) {
    for (size_t s = 0; s < at_rows.size(); ++s) {
      const uint32_t leaf = leaf_of_[t][s * step_];
      total[t][leaf] += at_rows[s];
      rows[t][leaf] += 1;
    }
    for (size_t leaf = 0; leaf < total[t].size(); ++leaf) {
      // A leaf without such a row gets the mean uncertainty of all rows.
      total[t][leaf] = rows[t][leaf] > 0 ? total[t][leaf] / rows[t][leaf] : mean;
    }
  }
  return total;
}

std::vector<double> PooledBasis::Gram(const LeafValues& weights) const {
  const auto size = static_cast<Eigen::Index>(rank());
  const Eigen::Map<const MatrixXd> vectors = Matrix(vectors_, rank());
  MatrixXd gram;
  if (by_rows_) {
    const auto n = static_cast<Eigen::Index>(rows_);
    MatrixXd shared = MatrixXd::Zero(n, n);
    for (size_t t = 0; t < trees(); ++t) AddShared(leaf_of_[t], weights[t], shared);
    gram = vectors.transpose() * shared * vectors;
  } else {
    // Q' Z = sqrt(T lambda) E'
    VectorXd all(vectors.rows());
    for (size_t t = 0; t < trees(); ++t) {
      for (size_t leaf = 0; leaf < weights[t].size(); ++leaf) {
        all[static_cast<Eigen::Index>(first_leaf_[t] + leaf)] = weights[t][leaf];
      }
    }
    VectorXd scale(size);
    for (size_t j = 0; j < rank(); ++j) {
      scale[static_cast<Eigen::Index>(j)] = std::sqrt(static_cast<double>(trees()) * lambda_[j]);
    }
    gram = scale.asDiagonal() * (vectors.transpose() * all.asDiagonal() * vectors) *
           scale.asDiagonal();
  }
  return std::vector<double>(gram.data(), gram.data() + gram.size());
}

}  // namespace coppice::curator
