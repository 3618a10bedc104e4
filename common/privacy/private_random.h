// Randomness that privacy rests on, as an interface of a few exact draws.
//
// The interface has draws and not bytes, so that a test can replace the source by one that walks
// every branch of a mechanism with its exact probability, and so computes the mechanism's law.

#ifndef COPPICE_COMMON_PRIVACY_PRIVATE_RANDOM_H_
#define COPPICE_COMMON_PRIVACY_PRIVATE_RANDOM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/geometric_table.h"

namespace coppice {

// Guarantee  each draw has exactly the stated law, and draws are independent. There is no seed and
//            no other source: OpenSslRandom is the only implementation outside tests.
// Errors     Unavailable if the source fails; the caller must then release nothing.
// Threads    not safe to share; one per thread.
class PrivateRandom {
 public:
  virtual ~PrivateRandom() = default;

  // Uniform on {0, ..., bound - 1}. InvalidArgument if bound is 0.
  virtual StatusOr<uint64_t> UniformBelow(uint64_t bound) = 0;

  // True with probability exactly numerator / denominator. InvalidArgument if that exceeds 1 or the
  // denominator is 0.
  virtual StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) = 0;

  // How many of `trials` independent trials succeed, each with probability exactly numerator /
  // 2^32.
  virtual StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) = 0;

  // Fills `out` with independent draws of `table`'s law (see SignedSteps in geometric_table.h).
  virtual Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) = 0;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_PRIVATE_RANDOM_H_
