#include "common/privacy/samplers.h"

#include <numeric>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

absl::Status CheckTerms(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0 || numerator > kMaxSamplerTerm || denominator > kMaxSamplerTerm) {
    return absl::InvalidArgumentError(
        "a sampler's rate must be a fraction of whole numbers up to 2^48, its denominator "
        "positive");
  }
  return absl::OkStatus();
}

// exp(-numerator / denominator) for a fraction of at most 1: K - 1 successes in a row of coins of
// probability x/1, x/2, x/3, ...; the first failure comes at an odd K with probability exp(-x).
absl::StatusOr<bool> BernoulliExpBelowOne(uint64_t numerator, uint64_t denominator,
                                          PrivateRandom& random) {
  uint64_t k = 1;
  while (true) {
    // K passes 2^16 with probability 1/2^16!, which is no number worth a branch, but this is
    // integers.
    if (k > uint64_t{1} << 15) return absl::InternalError("the random source repeats itself");
    COPPICE_ASSIGN_OR_RETURN(const bool success, random.Bernoulli(numerator, denominator * k));
    if (!success) return k % 2 == 1;
    ++k;
  }
}

}  // namespace

absl::StatusOr<bool> BernoulliExp(uint64_t numerator, uint64_t denominator, PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckTerms(numerator, denominator));
  for (; numerator > denominator; numerator -= denominator) {
    COPPICE_ASSIGN_OR_RETURN(const bool success, BernoulliExpBelowOne(1, 1, random));
    if (!success) return false;
  }
  return BernoulliExpBelowOne(numerator, denominator, random);
}

absl::StatusOr<int64_t> DiscreteLaplace(uint64_t numerator, uint64_t denominator,
                                        PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(CheckTerms(numerator, denominator));
  if (numerator == 0) return absl::InvalidArgumentError("noise needs a positive rate");
  const uint64_t divisor = std::gcd(numerator, denominator);
  const uint64_t s = numerator / divisor;
  const uint64_t t = denominator / divisor;
  while (true) {
    // u + t*v is geometric with ratio exp(-1/t); divided by s, geometric with ratio exp(-s/t).
    COPPICE_ASSIGN_OR_RETURN(const uint64_t u, random.UniformBelow(t));
    COPPICE_ASSIGN_OR_RETURN(const bool keep, BernoulliExp(u, t, random));
    if (!keep) continue;
    uint64_t v = 0;
    while (true) {
      COPPICE_ASSIGN_OR_RETURN(const bool more, BernoulliExpBelowOne(1, 1, random));
      if (!more) break;
      ++v;
    }
    const absl::uint128 magnitude = (absl::uint128(t) * v + u) / s;
    COPPICE_ASSIGN_OR_RETURN(const bool negative, random.Bernoulli(1, 2));
    if (negative && magnitude == 0) continue;  // or zero would count twice
    const auto value = static_cast<int64_t>(absl::Uint128Low64(magnitude));
    return negative ? -value : value;
  }
}

absl::StatusOr<int64_t> DiscreteLaplace(const Budget& epsilon, uint64_t sensitivity,
                                        PrivateRandom& random) {
  if (sensitivity == 0 || sensitivity > kMaxSamplerTerm / Budget::kNanosPerEpsilon) {
    return absl::InvalidArgumentError("a sensitivity must be from 1 to 2^18");
  }
  return DiscreteLaplace(epsilon.nanos(), Budget::kNanosPerEpsilon * sensitivity, random);
}

}  // namespace coppice
