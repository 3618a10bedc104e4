// Minimizes a smooth convex function of a few weights, some of which must not be negative.
//
// Near the minimum the function is almost a parabola, which its Hessian describes; a Newton step
// goes straight to that parabola's minimum, and a handful of steps reach the last digit. The
// bounds need care: a weight that is 0 and that the gradient would push below it stays there and is
// left out of the step, and a step that crosses a bound stops at it. Halving a step until it
// lowers the function makes every iteration an improvement, so convexity leads to the one minimum.
//
// Guarantee  the same weights for equal input on one machine. At the result the gradient is 0 for
//            every weight above its bound, and not negative for every weight at it, up to rounding.
// Source     Bertsekas, "Projected Newton methods for optimization problems with simple
//            constraints" (1982).

#ifndef COPPICE_COMMON_PREDICTOR_WEIGHTS_H_
#define COPPICE_COMMON_PREDICTOR_WEIGHTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace coppice {

// A convex function, twice differentiable, with a positive definite Hessian.
class ConvexLoss {
 public:
  virtual ~ConvexLoss() = default;

  virtual double Value(absl::Span<const double> weights) const = 0;
  // Adds the derivatives at `weights` to `gradient` and, row by row, to `hessian`; both are 0.
  virtual void Differentiate(absl::Span<const double> weights, std::vector<double>& gradient,
                             std::vector<double>& hessian) const = 0;
};

// Returns the minimum with the first `bounded` weights at least 0, from a start that obeys this.
std::vector<double> Minimize(const ConvexLoss& loss, std::vector<double> start, size_t bounded);

// Solves a x = b in place for a positive definite matrix, row by row. Returns false, with b
// undefined, if the matrix is not positive definite up to rounding.
bool SolvePositive(std::vector<double>& a, std::vector<double>& b);

}  // namespace coppice

#endif  // COPPICE_COMMON_PREDICTOR_WEIGHTS_H_
