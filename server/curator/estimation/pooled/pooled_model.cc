#include "server/curator/estimation/pooled/pooled_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace coppice::curator {
namespace {

struct BetaPrior {
  double beta;
  double weight;
};

// The part of a setting that public labels determine; the rest is about reports.
using LabelSetting = std::tuple<double, double, double>;
LabelSetting LabelSettingOf(const Hyperparameters& setting) {
  return {setting.roughness, setting.local_drift, setting.label_noise};
}

// Exponentiates and scales the logarithms so that they add up to 1.
std::vector<double> Normalized(std::vector<double> logs) {
  const double best = *std::max_element(logs.begin(), logs.end());
  double total = 0;
  for (double& weight : logs) total += weight = std::exp(weight - best);
  for (double& weight : logs) weight /= total;
  return logs;
}

void NormalizeIn(std::map<LabelSetting, double>& logs) {
  std::vector<double> values;
  for (const auto& [setting, value] : logs) values.push_back(value);
  values = Normalized(std::move(values));
  size_t next = 0;
  for (auto& [setting, value] : logs) value = values[next++];
}

}  // namespace

std::vector<Hyperparameters> PooledGrid(bool numbers) {
  constexpr std::array kBetas = {BetaPrior{-0.5, 0.02}, BetaPrior{0, 0.06},
                                 BetaPrior{0.25, 0.17}, BetaPrior{0.5, 0.17},
                                 BetaPrior{0.75, 0.17}, BetaPrior{1, 0.40}};
  const std::vector<double> roughnesses =
      numbers ? std::vector{0.03, 0.1, 0.3, 0.9} : std::vector{0.1, 0.3};
  const std::vector<double> label_noises =
      numbers ? std::vector{0.1, 0.3, 0.6, 1.0} : std::vector{0.6, 1.0};
  std::vector<Hyperparameters> grid;
  for (const double roughness : roughnesses) {
    for (const BetaPrior& beta : kBetas) {
      for (const double local_drift : {0.0, 0.3}) {
        for (const double label_noise : label_noises) {
          for (const double leaf_noise : {0.03, 0.3}) {
            grid.push_back({.roughness = roughness,
                            .beta = beta.beta,
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

std::vector<double> PriorShape(const PooledBasis& basis) {
  const absl::Span<const double> lambda = basis.lambda();
  const double squares = std::inner_product(lambda.begin(), lambda.end(), lambda.begin(), 0.0);
  std::vector<double> shape;
  for (const double l : lambda) {
    shape.push_back(static_cast<double>(basis.rows()) * l * l / squares);
  }
  return shape;
}

PooledModel::PooledModel(const PooledBasis& basis, const PrivateSide& reports, bool use_labels)
    : basis_(basis), reports_(reports), use_labels_(use_labels), shape_(PriorShape(basis)) {}

Posterior PooledModel::Fit(const Hyperparameters& setting) const {
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

double PooledModel::Pull(const Posterior& fit, size_t column, size_t j) const {
  double pull = 0;
  if (reports_.present) pull += fit.from_private[j] * reports_.theta[column][j];
  if (use_labels_) pull += fit.from_public[j] * basis_.labels()[column][j];
  return pull;
}

double PooledModel::ColumnLikelihood(const Hyperparameters& setting, const Posterior& fit,
                                     size_t column, double log_terms) const {
  double total = log_terms;
  for (size_t j = 0; j < basis_.rank(); ++j) {
    if (reports_.present) {
      const double u = reports_.theta[column][j];
      total += u * u * fit.from_private[j];
    }
    if (use_labels_) {
      const double w = basis_.labels()[column][j];
      total += w * w / (setting.label_noise + setting.local_drift * setting.roughness * shape_[j]);
    }
    const double pull = Pull(fit, column, j);
    total -= pull * pull * fit.variance[j];
  }
  if (use_labels_) {
    // The part of the labels that the basis cannot show counts as noise.
    const std::vector<double>& w = basis_.labels()[column];
    const double shown = std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
    const auto hidden = static_cast<double>(basis_.rows() - basis_.rank());
    total += hidden * std::log(setting.label_noise) +
             (basis_.label_squares()[column] - shown) / setting.label_noise;
  }
  return -total / 2;
}

std::vector<double> GridWeights(const PooledBasis& basis, absl::Span<const Hyperparameters> grid,
                                absl::Span<const double> log_likelihoods, bool use_labels) {
  std::vector<double> logs(grid.size());
  for (size_t g = 0; g < grid.size(); ++g) logs[g] = log_likelihoods[g] + grid[g].log_prior;
  const std::vector<double> all = Normalized(logs);
  if (!basis.has_numbers() || !use_labels) return all;
  const PrivateSide no_reports;
  const PooledModel of_labels(basis, no_reports, /*use_labels=*/true);
  std::map<LabelSetting, double> by_labels, by_all;
  for (size_t g = 0; g < grid.size(); ++g) {
    Hyperparameters trusting = grid[g];
    trusting.beta = 1;
    by_labels.emplace(LabelSettingOf(grid[g]), of_labels.Fit(trusting).log_likelihood);
    by_all[LabelSettingOf(grid[g])] += all[g];
  }
  NormalizeIn(by_labels);
  std::vector<double> weights;
  for (size_t g = 0; g < grid.size(); ++g) {
    const LabelSetting setting = LabelSettingOf(grid[g]);
    // A setting that all evidence rules out has no weight to distribute.
    weights.push_back(by_all[setting] > 0 ? by_labels[setting] * all[g] / by_all[setting] : 0);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

std::vector<double> ReportVariance(const PooledBasis& basis, double reports,
                                   double noise_per_report) {
  const auto n = static_cast<double>(basis.rows());
  const double of_report = basis.answer_square() * (noise_per_report + basis.mean_mass());
  std::vector<double> variance;
  for (const double lambda : basis.lambda()) {
    variance.push_back(n * n * of_report / (reports * lambda));
  }
  return variance;
}

double EquivalentRows(const PooledBasis& basis, double reports, double noise_per_report) {
  return reports /
         (basis.effective_cells() * basis.answer_square() * (noise_per_report + basis.mean_mass()));
}

}  // namespace coppice::curator
