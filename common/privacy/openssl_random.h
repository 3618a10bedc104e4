// The only PrivateRandom in release builds: OpenSSL's private generator, buffered.

#ifndef COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_
#define COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Guarantee  every bit comes from RAND_priv_bytes (OpenSSL's per-thread CTR_DRBG for private
//            values, seeded and reseeded from the operating system). There is no way to seed it
//            from here. A child made by fork() discards the buffered bytes, so that it never
//            repeats its parent's noise (a raw clone() without fork handlers is not covered). The
//            destructor wipes the buffer.
// Errors     Unavailable when RAND_priv_bytes does not return exactly 1.
// Threads    one object per thread.
class OpenSslRandom final : public PrivateRandom {
 public:
  OpenSslRandom();
  ~OpenSslRandom() override;
  OpenSslRandom(const OpenSslRandom&) = delete;
  OpenSslRandom& operator=(const OpenSslRandom&) = delete;

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override;
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override;
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) override;
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override;

 private:
  // Large enough to make OpenSSL's fixed cost per call small, small enough for a device.
  static constexpr size_t kWords = 8192;

  // Makes next_ a fresh word: refills if all words are used, or after a fork.
  Status EnsureWord();
  StatusOr<uint16_t> NextWord();
  StatusOr<uint64_t> NextBits(int count);
  // How many of `count` fresh bits are ones.
  StatusOr<uint64_t> CountOnes(uint64_t count);

  std::array<uint16_t, kWords> words_;
  size_t next_ = kWords;
  struct Undecided {
    uint16_t at;  // position in the run
    uint16_t first_word;
  };
  // Geometric() looks up at most this many draws before it settles the undecided ones among them,
  // which wait here.
  static constexpr size_t kMaxRun = 512;
  std::array<Undecided, kMaxRun> undecided_;
  uint64_t fork_generation_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_
