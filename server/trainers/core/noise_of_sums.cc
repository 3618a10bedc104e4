#include "server/trainers/core/noise_of_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/base/public_random.h"

namespace coppice::trainers {
namespace {

constexpr size_t kPairs = 32;  // of a draw and its opposite: what is linear in the sums has no mean

// Public draws, always the same for the same stream.
class PublicDraws {
 public:
  explicit PublicDraws(uint64_t stream) : state_(SplitMix(stream)) {}

  double Laplace(double scale) {
    const double size = -scale * std::log(Unit());
    return Unit() < 0.5 ? -size : size;
  }
  double Gaussian(double deviation) {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(Unit()));
    return deviation * radius * std::cos(kTwoPi * Unit());
  }

 private:
  // Returns a number in (0, 1).
  double Unit() { return (static_cast<double>(SplitMix(state_++) >> 11) + 0.5) * 0x1p-53; }

  uint64_t state_;
};

}  // namespace

void AddNoise(absl::Span<const OutputNoise> more, std::vector<OutputNoise>& noise) {
  for (size_t i = 0; i < noise.size(); ++i) {
    noise[i].mean += more[i].mean;
    noise[i].variance += more[i].variance;
  }
}

OutputNoise NoiseOfLog(double sum, double smoothing, const NoiseLaw& law) {
  const double variance = 2 * law.scale * law.scale;
  // log(x + c), continued below 0 by a parabola.
  const double at = std::max(sum, 0.0) + smoothing;
  const double below = std::min(sum, 0.0) / smoothing;
  const double slope = 1 / at - below / smoothing;
  const double bend = -1 / (at * at);
  const double continued = below - below * below / 2;  // compared with the released value
  // Exact for Laplace noise; for Gaussian noise right within a tenth, as found by simulation.
  const double of_bend = law.is_gaussian ? -1.25 : 0.25;
  return {.mean = variance / 2 * bend - continued,
          .variance = variance * slope * slope + of_bend * variance * variance * bend * bend};
}

std::vector<OutputNoise> NoiseBySimulation(
    const Measurement& measured, absl::Span<const double> released,
    const std::function<std::vector<double>(const Measurement&)>& smooth) {
  std::vector<OutputNoise> noise(released.size());
  if (measured.scale == 0) return noise;
  const std::vector<double> middle = smooth(measured);
  PublicDraws draws(measured.sums.size());
  std::vector<double> squares(released.size());
  Measurement up = measured, down = measured;
  for (size_t pair = 0; pair < kPairs; ++pair) {
    for (size_t i = 0; i < measured.sums.size(); ++i) {
      const auto more = static_cast<int64_t>(
          std::llround(measured.is_gaussian ? draws.Gaussian(measured.scale * std::sqrt(2.0))
                                            : draws.Laplace(measured.scale)));
      up.sums[i] = measured.sums[i] + more;
      down.sums[i] = measured.sums[i] - more;
    }
    const std::vector<double> above = smooth(up), below = smooth(down);
    for (size_t i = 0; i < released.size(); ++i) {
      noise[i].mean += (above[i] + below[i]) / 2 - middle[i];
      squares[i] += std::pow(above[i] - middle[i], 2) / 2 + std::pow(below[i] - middle[i], 2) / 2;
    }
  }
  for (size_t i = 0; i < released.size(); ++i) {
    const double mean = noise[i].mean / kPairs;
    noise[i].mean = mean + released[i] - middle[i];
    noise[i].variance = std::max(0.0, squares[i] / kPairs - mean * mean);
  }
  return noise;
}

}  // namespace coppice::trainers
