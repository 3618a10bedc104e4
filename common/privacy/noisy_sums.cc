#include "common/privacy/noisy_sums.h"

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"

namespace coppice {
namespace {

StatusOr<std::vector<int64_t>> AddNoise(absl::Span<const int64_t> sums,
                                        absl::FunctionRef<StatusOr<int64_t>()> draw) {
  std::vector<int64_t> noisy;
  noisy.reserve(sums.size());
  for (const int64_t sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t noise, draw());
    int64_t value = 0;
    if (__builtin_add_overflow(sum, noise, &value)) value = noise < 0 ? INT64_MIN : INT64_MAX;
    noisy.push_back(value);
  }
  return noisy;
}

}  // namespace

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                           const Budget& epsilon, PrivateRandom& random) {
  return AddNoise(sums, [&] { return DiscreteLaplace(epsilon, sensitivity, random); });
}

StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums, uint64_t l2_squared,
                                           const Rho& rho, PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t deviation, rho.DeviationFor(l2_squared));
  return AddNoise(sums, [&] { return DiscreteGaussian(deviation, random); });
}

}  // namespace coppice
