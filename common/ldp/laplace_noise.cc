#include "common/ldp/laplace_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/part_of.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/steps.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

constexpr size_t kChunk = 512;

// Zero steps with a negative sign are dropped, or zero would count twice.
constexpr SignedSteps kNegativeZero = 1;

// Writes the noise of all draws except negative zeros; `noise` has room for all draws. Returns how
// many it wrote.
StatusOr<size_t> NoiseOf(absl::Span<const SignedSteps> draws, const GeometricTable& table,
                         PrivateRandom& random, absl::Span<int32_t> noise) {
  size_t kept = 0;
  for (const SignedSteps draw : draws) {
    int32_t steps = static_cast<int32_t>(StepsOf(draw));
    if (steps == static_cast<int32_t>(kManySteps)) [[unlikely]] {
      COPPICE_ASSIGN_OR_RETURN(const uint32_t tail, DrawSteps(table, random));
      steps += static_cast<int32_t>(tail);
    }
    const int32_t sign = -static_cast<int32_t>(draw & 1);  // 0 or -1
    // Always written, kept unless it is the negative zero: there is no branch to mispredict.
    noise[kept] = (steps ^ sign) - sign;
    kept += draw != kNegativeZero ? 1 : 0;
  }
  return kept;
}

// The sum of `count` independent geometric draws with ratio numerator / 2^32: how many reach one
// step, how many of those a second, and so on. Costs about 2 / (1 - ratio) random bits per draw.
StatusOr<int64_t> SumOfGeometrics(uint64_t count, uint32_t numerator, PrivateRandom& random) {
  int64_t sum = 0;
  while (count > 0) {
    COPPICE_ASSIGN_OR_RETURN(count, random.Binomial(count, numerator));
    sum += static_cast<int64_t>(count);
  }
  return sum;
}

// Up to this ratio (15/16) summing in layers is cheaper than draw by draw.
constexpr uint32_t kMaxLayeredNumerator = 0xf0000000;

}  // namespace

StatusOr<LaplaceNoise> LaplaceNoise::Create(const Budget& epsilon, uint64_t sensitivity) {
  COPPICE_ASSIGN_OR_RETURN(GeometricTable table,
                           GeometricTable::Create(DecayRatio(epsilon, sensitivity)));
  return LaplaceNoise(std::move(table));
}

LaplaceNoise::LaplaceNoise(GeometricTable table) : table_(std::move(table)) {
  const double ratio = std::ldexp(static_cast<double>(table_.numerator()), -32);
  log_ratio_ = std::log(ratio);
  log_of_zero_ = std::log1p(-ratio) - std::log1p(ratio);
  variance_ = 2 * ratio / ((1 - ratio) * (1 - ratio));
  // P(|noise| > b) = 2 ratio^(b+1) / (1 + ratio) < 2 ratio^(b+1).
  bound_ = static_cast<int64_t>(std::ceil(101 * std::log(2.0) / -log_ratio_));
}

Status LaplaceNoise::Draw(PrivateRandom& random, size_t count, Take take) const {
  std::array<SignedSteps, kChunk> draws;
  std::array<int32_t, kChunk> noise;
  for (size_t done = 0; done < count;) {
    const auto chunk = PartOf(absl::MakeSpan(draws), 0, std::min(kChunk, count - done));
    COPPICE_RETURN_IF_ERROR(random.Geometric(table_, chunk));
    COPPICE_ASSIGN_OR_RETURN(const size_t kept,
                             NoiseOf(chunk, table_, random, absl::MakeSpan(noise)));
    if (kept > 0) take(done, PartOf(absl::MakeSpan(noise), 0, kept));
    done += kept;
  }
  return OkStatus();
}

Status LaplaceNoise::AddTo(PrivateRandom& random, absl::Span<int64_t> sums) const {
  return Draw(random, sums.size(), [sums](size_t start, absl::Span<const int32_t> noise) {
    for (size_t i = 0; i < noise.size(); ++i) sums[start + i] += noise[i];
  });
}

StatusOr<int64_t> LaplaceNoise::SumOf(uint64_t count, PrivateRandom& random) const {
  int64_t sum = 0;
  if (table_.numerator() <= kMaxLayeredNumerator) {
    // Discrete Laplace is the difference of two geometrics.
    COPPICE_ASSIGN_OR_RETURN(sum, SumOfGeometrics(count, table_.numerator(), random));
    COPPICE_ASSIGN_OR_RETURN(const int64_t minus,
                             SumOfGeometrics(count, table_.numerator(), random));
    return sum - minus;
  }
  COPPICE_RETURN_IF_ERROR(
      Draw(random, count, [&sum](size_t /*start*/, absl::Span<const int32_t> noise) {
        sum = std::accumulate(noise.begin(), noise.end(), sum);
      }));
  return sum;
}

int64_t LaplaceNoise::TotalBound(size_t count) const {
  // P(sum |z| >= t) <= (E exp(s |z|))^count exp(-s t) for every s in (0, -log_ratio_): each s gives
  // a valid bound, and the least of several is used.
  constexpr int kTries = 64;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1; i < kTries; ++i) {
    const double s = -log_ratio_ * i / kTries;
    const double grown = std::exp(log_ratio_ + s);
    const double log_moment = log_of_zero_ + std::log1p(grown) - std::log1p(-grown);
    least = std::min(least, (static_cast<double>(count) * log_moment + 100 * std::log(2.0)) / s);
  }
  return static_cast<int64_t>(std::ceil(least));
}

double LaplaceNoise::LogProbability(int64_t noise) const {
  return log_of_zero_ + log_ratio_ * static_cast<double>(std::abs(noise));
}

}  // namespace coppice
