// Public, repeatable randomness for partitions, splits of files and synthetic rows. Never for
// noise.
//
// Draws are exactly uniform if std::mt19937_64 is. The standard fixes that generator's output but
// not its distributions', so this class has its own: the same numbers on every machine.

#ifndef COPPICE_COMMON_BASE_PUBLIC_RANDOM_H_
#define COPPICE_COMMON_BASE_PUBLIC_RANDOM_H_

#include <cstdint>
#include <random>

namespace coppice {

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

// SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads neighbouring numbers.
constexpr uint64_t SplitMix(uint64_t x) {
  x += kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Uniform on {0, ..., bound - 1}, from 64-bit numbers of `next`; `bound` is positive.
template <typename Next>
uint64_t PublicBelow(uint64_t bound, const Next& next) {
  const uint64_t uneven = (0 - bound) % bound;  // 2^64 mod bound: numbers below it are rejected
  uint64_t drawn = next();
  while (drawn < uneven) drawn = next();
  return drawn % bound;
}

// Threads    not safe to share; one per thread.
class PublicRandom {
 public:
  explicit PublicRandom(uint64_t seed) : generator_(seed) {}
  // Each pair has a stream of its own.
  PublicRandom(uint64_t seed, uint64_t stream) : generator_(SplitMix(SplitMix(seed) + stream)) {}

  uint64_t Next() { return generator_(); }

  // Uniform on {0, ..., bound - 1}; `bound` is positive.
  uint64_t Below(uint64_t bound) {
    return PublicBelow(bound, [this] { return Next(); });
  }

  // Uniform on the multiples of 2^-53 in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 generator_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PUBLIC_RANDOM_H_
