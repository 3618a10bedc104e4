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

// Threads    not safe to share; one per thread.
class PublicRandom {
 public:
  explicit PublicRandom(uint64_t seed) : generator_(seed) {}
  // Each pair has a stream of its own.
  PublicRandom(uint64_t seed, uint64_t stream) : generator_(Mix(Mix(seed) + stream)) {}

  uint64_t Next() { return generator_(); }

  // Uniform on {0, ..., bound - 1}; `bound` is positive.
  uint64_t Below(uint64_t bound) {
    const uint64_t uneven = (0 - bound) % bound;  // 2^64 mod bound: draws below it are rejected
    uint64_t draw = Next();
    while (draw < uneven) draw = Next();
    return draw % bound;
  }

  // Uniform on the multiples of 2^-53 in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  // SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads neighbouring seeds.
  static uint64_t Mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::mt19937_64 generator_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PUBLIC_RANDOM_H_
