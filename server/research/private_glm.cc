// pglm: devices report the products of their features with each other and the label; least squares
// on the sums, scaled by public features, gives the logistic regression.
//
// The scaling c solves c mean(phi''(c x'b)) = 1 over the public rows. It does not change which
// class is more probable.
//
// Choices where the text is open: the label is reduced by one half, because least squares with an
// intercept on 0 and 1 answers a probability, not a logit; delta is 1 / n^2, as in the authors'
// program; without a c that solves the equation, the nearest is taken. The authors' noise does not
// give the claim: they add noise of sqrt(n) times one device's variance to the sum of n, and the
// paper's own calibration, 32 r^4 log(2.5 / delta) / epsilon^2, is proved only for epsilon below 1.
//
// Source     Wang, Zhang, Gaboardi, Xu 2023, "Generalized linear models in non-interactive local
//            differential privacy with public data", as Ma, Yang 2024, section 7.2, use it.
// Guarantee  (epsilon, delta)-LDP by zero-concentrated privacy: between any two rows the products
//            on a grid of 2^-12 move by an L2 norm of at most sqrt(2 r^4 + r^2) plus the rounding,
//            where r^2 is 1 plus the number of features.

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/samplers.h"
#include "server/research/features.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

constexpr double kProductSteps = 4096;

// Sums the integers of all devices' products: the upper triangle of xx', then x (y - 1/2).
std::vector<int64_t> SumProducts(const Points& points, const Table& devices) {
  const size_t d = points.dimension + 1;
  std::vector<int64_t> sums(d * (d + 1) / 2 + d);
  std::vector<double> x(d, 1);
  for (size_t row = 0; row < points.size(); ++row) {
    std::copy(points.of(row).begin(), points.of(row).end(), x.begin() + 1);
    size_t at = 0;
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = i; j < d; ++j) sums[at++] += std::llround(x[i] * x[j] * kProductSteps);
    }
    const double y = devices.label(row) == 1 ? 0.5 : -0.5;
    for (size_t i = 0; i < d; ++i) sums[at++] += std::llround(x[i] * y * kProductSteps);
  }
  return sums;
}

// Returns one device's squared sensitivity, in steps of the grid.
uint64_t SquaredSensitivity(size_t features, size_t products) {
  const double r2 = 1 + static_cast<double>(features);
  const double norm = kProductSteps * std::sqrt(2 * r2 * r2 + r2) +
                      std::sqrt(static_cast<double>(products));  // each rounded by at most a half
  return static_cast<uint64_t>(std::ceil(norm * norm));
}

// Adds the devices' noises in one draw: a discrete Gaussian with the variance of their sum. Its law
// differs from the sum's by far less than 2^-60, because each device's deviation is many steps.
Status AddGaussian(uint64_t deviation, uint64_t devices, PrivateRandom& noise,
                   std::vector<int64_t>& sums) {
  const auto of_all = static_cast<uint64_t>(
      std::ceil(static_cast<double>(deviation) * std::sqrt(static_cast<double>(devices))));
  for (int64_t& sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t drawn, DiscreteGaussian(of_all, noise));
    sum += drawn;
  }
  return OkStatus();
}

Eigen::VectorXd SolveLeastSquares(const std::vector<int64_t>& sums, size_t d) {
  Eigen::MatrixXd products(d, d);
  Eigen::VectorXd with_label(d);
  size_t at = 0;
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = i; j < d; ++j) {
      products(i, j) = products(j, i) = static_cast<double>(sums[at++]);
    }
  }
  for (size_t i = 0; i < d; ++i) with_label(i) = static_cast<double>(sums[at++]);
  return products.colPivHouseholderQr().solve(with_label);
}

double LogitOf(const Eigen::VectorXd& weights, absl::Span<const double> x) {
  double logit = weights(0);
  for (size_t i = 0; i < x.size(); ++i) logit += weights(i + 1) * x[i];
  return logit;
}

// Returns the smallest c of a fine grid for which c mean(phi''(c logit)) is nearest to 1.
double FindScale(const Eigen::VectorXd& weights, const Points& public_points) {
  std::vector<double> logits;
  for (size_t i = 0; i < public_points.size(); ++i) {
    logits.push_back(LogitOf(weights, public_points.of(i)));
  }
  double best = 1, least = std::numeric_limits<double>::infinity();
  for (double c = 0.01; c < 1000; c *= 1.02) {
    double sum = 0;
    for (const double logit : logits) {
      const double half = std::cosh(std::min(std::abs(c * logit), 600.0) / 2);
      sum += 1 / (4 * half * half);
    }
    const double distance = std::abs(c * sum / static_cast<double>(logits.size()) - 1);
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

class PrivateGlm final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "pglm",
        .summary = "logistic regression from noisy products of the features",
        .source = "Wang, Zhang, Gaboardi, Xu 2023",
        .protects = "a row",
        .neighbours = "any row of a device for any other",
        .guarantee = "(epsilon, delta)-LDP, delta = 1 / n^2",
        .sampler = "discrete Gaussian; the noise of all devices in one draw, near exact",
        .setting = ""};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options, PublicRandom&,
                        PrivateRandom& noise) const override {
    const Schema& schema = rows.test_rows->schema();
    COPPICE_RETURN_IF_ERROR(CheckTwoClasses(schema));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(*rows.private_rows));
    const Scaling scaling(*rows.public_rows);
    const Points public_points = scaling.Scale(*rows.public_rows);
    const Table& devices = *rows.private_rows;
    std::vector<int64_t> sums = SumProducts(scaling.Scale(devices), devices);
    const uint64_t n = std::max<uint64_t>(devices.num_rows(), 2);
    constexpr uint64_t kAttoPerDelta = 1'000'000'000'000'000'000;
    COPPICE_ASSIGN_OR_RETURN(const Rho rho,
                             Rho::Implying(*options.epsilon, kAttoPerDelta / (n * n)));
    COPPICE_ASSIGN_OR_RETURN(const uint64_t deviation, rho.DeviationFor(SquaredSensitivity(
                                                           schema.num_features(), sums.size())));
    COPPICE_RETURN_IF_ERROR(AddGaussian(deviation, n, noise, sums));
    const Eigen::VectorXd weights = SolveLeastSquares(sums, public_points.dimension + 1);
    const double scale = FindScale(weights, public_points);
    const Points asked = scaling.Scale(*rows.test_rows);
    Answers answers(2, asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      const double p = 1 / (1 + std::exp(-scale * LogitOf(weights, asked.of(i))));
      answers.of(i)[0] = 1 - p;
      answers.of(i)[1] = p;
    }
    return answers;
  }
};

}  // namespace

const Method& Pglm() {
  static const PrivateGlm kMethod;
  return kMethod;
}

}  // namespace coppice::research
