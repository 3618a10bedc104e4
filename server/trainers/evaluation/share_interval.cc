#include "server/trainers/evaluation/share_interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace coppice::trainers {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The characteristic function of a discrete Laplace variable of this scale.
class LaplaceTransform {
 public:
  explicit LaplaceTransform(double scale)
      : ratio_(std::exp(-1 / scale)), gap_squared_(std::pow(std::expm1(-1 / scale), 2)) {}

  double At(double t) const {
    // 1 + r^2 - 2 r cos t = (1 - r)^2 + 4 r sin^2(t / 2), without cancellation.
    const double sine = std::sin(t / 2);
    return gap_squared_ / (gap_squared_ + 4 * ratio_ * sine * sine);
  }
  double variance() const { return 2 * ratio_ / gap_squared_; }

 private:
  double ratio_, gap_squared_;
};

// Returns where `accepts` changes between `inside`, which it accepts, and `outside`; `outside` if
// it accepts that too.
double EdgeBetween(double inside, double outside, const std::function<bool(double)>& accepts) {
  constexpr int kSteps = 40;
  if (accepts(outside)) return outside;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (inside + outside) / 2;
    (accepts(middle) ? inside : outside) = middle;
  }
  return outside;
}

// sum over i, j of positives[i] negatives[j] (k_ij - area), where k_ij is 1 if the positive's bin
// is the higher one, 0 if it is the lower one, and `tie` in the same bin: 0 for the true area. And
// how far it is from 0 by chance.
class AreaTest {
 public:
  AreaTest(absl::Span<const int64_t> negatives, absl::Span<const int64_t> positives, double scale,
           size_t cells, double tie, double level)
      : negatives_(negatives),
        positives_(positives),
        scale_(scale),
        cells_(cells),
        tie_(tie),
        level_(level) {
    for (const int64_t count : negatives) all_negatives_ += static_cast<double>(count);
    for (const int64_t count : positives) all_positives_ += static_cast<double>(count);
    for (size_t i = 0; i < positives.size(); ++i)
      above_ += PositiveWeight(i, 0) * Count(positives, i);
  }

  // The area if all counts were exact.
  double Middle() const {
    if (!IsKnown()) return 0.5;
    return std::clamp(above_ / (all_positives_ * all_negatives_), 0.0, 1.0);
  }
  bool IsKnown() const { return all_positives_ > 0 && all_negatives_ > 0; }

  bool Accepts(double area) const {
    const double pairs = all_positives_ * all_negatives_;
    std::vector<NoiseTerms> terms;
    for (size_t i = 0; i < positives_.size(); ++i) {
      terms.push_back({.weight = PositiveWeight(i, area), .count = cells_});
      terms.push_back({.weight = NegativeWeight(i, area), .count = cells_});
    }
    // Rows' own chance: at most area (1 - area) / (the smaller class), for the share of pairs.
    const double least = std::max(1.0, std::min(all_positives_, all_negatives_));
    const double of_rows = pairs * pairs * area * (1 - area) / least;
    // Noise times noise: no part of the linear terms, whose weights are noisy themselves.
    const double of_cell = static_cast<double>(cells_) * LaplaceTransform(scale_).variance();
    const double of_products = of_cell * of_cell * SquaredKernel(area);
    return ChanceWithin(std::abs(above_ - area * pairs), terms, scale_, of_rows + of_products) <=
           level_;
  }

 private:
  static double Count(absl::Span<const int64_t> counts, size_t i) {
    return static_cast<double>(counts[i]);
  }
  double Kernel(size_t positive, size_t negative) const {
    return positive > negative ? 1 : positive == negative ? tie_ : 0;
  }
  double PositiveWeight(size_t bin, double area) const {
    double weight = 0;
    for (size_t j = 0; j < negatives_.size(); ++j) {
      weight += Count(negatives_, j) * (Kernel(bin, j) - area);
    }
    return weight;
  }
  double NegativeWeight(size_t bin, double area) const {
    double weight = 0;
    for (size_t i = 0; i < positives_.size(); ++i) {
      weight += Count(positives_, i) * (Kernel(i, bin) - area);
    }
    return weight;
  }
  double SquaredKernel(double area) const {
    double sum = 0;
    for (size_t i = 0; i < positives_.size(); ++i) {
      for (size_t j = 0; j < negatives_.size(); ++j) sum += std::pow(Kernel(i, j) - area, 2);
    }
    return sum;
  }

  const absl::Span<const int64_t> negatives_, positives_;
  const double scale_;
  const size_t cells_;
  const double tie_, level_;
  double all_negatives_ = 0, all_positives_ = 0, above_ = 0;
};

}  // namespace

double ChanceWithin(double reach, absl::Span<const NoiseTerms> terms, double scale,
                    double variance) {
  // A period of so many deviations keeps the sums of the other periods below 1e-12; beyond `kFar`
  // of them nothing is left that matters for an interval.
  constexpr double kPeriod = 40, kFar = 14;
  constexpr double kNegligible = 1e-11;
  const LaplaceTransform noise(scale);
  double of_noise = 0, heaviest = 0;
  for (const NoiseTerms& term : terms) {
    of_noise += static_cast<double>(term.count) * term.weight * term.weight * noise.variance();
    heaviest = std::max(heaviest, std::abs(term.weight));
  }
  // A normal term of one step of the lattice, or of a hundredth of the noise, bounds the number of
  // terms of the series. It makes reaches shorter than they are, so intervals wider.
  variance = std::max({variance, heaviest * heaviest, of_noise * 1e-4});
  const double deviation = std::sqrt(of_noise + variance);
  if (deviation == 0 || reach > kFar * deviation) return 1;
  const double step = 2 * kPi / (kPeriod * deviation);
  double sum = reach / 2;
  for (double k = 1;; ++k) {
    const double t = k * step;
    double value = std::exp(-variance * t * t / 2);
    for (const NoiseTerms& term : terms) {
      value *= std::pow(noise.At(term.weight * t), static_cast<double>(term.count));
    }
    sum += std::sin(t * reach) / t * value;
    // Noise on a lattice comes back after a period, where the normal term has left 3e-9 of it.
    if (value < kNegligible) break;
  }
  return std::clamp(2 / kPi * step * sum, 0.0, 1.0);
}

Estimate ShareOf(const NoisyShare& share, double level) {
  const double all = share.hits + share.misses;
  const double cells = static_cast<double>(share.hit_cells + share.miss_cells);
  // The number of rows is released with noise too. Two deviations more than it seems keep the part
  // of the rows' own chance from being too small; where that noise matters, the other noise is all.
  const double of_cell = LaplaceTransform(share.scale).variance();
  const double rows =
      std::max(1.0, (std::max(all, 0.0) + 2 * std::sqrt(cells * of_cell)) / share.row);
  const auto accepts = [&](double a) {
    const std::array<NoiseTerms, 2> terms = {NoiseTerms{.weight = 1 - a, .count = share.hit_cells},
                                             NoiseTerms{.weight = a, .count = share.miss_cells}};
    return ChanceWithin(std::abs(share.hits - a * all), terms, share.scale,
                        rows * a * (1 - a) * share.row * share.row) <= level;
  };
  Estimate estimate{.value = all > 0 ? std::clamp(share.hits / all, 0.0, 1.0) : 0.5,
                    .interval = {.low = 0, .high = 1}};
  if (all <= 0) return estimate;
  estimate.interval = {.low = EdgeBetween(estimate.value, 0, accepts),
                       .high = EdgeBetween(estimate.value, 1, accepts)};
  return estimate;
}

Estimate AreaOf(absl::Span<const int64_t> negatives, absl::Span<const int64_t> positives,
                double scale, size_t cells, double level) {
  const AreaTest half(negatives, positives, scale, cells, 0.5, level);
  Estimate estimate{.value = half.Middle(), .interval = {.low = 0, .high = 1}};
  if (!half.IsKnown()) return estimate;
  const AreaTest lower(negatives, positives, scale, cells, 0, level);
  const AreaTest upper(negatives, positives, scale, cells, 1, level);
  estimate.interval = {
      .low = EdgeBetween(lower.Middle(), 0, [&](double a) { return lower.Accepts(a); }),
      .high = EdgeBetween(upper.Middle(), 1, [&](double a) { return upper.Accepts(a); })};
  return estimate;
}

}  // namespace coppice::trainers
