#include "common/ldp/laplace_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/status_macros.h"
#include "common/ldp/steps.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

constexpr size_t kChunk = 512;

// Zero steps and a negative sign: dropped, or zero would count twice.
constexpr SignedSteps kNegativeZero = 1;

// Calls emit(j, noise) for j = 0..count-1.
template <typename Emit>
absl::Status DrawNoise(const GeometricTable& table, PrivateRandom& random, size_t count,
                       Emit emit) {
  std::array<SignedSteps, kChunk> draws;
  size_t done = 0;
  while (done < count) {
    const size_t want = std::min(kChunk, count - done);
    COPPICE_RETURN_IF_ERROR(random.Geometric(table, absl::MakeSpan(draws.data(), want)));
    for (size_t i = 0; i < want; ++i) {
      const SignedSteps draw = draws[i];
      int32_t steps = static_cast<int32_t>(StepsOf(draw));
      if (steps == static_cast<int32_t>(kManySteps)) [[unlikely]] {
        COPPICE_ASSIGN_OR_RETURN(const uint32_t tail, DrawSteps(table, random));
        steps += static_cast<int32_t>(tail);
      }
      const int32_t sign = -static_cast<int32_t>(draw & 1);  // 0 or -1
      // Written always, kept unless it is the negative zero: no branch to mispredict.
      emit(done, (steps ^ sign) - sign);
      done += draw != kNegativeZero ? 1 : 0;
    }
  }
  return absl::OkStatus();
}

// The sum of `count` independent geometric draws with ratio numerator / 2^32: how many reach one
// step, how many of those a second, and so on. Costs about 2 / (1 - ratio) random bits a draw.
absl::StatusOr<int64_t> SumOfGeometrics(uint64_t count, uint32_t numerator, PrivateRandom& random) {
  int64_t sum = 0;
  while (count > 0) {
    COPPICE_ASSIGN_OR_RETURN(count, random.Binomial(count, numerator));
    sum += static_cast<int64_t>(count);
  }
  return sum;
}

// Up to this ratio (15/16) whole sums are cheaper in layers than draw by draw.
constexpr uint32_t kMaxLayeredNumerator = 0xf0000000;

}  // namespace

absl::StatusOr<LaplaceNoise> LaplaceNoise::Create(const Budget& epsilon, uint64_t sensitivity) {
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

absl::Status LaplaceNoise::Fill(PrivateRandom& random, absl::Span<int32_t> out) const {
  return DrawNoise(table_, random, out.size(), [out](size_t j, int32_t noise) { out[j] = noise; });
}

absl::Status LaplaceNoise::AddTo(PrivateRandom& random, absl::Span<int64_t> sums) const {
  std::array<int32_t, kChunk> noise;
  for (size_t start = 0; start < sums.size(); start += kChunk) {
    const size_t count = std::min(kChunk, sums.size() - start);
    COPPICE_RETURN_IF_ERROR(Fill(random, absl::MakeSpan(noise.data(), count)));
    for (size_t j = 0; j < count; ++j) sums[start + j] += noise[j];
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LaplaceNoise::SumOf(uint64_t count, PrivateRandom& random) const {
  int64_t sum = 0;
  if (table_.numerator() <= kMaxLayeredNumerator) {
    // Discrete Laplace is the difference of two geometrics.
    COPPICE_ASSIGN_OR_RETURN(sum, SumOfGeometrics(count, table_.numerator(), random));
    COPPICE_ASSIGN_OR_RETURN(const int64_t minus,
                             SumOfGeometrics(count, table_.numerator(), random));
    return sum - minus;
  }
  std::array<int32_t, kChunk> noise;
  while (count > 0) {
    const size_t want = std::min<uint64_t>(kChunk, count);
    COPPICE_RETURN_IF_ERROR(Fill(random, absl::MakeSpan(noise.data(), want)));
    sum = std::accumulate(noise.begin(), noise.begin() + want, sum);
    count -= want;
  }
  return sum;
}

int64_t LaplaceNoise::TotalBound(size_t count) const {
  // P(sum |z| >= t) <= (E exp(s |z|))^count exp(-s t) for every s in (0, -log_ratio_): each gives a
  // bound that holds, and the least of some is taken.
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
