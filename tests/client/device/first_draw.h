// A random source whose first draw a test chooses.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_FIRST_DRAW_H_
#define COPPICE_TESTS_CLIENT_DEVICE_FIRST_DRAW_H_

#include <cstdint>
#include <utility>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"

namespace coppice::testing {

// Draws `draw` first, and what it likes after that: which the ticket decides.
class FirstDraw final : public PrivateRandom {
 public:
  explicit FirstDraw(uint64_t draw) : draw_(draw) {}
  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (std::exchange(first_, false)) return draw_;
    return rest_.UniformBelow(bound);
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    return rest_.Bernoulli(numerator, denominator);
  }
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) override {
    return rest_.Binomial(trials, numerator);
  }
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    return rest_.Geometric(table, out);
  }

 private:
  uint64_t draw_;
  bool first_ = true;
  OpenSslRandom rest_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_FIRST_DRAW_H_
