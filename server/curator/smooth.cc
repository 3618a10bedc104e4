#include "server/curator/smooth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// One point of the grid of hyper-parameters.
struct Setting {
  double roughness = 0;    // s^2: prior variance of theta, as a share of its largest
  double beta = 0;         // mean of the public labels is beta * theta
  double local_drift = 0;  // omega: variance of the public labels that follows the prior's
  double label_noise = 0;  // sigma^2 of one public label
  double leaf_noise = 0;   // zeta: private leaves are only estimates of the rows' own
  double log_prior = 0;
};

std::vector<Setting> Grid() {
  constexpr std::array kBetas = {Belief{-0.5, 0.02}, Belief{0, 0.06},    Belief{0.25, 0.17},
                                 Belief{0.5, 0.17},  Belief{0.75, 0.17}, Belief{1, 0.40}};
  std::vector<Setting> grid;
  for (const double roughness : {0.1, 0.3}) {
    for (const Belief& beta : kBetas) {
      for (const double local_drift : {0.0, 0.3}) {
        for (const double label_noise : {0.6, 1.0}) {
          for (const double leaf_noise : {0.03, 0.3}) {
            grid.push_back({.roughness = roughness,
                            .beta = beta.value,
                            .local_drift = local_drift,
                            .label_noise = label_noise,
                            .leaf_noise = leaf_noise,
                            .log_prior = std::log(beta.weight)});
          }
        }
      }
    }
  }
  return grid;
}

// What the reports say: coordinates of theta, by column, and the variance of each.
struct PrivateSide {
  bool present = false;
  std::vector<std::vector<double>> theta;
  std::vector<double> variance;
};

double Reports(absl::Span<const PrivateCounts> counts) {
  double reports = 0;
  for (const PrivateCounts& of_tree : counts) reports += static_cast<double>(of_tree.reports);
  return reports;
}

// The factor that a leaf's private mass is too large by: between 1 (trust the public mass) and what
// the sums say, by their variances.
double MassRatio(double private_rows, double reports, double public_rows, double all_public_rows,
                 double noise_per_report) {
  const double expected = std::max(reports * public_rows / all_public_rows, 1e-9);
  const double of_public = 1 / public_rows;
  const double of_private = (reports * noise_per_report + expected) / (expected * expected);
  const double trust = of_public / (of_public + of_private);
  return std::clamp(1 + trust * (private_rows / expected - 1), 0.3, 3.0);
}

// The margins of one column at all leaves, masses corrected where there are any.
LeafValues Margins(const SmoothBasis& basis, absl::Span<const PrivateCounts> counts,
                   size_t column) {
  const uint32_t classes = basis.classes();
  const auto of_class = static_cast<uint32_t>(basis.columns() == 1 ? 1 : column);
  LeafValues margins(counts.size());
  for (size_t t = 0; t < counts.size(); ++t) {
    const PrivateCounts& of_tree = counts[t];
    const std::vector<double>& public_rows = basis.rows_in_leaf()[t];
    for (uint32_t leaf = 0; leaf < public_rows.size(); ++leaf) {
      const double mass = of_tree.counts.leaf[leaf];
      double margin = basis.scale() * (of_tree.counts.at(leaf, of_class) - mass / classes);
      if (of_tree.has_masses && public_rows[leaf] > 0) {
        margin /= MassRatio(mass, static_cast<double>(of_tree.reports), public_rows[leaf],
                            static_cast<double>(basis.rows()), of_tree.noise.back().leaf);
      }
      margins[t].push_back(margin);
    }
  }
  return margins;
}

PrivateSide ReadReports(const SmoothBasis& basis, absl::Span<const PrivateCounts> counts,
                        double noise_per_report) {
  PrivateSide side;
  const double reports = Reports(counts);
  if (reports == 0) return side;
  side.present = true;
  const auto n = static_cast<double>(basis.rows());
  for (const double lambda : basis.lambda()) {
    side.variance.push_back(n * n * (noise_per_report + basis.mean_mass()) / (reports * lambda));
  }
  for (size_t column = 0; column < basis.columns(); ++column) {
    std::vector<double> theta = basis.FromLeaves(Margins(basis, counts, column));
    for (size_t j = 0; j < theta.size(); ++j) theta[j] *= n / (reports * basis.lambda()[j]);
    side.theta.push_back(std::move(theta));
  }
  return side;
}

// theta's posterior in one setting. mean = variance * (from_private * u + from_public * w).
struct Posterior {
  std::vector<double> variance;
  std::vector<double> from_private;
  std::vector<double> from_public;
  double log_likelihood = 0;  // of all columns
};

class Smoother {
 public:
  Smoother(const SmoothBasis& basis, const PrivateSide& reports, bool use_labels)
      : basis_(basis), reports_(reports), use_labels_(use_labels) {
    const absl::Span<const double> lambda = basis.lambda();
    const double squares = std::inner_product(lambda.begin(), lambda.end(), lambda.begin(), 0.0);
    for (const double l : lambda) {
      shape_.push_back(static_cast<double>(basis.rows()) * l * l / squares);
    }
  }

  Posterior Fit(const Setting& setting) const {
    Posterior fit;
    const size_t rank = basis_.rank();
    fit.variance.resize(rank);
    fit.from_private.assign(rank, 0);
    fit.from_public.assign(rank, 0);
    double log_terms = 0;  // the same for every column
    for (size_t j = 0; j < rank; ++j) {
      const double prior = setting.roughness * shape_[j];
      double precision = 1 / prior;
      if (reports_.present) {
        const double a = reports_.variance[j] + setting.leaf_noise;
        fit.from_private[j] = 1 / a;
        precision += 1 / a;
        log_terms += std::log(a);
      }
      if (use_labels_) {
        const double q = setting.label_noise + setting.local_drift * prior;
        fit.from_public[j] = setting.beta / q;
        precision += setting.beta * setting.beta / q;
        log_terms += std::log(q);
      }
      fit.variance[j] = 1 / precision;
      log_terms += std::log(prior * precision);
    }
    for (size_t k = 0; k < basis_.columns(); ++k) {
      fit.log_likelihood += ColumnLikelihood(setting, fit, k, log_terms);
    }
    return fit;
  }

  double Mean(const Posterior& fit, size_t column, size_t j) const {
    return fit.variance[j] * Pull(fit, column, j);
  }

 private:
  double Pull(const Posterior& fit, size_t column, size_t j) const {
    double pull = 0;
    if (reports_.present) pull += fit.from_private[j] * reports_.theta[column][j];
    if (use_labels_) pull += fit.from_public[j] * basis_.labels()[column][j];
    return pull;
  }

  double ColumnLikelihood(const Setting& setting, const Posterior& fit, size_t column,
                          double log_terms) const {
    double total = log_terms;
    for (size_t j = 0; j < basis_.rank(); ++j) {
      if (reports_.present) {
        const double u = reports_.theta[column][j];
        total += u * u * fit.from_private[j];
      }
      if (use_labels_) {
        const double w = basis_.labels()[column][j];
        total +=
            w * w / (setting.label_noise + setting.local_drift * setting.roughness * shape_[j]);
      }
      const double pull = Pull(fit, column, j);
      total -= pull * pull * fit.variance[j];
    }
    if (use_labels_) {
      // What the basis cannot show of the labels is noise.
      const std::vector<double>& w = basis_.labels()[column];
      const double shown = std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
      const auto hidden = static_cast<double>(basis_.rows() - basis_.rank());
      total += hidden * std::log(setting.label_noise) +
               (basis_.label_squares()[column] - shown) / setting.label_noise;
    }
    return -total / 2;
  }

  const SmoothBasis& basis_;
  const PrivateSide& reports_;
  const bool use_labels_;
  std::vector<double> shape_;  // n lambda^2 / sum lambda^2: the prior's variance but for s^2
};

// theta averaged over the grid: by column, then coordinate.
struct Averaged {
  std::vector<std::vector<double>> mean;
  std::vector<std::vector<double>> variance;  // within a setting and between them
  std::vector<Belief> beta;
};

std::vector<double> Weights(const std::vector<Setting>& grid, const std::vector<Posterior>& fits) {
  std::vector<double> weights(grid.size());
  for (size_t g = 0; g < grid.size(); ++g) {
    weights[g] = fits[g].log_likelihood + grid[g].log_prior;
  }
  const double best = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - best);
  for (double& weight : weights) weight /= total;
  return weights;
}

std::vector<Belief> BeliefsOfBeta(const std::vector<Setting>& grid,
                                  const std::vector<double>& weights) {
  std::vector<Belief> beliefs;
  for (size_t g = 0; g < grid.size(); ++g) {
    const auto known = std::find_if(beliefs.begin(), beliefs.end(), [&](const Belief& belief) {
      return belief.value == grid[g].beta;
    });
    if (known == beliefs.end()) {
      beliefs.push_back({grid[g].beta, weights[g]});
    } else {
      known->weight += weights[g];
    }
  }
  return beliefs;
}

Averaged Average(const SmoothBasis& basis, const Smoother& smoother) {
  constexpr double kNegligible = 1e-9;
  const std::vector<Setting> grid = Grid();
  std::vector<Posterior> fits;
  for (const Setting& setting : grid) fits.push_back(smoother.Fit(setting));
  const std::vector<double> weights = Weights(grid, fits);
  Averaged result;
  result.beta = BeliefsOfBeta(grid, weights);
  for (size_t k = 0; k < basis.columns(); ++k) {
    std::vector<double>& mean = result.mean.emplace_back(basis.rank(), 0);
    std::vector<double>& variance = result.variance.emplace_back(basis.rank(), 0);
    for (size_t g = 0; g < grid.size(); ++g) {
      if (weights[g] < kNegligible) continue;
      for (size_t j = 0; j < basis.rank(); ++j) {
        const double of_setting = smoother.Mean(fits[g], k, j);
        mean[j] += weights[g] * of_setting;
        variance[j] += weights[g] * (fits[g].variance[j] + of_setting * of_setting);
      }
    }
    for (size_t j = 0; j < basis.rank(); ++j) {
      variance[j] = std::max(variance[j] - mean[j] * mean[j], 0.0);
    }
  }
  return result;
}

// Probabilities at each leaf from the margins' leaf values: 1/K + T g_k / c, whose mean over the
// trees of a row is 1/K + score_k / c.
std::vector<std::vector<LeafPrediction>> Predictions(const SmoothBasis& basis, const Forest& forest,
                                                     const Averaged& averaged) {
  const uint32_t classes = basis.classes();
  const double share = 1.0 / classes;
  const double per_margin = 1 / basis.scale();
  const auto num_trees = static_cast<double>(basis.trees());
  std::vector<LeafValues> margin, variance;
  for (size_t k = 0; k < basis.columns(); ++k) {
    margin.push_back(basis.ToLeaves(averaged.mean[k]));
    variance.push_back(basis.VarianceInLeaves(averaged.variance[k]));
  }
  std::vector<std::vector<LeafPrediction>> leaves(forest.size());
  for (size_t t = 0; t < forest.size(); ++t) {
    for (uint32_t leaf = 0; leaf < forest[t].num_leaves(); ++leaf) {
      LeafPrediction& prediction = leaves[t].emplace_back();
      prediction.source_node = forest[t].leaf_node(leaf);
      std::vector<double>& p = prediction.probabilities;
      for (size_t k = 0; k < basis.columns(); ++k) {
        p.push_back(share + num_trees * margin[k][t][leaf] * per_margin);
      }
      if (classes == 2) p.insert(p.begin(), 1 - p[0]);
      prediction.label =
          static_cast<uint32_t>(std::distance(p.begin(), std::max_element(p.begin(), p.end())));
      const size_t column = basis.columns() == 1 ? 0 : prediction.label;
      prediction.standard_error = std::sqrt(variance[column][t][leaf]) * per_margin;
    }
  }
  return leaves;
}

absl::Status CheckShapes(const SmoothBasis& basis, const Forest& forest,
                         absl::Span<const PrivateCounts> counts) {
  bool fits = counts.size() == basis.trees() && forest.size() == basis.trees();
  for (size_t t = 0; fits && t < counts.size(); ++t) {
    fits = counts[t].counts.leaf.size() == basis.rows_in_leaf()[t].size() &&
           counts[t].noise.size() == basis.classes() &&
           forest[t].num_leaves() == counts[t].counts.leaf.size();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError("the counts do not have the shape of the forest");
}

// Over the trees, by their reports.
double MeanMarginNoise(absl::Span<const PrivateCounts> counts) {
  double total = 0;
  for (const PrivateCounts& of_tree : counts) {
    total += static_cast<double>(of_tree.reports) * MarginNoise(of_tree.noise);
  }
  const double reports = Reports(counts);
  return reports > 0 ? total / reports : 0;
}

}  // namespace

double MarginNoise(absl::Span<const NoiseVariance> noise) {
  const auto classes = static_cast<double>(noise.size());
  double most = 0;
  for (const NoiseVariance& of_class : noise) {
    most = std::max(most, of_class.label + of_class.leaf / (classes * classes) -
                              2 * of_class.covariance / classes);
  }
  return classes * classes / (classes - 1) * most;
}

std::string SmoothDiagnosis::InWords() const {
  constexpr double kSure = 0.5;
  double trusted = 0, inverted = 0, useless = 0;
  for (const Belief& belief : beta) {
    if (belief.value < 0) {
      inverted += belief.weight;
    } else if (belief.value == 0) {
      useless += belief.weight;
    } else if (belief.value >= 0.75) {
      trusted += belief.weight;
    }
  }
  if (inverted > kSure) {
    return absl::StrFormat(
        "the public labels look inverted: beta below 0 has weight %.2f; check how they were coded",
        inverted);
  }
  if (useless > kSure) {
    return absl::StrFormat(
        "the public labels look unrelated to the private ones: beta = 0 has weight %.2f", useless);
  }
  if (trusted > kSure) {
    return absl::StrFormat("public labels and reports agree: beta of 0.75 or more has weight %.2f",
                           trusted);
  }
  return "the public labels look weaker than the private ones, or the reports cannot tell";
}

absl::StatusOr<SmoothFit> EstimateSmooth(const SmoothBasis& basis, const Forest& forest,
                                         absl::Span<const PrivateCounts> counts,
                                         Evidence evidence) {
  COPPICE_RETURN_IF_ERROR(CheckShapes(basis, forest, counts));
  SmoothFit fit;
  fit.diagnosis.effective_cells = basis.effective_cells();
  fit.diagnosis.noise_per_report = MeanMarginNoise(counts);
  fit.diagnosis.equivalent_rows =
      Reports(counts) /
      (basis.effective_cells() * (fit.diagnosis.noise_per_report + basis.mean_mass()));
  PrivateSide reports;
  if (evidence != Evidence::kPublic) {
    reports = ReadReports(basis, counts, fit.diagnosis.noise_per_report);
  }
  const Smoother smoother(basis, reports, evidence != Evidence::kReports);
  Averaged averaged = Average(basis, smoother);
  fit.leaves = Predictions(basis, forest, averaged);
  fit.diagnosis.beta = std::move(averaged.beta);
  return fit;
}

}  // namespace coppice
