#include "server/curator/estimation/pooled/symmetric_eigen.h"

#include <lapacke.h>

#include <utility>

// OpenBLAS's own function; null with another BLAS.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));

namespace coppice::curator {

void KeepBlasOnTheCaller() {
  if (openblas_set_num_threads == nullptr) return;
  [[maybe_unused]] static const bool is_set = (openblas_set_num_threads(1), true);
}

// LAPACK's divide and conquer takes a third of the time of Eigen's solver.
StatusOr<Eigenvectors> DecomposeSymmetric(Eigen::MatrixXd matrix) {
  const auto size = static_cast<lapack_int>(matrix.rows());
  Eigen::VectorXd values(size);  // ascending
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, matrix.data(), size, values.data()) != 0) {
    return InternalError("the eigen-decomposition of the forest did not converge");
  }
  Eigenvectors result;
  const double least = kMinLambda * values[size - 1];
  for (Eigen::Index j = size; j-- > 0 && values[j] >= least;) {
    result.values.push_back(values[j]);
    const auto column = matrix.col(j);
    result.vectors.insert(result.vectors.end(), column.begin(), column.end());
  }
  return result;
}

}  // namespace coppice::curator
