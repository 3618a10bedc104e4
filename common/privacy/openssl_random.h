// The only PrivateRandom in release builds: OpenSSL's private generator, buffered; in WebAssembly
// the page's, not buffered.

#ifndef COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_
#define COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/crypto/crypto.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Guarantee  every bit comes from crypto::DrawRandom(): RAND_priv_bytes (OpenSSL's per-thread
//            CTR_DRBG for private values, seeded and reseeded from the operating system), or
//            crypto.getRandomValues in WebAssembly. There is no way to seed it from here. Where
//            nothing may be drawn ahead (crypto::kMaxDrawnAhead), each call begins with fresh bits.
//            A child made by fork() discards the buffered bytes, so that it never repeats its
//            parent's noise (a raw clone() without fork handlers is not covered). The destructor
//            wipes the buffer.
// Errors     Unavailable when crypto::DrawRandom() fails.
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
  static constexpr bool kDrawsAhead = crypto::kMaxDrawnAhead > 0;
  // Geometric() looks up at most this many draws before it settles the undecided ones among them.
  static constexpr size_t kMaxRun = 512;
  // Large enough to make OpenSSL's fixed cost per call small, small enough for a device. Where
  // nothing is drawn ahead, the most that one call looks at together.
  static constexpr size_t kWords =
      kDrawsAhead ? crypto::kMaxDrawnAhead / sizeof(uint16_t) : kMaxRun;

  // Drops what an earlier call drew and did not use, where nothing may be drawn ahead.
  void BeginCall();
  // Makes next_ a fresh word: refills if all words are used, or after a fork. Where nothing is
  // drawn ahead, a refill draws what is wanted, up to kWords.
  Status EnsureWord(size_t wanted);
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
  std::array<Undecided, kMaxRun> undecided_;
  uint64_t fork_generation_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_OPENSSL_RANDOM_H_
