#include "server/trainers/boosting/public/public_guard.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/table.h"

namespace coppice::trainers {
namespace {

// With none, 5 to 30 % of fits on few rows left the public rows for nothing (in a prototype). The
// price: where rows times epsilon are below a hundred, wholly wrong public labels go unnoticed.
constexpr double kTrustInNats = 4;
constexpr double kErrorsOfNothing = 3;  // units by which a number is off whose answer is worthless

// Half of the Brier score, in [0, 1].
double HalfBrier(absl::Span<const double> scores, uint32_t label) {
  if (scores.size() == 1) {
    const double p = 1 / (1 + std::exp(-scores[0]));
    const double lacks = p - (label == 1 ? 1 : 0);
    return lacks * lacks;
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (const double score : scores) total += std::exp(score - most);
  double sum = 0;
  for (uint32_t k = 0; k < scores.size(); ++k) {
    const double lacks = std::exp(scores[k] - most) / total - (label == k ? 1 : 0);
    sum += lacks * lacks;
  }
  return sum / 2;
}

// Whole units of a quality, within the bounds that the noise is for.
int64_t InUnits(double quality) {
  if (!std::isfinite(quality)) return 0;
  return std::clamp(static_cast<int64_t>(std::floor(quality * kQualityUnit)), int64_t{0},
                    kQualityUnit);
}

}  // namespace

int64_t AnswerQuality::SumOf(const OutputScores& origin, double factor,
                             const OutputScores& along) const {
  std::vector<double> scores(origin.size());
  int64_t sum = 0;
  for (size_t row = 0; row < origin[0].size(); ++row) {
    for (size_t output = 0; output < scores.size(); ++output) {
      scores[output] = origin[output][row] + factor * along[output][row];
    }
    if (!labels_.empty()) {
      if (labels_[row] != kUnlabelled) sum += InUnits(1 - HalfBrier(scores, labels_[row]));
      continue;
    }
    const double error = std::abs(targets_[row] / unit_of_scores_ - scores[0]);
    sum += InUnits(1 - std::min(error / kErrorsOfNothing, 1.0));
  }
  return sum;
}

StatusOr<double> ReleaseTrust(const AnswerQuality& quality, const OutputScores& scores, double mean,
                              const BudgetShare& share, PrivateReleaser& releaser) {
  OutputScores origin(scores.size()), along = scores;
  for (size_t output = 0; output < scores.size(); ++output) {
    origin[output].assign(scores[output].size(), mean);
    for (double& score : along[output]) score -= mean;
  }
  std::vector<int64_t> sums;
  for (const double part : kTrustedParts) sums.push_back(quality.SumOf(origin, part, along));
  if (share.is_private()) {
    const double epsilon =
        (share.is_concentrated() ? share.rho().ForSelection() : share.budget()).epsilon();
    sums[0] += static_cast<int64_t>(kTrustInNats / epsilon * kQualityUnit);
  }
  COPPICE_ASSIGN_OR_RETURN(const size_t place, releaser.Select(sums, share, kQualityUnit));
  return kTrustedParts[place];
}

}  // namespace coppice::trainers
