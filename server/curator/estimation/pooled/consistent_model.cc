#include "server/curator/estimation/pooled/consistent_model.h"

#include <cmath>
#include <map>
#include <utility>

#include "Eigen/Dense"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/pooled/pooled_model.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Up to this rank all directions are decomposed; above it, those that hold kHeld of the prior.
constexpr Index kFullRank = 320;
constexpr double kHeld = 0.98;
// Settings with less weight than this are left out of the variance.
constexpr double kNegligibleWeight = 1e-6;

// The reports in the basis' coordinates.
struct Information {
  MatrixXd w;
  MatrixXd pull;  // one column per label column
};

// Rows expected in a leaf for each public row; 0 without public rows or without variance.
double RowsPerPublicRow(const PooledBasis& basis, const ConsistentReports& reports, size_t tree,
                        size_t leaf) {
  const double public_rows = basis.rows_in_leaf()[tree][leaf];
  const bool counts = public_rows > 0 && reports.variance[tree][leaf] > 0;
  return counts ? reports.rows[tree][leaf] / public_rows : 0;
}

// e^2 / (U^2 V).
LeafValues InformationOfLeaves(const PooledBasis& basis, const ConsistentReports& reports) {
  LeafValues weights = reports.rows;
  for (size_t t = 0; t < weights.size(); ++t) {
    for (size_t leaf = 0; leaf < weights[t].size(); ++leaf) {
      const double per_row = RowsPerPublicRow(basis, reports, t, leaf);
      weights[t][leaf] = per_row > 0 ? per_row * per_row / reports.variance[t][leaf] : 0;
    }
  }
  return weights;
}

Information ReadInformation(const PooledBasis& basis, const ConsistentReports& reports) {
  const LeafValues weights = InformationOfLeaves(basis, reports);
  std::vector<LeafValues> pulls = reports.margins;
  for (size_t t = 0; t < weights.size(); ++t) {
    for (size_t leaf = 0; leaf < weights[t].size(); ++leaf) {
      const double per_row = RowsPerPublicRow(basis, reports, t, leaf);
      for (LeafValues& pull : pulls) {
        pull[t][leaf] *= per_row > 0 ? per_row / reports.variance[t][leaf] : 0;
      }
    }
  }
  const auto rank = static_cast<Index>(basis.rank());
  Information information;
  const std::vector<double> gram = basis.Gram(weights);
  information.w = Eigen::Map<const MatrixXd>(gram.data(), rank, rank);
  information.pull.setZero(rank, static_cast<Index>(basis.columns()));
  for (size_t k = 0; k < pulls.size(); ++k) {
    const std::vector<double> pull = basis.FromLeaves(pulls[k]);
    information.pull.col(static_cast<Index>(k)) = Eigen::Map<const VectorXd>(pull.data(), rank);
  }
  return information;
}

// The trace of P W.
double EquivalentRows(const PooledBasis& basis, const Information& information) {
  double rows = 0;
  for (Index j = 0; j < information.w.rows(); ++j) {
    rows += basis.lambda()[static_cast<size_t>(j)] * information.w(j, j);
  }
  return rows;
}

// The reports' part of the posterior in the leading directions, for one error of the masses.
struct Blurred {
  Eigen::LLT<MatrixXd> root;  // of I + zeta W
  MatrixXd precision;         // G
  MatrixXd pull;
  double log_likelihood = 0;  // of all columns
};

Blurred Blur(const Information& information, double zeta, Index directions) {
  const Index rank = information.w.rows();
  Blurred blurred;
  const Eigen::LLT<MatrixXd>& root =
      blurred.root.compute(MatrixXd::Identity(rank, rank) + zeta * information.w);
  blurred.precision = root.solve(information.w).topLeftCorner(directions, directions);
  blurred.precision = (blurred.precision + blurred.precision.transpose()).eval() / 2;
  const MatrixXd pull = root.solve(information.pull);
  blurred.pull = pull.topRows(directions);
  const double log_root = root.matrixLLT().diagonal().array().log().sum();
  blurred.log_likelihood = zeta / 2 * information.pull.cwiseProduct(pull).sum() -
                           static_cast<double>(information.pull.cols()) * log_root;
  return blurred;
}

// The fewest leading directions with kHeld of sum lambda^2; the basis has the largest first.
Index LeadingDirections(const PooledBasis& basis) {
  const auto rank = static_cast<Index>(basis.rank());
  if (rank <= kFullRank) return rank;
  double all = 0, held = 0;
  for (const double lambda : basis.lambda()) all += lambda * lambda;
  Index directions = 0;
  while (directions < rank && held < kHeld * all) {
    const double lambda = basis.lambda()[static_cast<size_t>(directions++)];
    held += lambda * lambda;
  }
  return directions;
}

class Fitter {
 public:
  Fitter(const PooledBasis& basis, const Information& information, bool use_labels)
      : use_labels_(use_labels),
        directions_(LeadingDirections(basis)),
        rows_(static_cast<double>(basis.rows())) {
    const std::vector<double> shape = PriorShape(basis);
    shape_ = Eigen::Map<const VectorXd>(shape.data(), static_cast<Index>(shape.size()));
    labels_.resize(shape_.size(), static_cast<Index>(basis.columns()));
    for (size_t k = 0; k < basis.columns(); ++k) {
      const auto column = static_cast<Index>(k);
      labels_.col(column) = Eigen::Map<const VectorXd>(basis.labels()[k].data(), shape_.size());
      hidden_squares_ += basis.label_squares()[k] - labels_.col(column).squaredNorm();
    }
    for (const Hyperparameters& setting : PooledGrid(basis.has_numbers())) {
      if (blurred_.count(setting.leaf_noise) > 0) continue;
      blurred_.emplace(setting.leaf_noise, Blur(information, setting.leaf_noise, directions_));
    }
  }

  struct Fit {
    MatrixXd mean;  // by coordinate and column
    double log_likelihood = 0;
  };

  StatusOr<Fit> At(const Hyperparameters& setting) const {
    const Blurred& reports = blurred_.at(setting.leaf_noise);
    const Diagonal diagonal = DiagonalOf(setting);
    COPPICE_ASSIGN_OR_RETURN(const Eigen::LLT<MatrixXd> root, RootOf(setting, diagonal));
    const Index columns = labels_.cols(), rest = shape_.size() - directions_;
    const MatrixXd pull = PullOf(diagonal, reports.pull);
    Fit fit;
    fit.mean = Solve(root, diagonal, pull);
    const double log_terms = diagonal.prior.array().log().sum() +
                             2 * root.matrixLLT().diagonal().array().log().sum() +
                             diagonal.precision.tail(rest).array().log().sum();
    fit.log_likelihood = reports.log_likelihood - static_cast<double>(columns) * log_terms / 2 +
                         pull.cwiseProduct(fit.mean).sum() / 2;
    if (use_labels_) fit.log_likelihood += LabelLikelihood(setting, diagonal);
    return fit;
  }

  // The posterior's mean in a setting, if this were the reports' pull.
  StatusOr<MatrixXd> MeanOf(const Hyperparameters& setting, const MatrixXd& reports) const {
    const Blurred& blurred = blurred_.at(setting.leaf_noise);
    const Diagonal diagonal = DiagonalOf(setting);
    COPPICE_ASSIGN_OR_RETURN(const Eigen::LLT<MatrixXd> root, RootOf(setting, diagonal));
    const MatrixXd pull = blurred.root.solve(reports).topRows(directions_);
    return Solve(root, diagonal, PullOf(diagonal, pull));
  }

  // Adds `weight` times the posterior's covariance in a setting.
  Status AddCovariance(const Hyperparameters& setting, double weight, MatrixXd& covariance) const {
    const Diagonal diagonal = DiagonalOf(setting);
    COPPICE_ASSIGN_OR_RETURN(const Eigen::LLT<MatrixXd> root, RootOf(setting, diagonal));
    const Index rest = shape_.size() - directions_;
    covariance.topLeftCorner(directions_, directions_) +=
        weight * root.solve(MatrixXd::Identity(directions_, directions_));
    covariance.diagonal().tail(rest) += weight * diagonal.precision.tail(rest).cwiseInverse();
    return OkStatus();
  }

 private:
  // Prior and public labels in one setting.
  struct Diagonal {
    VectorXd prior;        // variance
    VectorXd label_noise;  // q
    VectorXd precision;    // of prior and labels together
    VectorXd from_public;  // beta / q
  };

  Diagonal DiagonalOf(const Hyperparameters& setting) const {
    Diagonal diagonal;
    diagonal.prior = setting.roughness * shape_;
    diagonal.precision = diagonal.prior.cwiseInverse();
    diagonal.label_noise = (setting.local_drift * diagonal.prior).array() + setting.label_noise;
    diagonal.from_public = VectorXd::Zero(shape_.size());
    if (use_labels_) {
      diagonal.from_public = setting.beta * diagonal.label_noise.cwiseInverse();
      diagonal.precision += setting.beta * diagonal.from_public;
    }
    return diagonal;
  }

  // The pull of public labels in all directions and of reports in the leading ones.
  MatrixXd PullOf(const Diagonal& diagonal, const MatrixXd& reports) const {
    MatrixXd pull = diagonal.from_public.asDiagonal() * labels_;
    pull.topRows(directions_) += reports;
    return pull;
  }

  MatrixXd Solve(const Eigen::LLT<MatrixXd>& root, const Diagonal& diagonal,
                 const MatrixXd& pull) const {
    const Index rest = shape_.size() - directions_;
    MatrixXd mean(pull.rows(), pull.cols());
    mean.topRows(directions_) = root.solve(pull.topRows(directions_));
    mean.bottomRows(rest) =
        diagonal.precision.tail(rest).cwiseInverse().asDiagonal() * pull.bottomRows(rest);
    return mean;
  }

  StatusOr<Eigen::LLT<MatrixXd>> RootOf(const Hyperparameters& setting,
                                        const Diagonal& diagonal) const {
    MatrixXd a = blurred_.at(setting.leaf_noise).precision;
    a.diagonal() += diagonal.precision.head(directions_);
    Eigen::LLT<MatrixXd> root(a);
    if (root.info() == Eigen::Success) return root;
    return InternalError("the posterior of a study with public features is not definite");
  }

  // The part of the labels that the basis cannot show counts as noise.
  double LabelLikelihood(const Hyperparameters& setting, const Diagonal& diagonal) const {
    const auto columns = static_cast<double>(labels_.cols());
    const double squares =
        (diagonal.label_noise.cwiseInverse().asDiagonal() * labels_.cwiseAbs2()).sum();
    const double hidden = rows_ - static_cast<double>(shape_.size());
    return -(columns * diagonal.label_noise.array().log().sum() + squares +
             columns * hidden * std::log(setting.label_noise) +
             hidden_squares_ / setting.label_noise) /
           2;
  }

  const bool use_labels_;
  const Index directions_;
  const double rows_;
  VectorXd shape_;
  MatrixXd labels_;
  double hidden_squares_ = 0;
  std::map<double, Blurred> blurred_;  // by the error of the masses
};

}  // namespace

StatusOr<ConsistentFit> FitConsistent(const PooledBasis& basis, const ConsistentReports& reports,
                                      bool use_labels, const CancelCheck& cancel) {
  const std::vector<Hyperparameters> grid = PooledGrid(basis.has_numbers());
  const Information information = ReadInformation(basis, reports);
  COPPICE_RETURN_IF_ERROR(cancel());
  const Fitter fitter(basis, information, use_labels);
  std::vector<Fitter::Fit> fits;
  std::vector<double> likelihoods;
  for (const Hyperparameters& setting : grid) {
    COPPICE_RETURN_IF_ERROR(cancel());
    COPPICE_ASSIGN_OR_RETURN(fits.emplace_back(), fitter.At(setting));
    likelihoods.push_back(fits.back().log_likelihood);
  }
  ConsistentFit result;
  result.weights = GridWeights(basis, grid, likelihoods, use_labels);
  const auto rank = static_cast<Index>(basis.rank());
  MatrixXd mean = MatrixXd::Zero(rank, static_cast<Index>(basis.columns()));
  MatrixXd within = MatrixXd::Zero(rank, rank);
  for (size_t g = 0; g < grid.size(); ++g) {
    COPPICE_RETURN_IF_ERROR(cancel());
    mean += result.weights[g] * fits[g].mean;
    if (result.weights[g] < kNegligibleWeight) continue;
    COPPICE_RETURN_IF_ERROR(fitter.AddCovariance(grid[g], result.weights[g], within));
  }
  for (Index k = 0; k < mean.cols(); ++k) {
    MatrixXd covariance = within;
    for (size_t g = 0; g < grid.size(); ++g) {
      if (result.weights[g] < kNegligibleWeight) continue;
      const VectorXd apart = fits[g].mean.col(k) - mean.col(k);
      covariance.selfadjointView<Eigen::Lower>().rankUpdate(apart, result.weights[g]);
    }
    covariance.triangularView<Eigen::StrictlyUpper>() = covariance.transpose();
    result.mean.emplace_back(mean.col(k).begin(), mean.col(k).end());
    result.variance.push_back(
        basis.VarianceInLeavesOf({covariance.data(), static_cast<size_t>(covariance.size())}));
  }
  result.equivalent_rows = EquivalentRows(basis, information);
  return result;
}

class ConsistentForecast::Impl {
 public:
  Impl(const PooledBasis& basis, const ConsistentReports& expected)
      : basis_(basis),
        information_(ReadInformation(basis, expected)),
        fitter_(basis, information_, /*use_labels=*/true),
        noise_(InformationOfLeaves(basis, expected)) {
    for (std::vector<double>& of_tree : noise_) {
      for (double& value : of_tree) value = std::sqrt(value);
    }
  }

  double equivalent_rows() const { return EquivalentRows(basis_, information_); }

  StatusOr<std::vector<double>> MeanOf(const Hyperparameters& setting,
                                       absl::Span<const std::vector<double>> theta,
                                       absl::Span<const std::vector<double>> row_noise,
                                       const std::function<double()>& draw_normal) const {
    MatrixXd pull(information_.w.rows(), static_cast<Index>(theta.size()));
    for (size_t k = 0; k < theta.size(); ++k) {
      LeafValues drawn = noise_;
      for (std::vector<double>& of_tree : drawn) {
        for (double& value : of_tree) value *= draw_normal();
      }
      const std::vector<double> noise = basis_.FromLeaves(drawn);
      const VectorXd blurred =
          Vector(theta[k]) + std::sqrt(setting.leaf_noise) * Vector(row_noise[k]);
      pull.col(static_cast<Index>(k)) = information_.w * blurred + Vector(noise);
    }
    COPPICE_ASSIGN_OR_RETURN(const MatrixXd mean, fitter_.MeanOf(setting, pull));
    return std::vector<double>(mean.data(), mean.data() + mean.size());
  }

 private:
  static Eigen::Map<const VectorXd> Vector(const std::vector<double>& values) {
    return {values.data(), static_cast<Index>(values.size())};
  }

  const PooledBasis& basis_;
  const Information information_;
  const Fitter fitter_;
  LeafValues noise_;  // by leaf: standard deviation that the reports' noise gives the pull
};

ConsistentForecast::ConsistentForecast(const PooledBasis& basis, const ConsistentReports& expected)
    : impl_(std::make_unique<Impl>(basis, expected)) {}
ConsistentForecast::~ConsistentForecast() = default;

double ConsistentForecast::equivalent_rows() const { return impl_->equivalent_rows(); }

StatusOr<std::vector<double>> ConsistentForecast::MeanOf(
    const Hyperparameters& setting, absl::Span<const std::vector<double>> theta,
    absl::Span<const std::vector<double>> row_noise,
    const std::function<double()>& draw_normal) const {
  return impl_->MeanOf(setting, theta, row_noise, draw_normal);
}

}  // namespace coppice::curator
