#include "server/curator/estimation/pooled/pooled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/estimation/pooled/consistent_model.h"
#include "server/curator/estimation/pooled/pooled_model.h"

namespace coppice::curator {
namespace {

double Reports(absl::Span<const PrivateCounts> counts) {
  double reports = 0;
  for (const PrivateCounts& of_tree : counts) reports += static_cast<double>(of_tree.reports);
  return reports;
}

// The factor by which a leaf's private mass is too large: between 1 (trust the public mass) and
// what the sums say, weighted by their variances.
double MassRatio(double private_rows, double reports, double public_rows, double all_public_rows,
                 double noise_per_report) {
  const double expected = std::max(reports * public_rows / all_public_rows, 1e-9);
  const double of_public = 1 / public_rows;
  const double of_private = (reports * noise_per_report + expected) / (expected * expected);
  const double trust = of_public / (of_public + of_private);
  // The clamp is for leaves of next to no expected rows, whose ratio is noise over nearly nothing.
  return std::clamp(1 + trust * (private_rows / expected - 1), 0.3, 3.0);
}

// Whether a leaf's mass may correct its margin, which requires that their noise is uncorrelated. It
// is if a report names cells. It is not for laplace_split, whose margin 2V - U has the mass's own
// noise: dividing by the mass would push every leaf toward one class.
bool MassesCorrect(const PrivateCounts& counts) {
  const NoiseVariance& noise = counts.noise.back();
  const double correlated =
      noise.covariance - noise.leaf / static_cast<double>(counts.noise.size());
  return counts.has_masses && std::abs(correlated) <= 1e-9 * noise.leaf;
}

// The margin of one column at a leaf, from its counts.
double Sum(const PooledBasis& basis, double center, const PrivateCounts& counts, uint32_t leaf,
           size_t column) {
  const auto of_class = static_cast<uint32_t>(basis.columns() == 1 ? 1 : column);
  return basis.scale() * (counts.counts.at(leaf, of_class) - counts.counts.leaf[leaf] * center);
}

LeafValues Sums(const PooledBasis& basis, double center, absl::Span<const PrivateCounts> counts,
                size_t column) {
  LeafValues sums(counts.size());
  for (size_t t = 0; t < counts.size(); ++t) {
    for (uint32_t leaf = 0; leaf < counts[t].counts.leaf.size(); ++leaf) {
      sums[t].push_back(Sum(basis, center, counts[t], leaf, column));
    }
  }
  return sums;
}

// The margins of one column at all leaves, corrected by the masses where there are any.
LeafValues Margins(const PooledBasis& basis, double center, absl::Span<const PrivateCounts> counts,
                   size_t column) {
  LeafValues margins(counts.size());
  for (size_t t = 0; t < counts.size(); ++t) {
    const PrivateCounts& of_tree = counts[t];
    const std::vector<double>& public_rows = basis.rows_in_leaf()[t];
    const bool corrects = MassesCorrect(of_tree);
    for (uint32_t leaf = 0; leaf < public_rows.size(); ++leaf) {
      const double mass = of_tree.counts.leaf[leaf];
      double margin = Sum(basis, center, of_tree, leaf, column);
      if (corrects && public_rows[leaf] > 0) {
        margin /= MassRatio(mass, static_cast<double>(of_tree.reports), public_rows[leaf],
                            static_cast<double>(basis.rows()), of_tree.noise.back().leaf);
      }
      margins[t].push_back(margin);
    }
  }
  return margins;
}

PrivateSide ReadReports(const PooledBasis& basis, double center,
                        absl::Span<const PrivateCounts> counts, double noise_per_report) {
  PrivateSide side;
  const double reports = Reports(counts);
  if (reports == 0) return side;
  side.present = true;
  const auto n = static_cast<double>(basis.rows());
  side.variance = ReportVariance(basis, reports, noise_per_report);
  for (size_t column = 0; column < basis.columns(); ++column) {
    std::vector<double> theta = basis.FromLeaves(Margins(basis, center, counts, column));
    for (size_t j = 0; j < theta.size(); ++j) theta[j] *= n / (reports * basis.lambda()[j]);
    side.theta.push_back(std::move(theta));
  }
  return side;
}

// theta averaged over the grid.
struct GridAverage {
  std::vector<std::vector<double>> mean;  // by column, then coordinate
  std::vector<LeafValues> variance;       // by column: within a setting and between them
  std::vector<WeightedValue> beta;
};

std::vector<WeightedValue> BeliefsOfBeta(const std::vector<Hyperparameters>& grid,
                                         const std::vector<double>& weights) {
  std::vector<WeightedValue> beliefs;
  for (size_t g = 0; g < grid.size(); ++g) {
    const auto known =
        std::find_if(beliefs.begin(), beliefs.end(),
                     [&](const WeightedValue& belief) { return belief.value == grid[g].beta; });
    if (known == beliefs.end()) {
      beliefs.push_back({grid[g].beta, weights[g]});
    } else {
      known->weight += weights[g];
    }
  }
  return beliefs;
}

StatusOr<GridAverage> Average(const PooledBasis& basis, const PrivateSide& reports, bool use_labels,
                              const CancelCheck& cancel) {
  constexpr double kNegligible = 1e-9;
  const PooledModel model(basis, reports, use_labels);
  const std::vector<Hyperparameters> grid = PooledGrid(basis.has_numbers());
  std::vector<Posterior> fits;
  std::vector<double> likelihoods;
  for (const Hyperparameters& setting : grid) {
    COPPICE_RETURN_IF_ERROR(cancel());
    likelihoods.push_back(fits.emplace_back(model.Fit(setting)).log_likelihood);
  }
  const std::vector<double> weights = GridWeights(basis, grid, likelihoods, use_labels);
  GridAverage result;
  result.beta = BeliefsOfBeta(grid, weights);
  for (size_t k = 0; k < basis.columns(); ++k) {
    COPPICE_RETURN_IF_ERROR(cancel());
    std::vector<double>& mean = result.mean.emplace_back(basis.rank(), 0);
    std::vector<double> variance(basis.rank(), 0);
    for (size_t g = 0; g < grid.size(); ++g) {
      if (weights[g] < kNegligible) continue;
      for (size_t j = 0; j < basis.rank(); ++j) {
        const double of_setting = model.Mean(fits[g], k, j);
        mean[j] += weights[g] * of_setting;
        variance[j] += weights[g] * (fits[g].variance[j] + of_setting * of_setting);
      }
    }
    for (size_t j = 0; j < basis.rank(); ++j) {
      variance[j] = std::max(variance[j] - mean[j] * mean[j], 0.0);
    }
    result.variance.push_back(basis.VarianceInLeaves(variance));
  }
  return result;
}

// The average where features are public. Sets in `diagnosis` what the reports are worth.
StatusOr<GridAverage> AverageConsistent(const PooledBasis& basis, double center,
                                        absl::Span<const PrivateCounts> counts, Evidence evidence,
                                        PooledDiagnosis& diagnosis, const CancelCheck& cancel) {
  ConsistentReports reports;
  for (const PrivateCounts& of_tree : counts) {
    reports.rows.push_back(of_tree.consistent->rows);
    std::vector<double>& variance = reports.variance.emplace_back(of_tree.consistent->variance);
    for (double& of_leaf : variance) of_leaf *= basis.answer_square();
  }
  for (size_t k = 0; k < basis.columns(); ++k)
    reports.margins.push_back(Sums(basis, center, counts, k));
  COPPICE_ASSIGN_OR_RETURN(ConsistentFit fit,
                           FitConsistent(basis, reports, evidence != Evidence::kReports, cancel));
  diagnosis.equivalent_rows = fit.equivalent_rows;
  return GridAverage{.mean = std::move(fit.mean),
                     .variance = std::move(fit.variance),
                     .beta = BeliefsOfBeta(PooledGrid(basis.has_numbers()), fit.weights)};
}

// Probabilities at each leaf from the margins' leaf values: center + T g_k / c. Their mean over the
// trees of a row is center + score_k / c.
std::vector<std::vector<LeafPrediction>> Predictions(const PooledBasis& basis, double center,
                                                     const Forest& forest,
                                                     const GridAverage& averaged) {
  const uint32_t classes = basis.classes();
  const double per_margin = 1 / basis.scale();
  const auto num_trees = static_cast<double>(basis.trees());
  const std::vector<LeafValues>& variance = averaged.variance;
  std::vector<LeafValues> margin;
  for (size_t k = 0; k < basis.columns(); ++k) margin.push_back(basis.ToLeaves(averaged.mean[k]));
  std::vector<std::vector<LeafPrediction>> leaves(forest.size());
  for (size_t t = 0; t < forest.size(); ++t) {
    for (uint32_t leaf = 0; leaf < forest[t].num_leaves(); ++leaf) {
      LeafPrediction& prediction = leaves[t].emplace_back();
      prediction.source_node = forest[t].leaf_node(leaf);
      std::vector<double>& p = prediction.probabilities;
      for (size_t k = 0; k < basis.columns(); ++k) {
        p.push_back(center + num_trees * margin[k][t][leaf] * per_margin);
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

Status CheckShapes(const PooledBasis& basis, const Forest& forest,
                   absl::Span<const PrivateCounts> counts) {
  bool fits = counts.size() == basis.trees() && forest.size() == basis.trees();
  for (size_t t = 0; fits && t < counts.size(); ++t) {
    fits = counts[t].consistent.has_value() == counts[0].consistent.has_value() &&
           counts[t].counts.leaf.size() == basis.rows_in_leaf()[t].size() &&
           counts[t].noise.size() == basis.classes() &&
           forest[t].num_leaves() == counts[t].counts.leaf.size();
  }
  if (fits) return OkStatus();
  return InvalidArgumentError("the counts do not have the shape of the forest");
}

// Weights the trees by their reports.
double MeanMarginNoise(absl::Span<const PrivateCounts> counts) {
  double total = 0;
  for (const PrivateCounts& of_tree : counts) {
    total += static_cast<double>(of_tree.reports) * MarginNoise(of_tree.noise);
  }
  const double reports = Reports(counts);
  return reports > 0 ? total / reports : 0;
}

// The mean place of reported numbers from all leaves' margins, shrunk toward the middle by their
// noise. The prior for the place is the middle, give or take a quarter of the range.
double CenterOfReports(absl::Span<const PrivateCounts> counts) {
  constexpr double kMiddle = 0.5;
  constexpr double kPrior = 0.25;  // two of them on either side reach the ends
  const double reports = Reports(counts);
  if (reports == 0) return kMiddle;
  double margin = 0, variance = 0;
  for (const PrivateCounts& of_tree : counts) {
    const size_t leaves = of_tree.counts.leaf.size();
    for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
      margin += of_tree.counts.at(leaf, 1) - of_tree.counts.at(leaf, 0);
      if (of_tree.consistent) variance += of_tree.consistent->variance[leaf];
    }
    if (of_tree.consistent) continue;
    variance += static_cast<double>(of_tree.reports * leaves) * MarginNoise(of_tree.noise);
  }
  const double off = margin / (2 * reports), noise = variance / (4 * reports * reports);
  return std::clamp(kMiddle + off * kPrior * kPrior / (kPrior * kPrior + noise), 0.0, 1.0);
}

}  // namespace

std::string PooledDiagnosis::InWords() const {
  constexpr double kSure = 0.5;
  double trusted = 0, inverted = 0, useless = 0;
  for (const WeightedValue& belief : beta) {
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

StatusOr<PooledFit> EstimatePooled(const PooledBasis& basis, const Forest& forest,
                                   absl::Span<const PrivateCounts> counts, Evidence evidence,
                                   const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckShapes(basis, forest, counts));
  PooledFit fit;
  fit.diagnosis.effective_cells = basis.effective_cells();
  fit.diagnosis.noise_per_report = MeanMarginNoise(counts);
  fit.diagnosis.equivalent_rows =
      EquivalentRows(basis, Reports(counts), fit.diagnosis.noise_per_report);
  // The margin of numbers is measured from the public mean; without public labels it must not be.
  const bool alone = basis.has_numbers() && evidence == Evidence::kReports;
  const double center = alone ? CenterOfReports(counts) : basis.center();
  PrivateSide reports;
  const bool by_leaves = evidence != Evidence::kPublic && counts[0].consistent.has_value();
  if (evidence != Evidence::kPublic && !by_leaves) {
    reports = ReadReports(basis, center, counts, fit.diagnosis.noise_per_report);
  }
  COPPICE_ASSIGN_OR_RETURN(
      GridAverage averaged,
      by_leaves ? AverageConsistent(basis, center, counts, evidence, fit.diagnosis, cancel)
                : Average(basis, reports, evidence != Evidence::kReports, cancel));
  fit.leaves = Predictions(basis, center, forest, averaged);
  fit.diagnosis.beta = std::move(averaged.beta);
  return fit;
}

}  // namespace coppice::curator
