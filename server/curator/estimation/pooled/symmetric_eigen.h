// Eigenvectors of the large symmetric matrices of this room, which alone includes this file.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_SYMMETRIC_EIGEN_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_SYMMETRIC_EIGEN_H_

#include <vector>

#include "Eigen/Dense"
#include "common/base/status.h"

namespace coppice::curator {

// Directions with less than this of the largest eigenvalue carry rounding errors only: a prior
// whose variance goes with the eigenvalue's square gives them less than 10^-12 of its largest.
inline constexpr double kMinLambda = 1e-6;

// The eigenvectors with large enough eigenvalues, largest first, column by column.
struct Eigenvectors {
  std::vector<double> values;
  std::vector<double> vectors;
};

// Error      Internal if LAPACK does not converge.
StatusOr<Eigenvectors> DecomposeSymmetric(Eigen::MatrixXd matrix);

// Studies are fitted in parallel with each other and with calls, so BLAS threads would compete.
void KeepBlasOnTheCaller();

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_POOLED_SYMMETRIC_EIGEN_H_
