#include "common/privacy/noisy_sums.h"

#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"

namespace coppice {

absl::StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums,
                                                 uint64_t sensitivity, const Budget& epsilon,
                                                 PrivateRandom& random) {
  std::vector<int64_t> noisy;
  noisy.reserve(sums.size());
  for (const int64_t sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t noise, DiscreteLaplace(epsilon, sensitivity, random));
    int64_t value = 0;
    if (__builtin_add_overflow(sum, noise, &value)) value = noise < 0 ? INT64_MIN : INT64_MAX;
    noisy.push_back(value);
  }
  return noisy;
}

}  // namespace coppice
