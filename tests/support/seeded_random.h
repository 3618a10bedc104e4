// A seeded PrivateRandom, for tests whose failures must be repeatable. Its laws are exact where 64
// bits divide evenly, and off by less than 2^-40 elsewhere.

#ifndef COPPICE_TESTS_SUPPORT_SEEDED_RANDOM_H_
#define COPPICE_TESTS_SUPPORT_SEEDED_RANDOM_H_

#include <cstdint>
#include <random>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice::testing {

class SeededRandom final : public PrivateRandom {
 public:
  explicit SeededRandom(uint64_t seed) : engine_(seed) {}

  uint64_t drawn() const { return drawn_; }

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound == 0) return InvalidArgumentError("bound");
    ++drawn_;
    return std::uniform_int_distribution<uint64_t>(0, bound - 1)(engine_);
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    if (denominator == 0 || numerator > denominator) return InvalidArgumentError("fraction");
    const StatusOr<uint64_t> value = UniformBelow(denominator);
    return *value < numerator;
  }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override {
    return UnimplementedError("no trainer draws it");
  }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override {
    return UnimplementedError("no trainer draws it");
  }

 private:
  std::mt19937_64 engine_;
  uint64_t drawn_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SEEDED_RANDOM_H_
