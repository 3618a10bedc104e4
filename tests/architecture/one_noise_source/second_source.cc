// Has every fault that one_noise_source.sh looks for, in one program: it must find each of them.

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {
namespace {

class FixedRandom final : public PrivateRandom {
 public:
  StatusOr<uint64_t> UniformBelow(uint64_t) override { return 4; }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return std::rand() % 2 == 0; }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return engine_(); }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override { return OkStatus(); }

 private:
  std::mt19937_64 engine_{std::random_device()()};
};

}  // namespace
}  // namespace coppice

int main(int argc, char**) {
  std::cout << "  --noise-seed N\n";
  if (std::getenv("COPPICE_SEED") != nullptr) std::srand(1);
  RAND_seed(&argc, sizeof argc);
  coppice::FixedRandom random;
  coppice::PrivateRandom* const source = &random;
  return source->Bernoulli(1, 2).ok() && source->Binomial(1, 2).ok() ? 0 : 1;
}
