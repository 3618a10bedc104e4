#include "common/ldp/unary_vector.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/payload/bit_sums.h"
#include "common/ldp/steps.h"

namespace coppice {
namespace {

constexpr uint64_t kBitOne = uint64_t{1} << 32;  // probability 1

double Fraction(uint64_t rate) { return std::ldexp(static_cast<double>(rate), -32); }

}  // namespace

StatusOr<UnaryVector::Rates> UnaryVector::Rates::Create(uint64_t p, uint64_t q) {
  if (q == 0 || p <= q || p >= kBitOne) {
    return InternalError("a unary mechanism's rates are out of order");
  }
  COPPICE_ASSIGN_OR_RETURN(GeometricTable silence,
                           GeometricTable::Create(static_cast<uint32_t>(kBitOne - q)));
  return Rates{.p = p, .q = q, .silence = std::move(silence)};
}

UnaryVector::UnaryVector(MechanismKind kind, const Budget& epsilon, const Domain& domain,
                         Rates rates)
    : LocalMechanism(kind, epsilon, domain),
      rates_(std::move(rates)),
      p_(Fraction(rates_.p)),
      q_(Fraction(rates_.q)) {
  // Hoeffding: the ones are a sum of `bits` independent bits with mean about bits * q, one bit more
  // likely; either side is exceeded by t with probability at most exp(-2 t^2 / bits) = 2^-100.
  const auto bits = static_cast<double>(domain.cells());
  const double slack = std::sqrt(50 * std::log(2.0) * bits);
  min_ones_ = static_cast<size_t>(std::max(0.0, std::floor(bits * q_ - slack)));
  max_ones_ = static_cast<size_t>(std::min(bits, std::ceil(bits * q_ + 1 + slack)));
}

size_t UnaryVector::payload_bytes() const { return BitPayloadBytes(sum_size()); }

template <typename Set>
Status UnaryVector::DrawOnes(LeafLabel value, PrivateRandom& random, Set set) const {
  const size_t cell = CellOf(value, domain());
  // The true cell's bit is drawn separately, so a one that falls on it here is skipped.
  COPPICE_RETURN_IF_ERROR(ForEachSuccess(rates_.silence, sum_size(), random, [&](size_t position) {
    if (position != cell) set(position);
  }));
  COPPICE_ASSIGN_OR_RETURN(const bool one, random.Bernoulli(rates_.p, kBitOne));
  if (one) set(cell);
  return OkStatus();
}

// Modelled in tests/proofs/models.v.
Status UnaryVector::Write(LeafLabel value, uint32_t /*column*/, PrivateRandom& random,
                          std::string& payload) const {
  payload.assign(payload_bytes(), '\0');
  return DrawOnes(value, random, [&payload](size_t position) { FlipBit(payload, position); });
}

Status UnaryVector::RandomizeInto(LeafLabel value, PrivateRandom& random,
                                  absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  return DrawOnes(value, random, [sums](size_t position) { ++sums[position]; });
}

Status UnaryVector::RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                                     absl::Span<int64_t> sums) const {
  const uint64_t rows = std::accumulate(rows_of.begin(), rows_of.end(), uint64_t{0});
  for (size_t cell = 0; cell < rows_of.size(); ++cell) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t lies, random.Binomial(rows - rows_of[cell],
                                                                  static_cast<uint32_t>(rates_.q)));
    COPPICE_ASSIGN_OR_RETURN(const uint64_t truths,
                             random.Binomial(rows_of[cell], static_cast<uint32_t>(rates_.p)));
    sums[cell] += static_cast<int64_t>(lies + truths);
  }
  return OkStatus();
}

Status UnaryVector::Check(std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckBits(payload, sum_size()));
  const size_t ones = CountOnes(payload);
  if (ones < min_ones_ || ones > max_ones_) {
    return InvalidArgumentError("the payload has a number of ones that no honest device sends");
  }
  return OkStatus();
}

void UnaryVector::AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const {
  AddBits(reports, sums);
}

LeafCounts UnaryVector::Estimate(absl::Span<const int64_t> sums, uint64_t reports) const {
  const double expected_lies = static_cast<double>(reports) * q_;
  return JointCounts(domain(), [&](size_t cell) {
    return (static_cast<double>(sums[cell]) - expected_lies) / (p_ - q_);
  });
}

NoiseVariance UnaryVector::Variance(uint32_t /*label*/) const {
  const double scale = (p_ - q_) * (p_ - q_);
  return JointVariance(domain(), {.variance_q = q_ * (1 - q_) / scale,
                                  .variance_p = p_ * (1 - p_) / scale,
                                  .covariance_qq = 0,
                                  .covariance_pq = 0});
}

Influence UnaryVector::MaxInfluence() const {
  // A one adds (1 - q) / (p - q) to its count, a zero -q / (p - q), which is less.
  const auto ones = static_cast<double>(max_ones_);
  const auto zeros = static_cast<double>(sum_size() - max_ones_);
  return {.count = (1 - q_) / (p_ - q_), .total = (ones * (1 - q_) + zeros * q_) / (p_ - q_)};
}

StatusOr<double> UnaryVector::LogOutputProbability(LeafLabel value, uint32_t column,
                                                   std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
  COPPICE_RETURN_IF_ERROR(CheckBits(payload, sum_size()));
  const size_t truth_at = CellOf(value, domain());
  double log_probability = 0;
  for (size_t bit = 0; bit < sum_size(); ++bit) {
    const double one = bit == truth_at ? p_ : q_;
    log_probability += GetBit(payload, bit) ? std::log(one) : std::log1p(-one);
  }
  return log_probability;
}

}  // namespace coppice
