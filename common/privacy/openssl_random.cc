#include "common/privacy/openssl_random.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "common/base/part_of.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/crypto/crypto.h"

namespace coppice {
namespace {

// Counts the forks since the first call of ForkGeneration().
std::atomic<uint64_t> fork_count;

uint64_t ForkGeneration() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_count.load(std::memory_order_relaxed);
}

// Position of the first undecided draw at or after `from`; draws.size() if there is none.
size_t FindUndecided(absl::Span<const SignedSteps> draws, size_t from) {
  const void* const found =
      std::memchr(draws.data() + from, GeometricTable::kUndecided, draws.size() - from);
  if (found == nullptr) return draws.size();
  return static_cast<size_t>(static_cast<const SignedSteps*>(found) - draws.data());
}

constexpr size_t kWordsIn64Bits = 4;

uint64_t Load64(const uint16_t* from, size_t words = kWordsIn64Bits) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, words * sizeof(*from));
  return bits;
}

// Without a popcnt instruction (the portable baseline) std::popcount is a slow library call.
uint64_t PopCount(uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (bits * 0x0101010101010101) >> 56;
}

}  // namespace

OpenSslRandom::OpenSslRandom() : fork_generation_(ForkGeneration()) {}

OpenSslRandom::~OpenSslRandom() { crypto::Wipe(words_.data(), sizeof(words_)); }

void OpenSslRandom::BeginCall() {
  if constexpr (!kDrawsAhead) next_ = kWords;
}

Status OpenSslRandom::EnsureWord(size_t wanted) {
  const uint64_t generation = fork_count.load(std::memory_order_relaxed);
  if (next_ < kWords && generation == fork_generation_) [[likely]] {
    return OkStatus();
  }
  next_ = kWords;  // the parent has the remaining words too
  fork_generation_ = generation;
  const size_t drawn = kDrawsAhead ? kWords : std::min(wanted, kWords);
  if (!crypto::DrawRandom(words_.data() + (kWords - drawn), drawn * sizeof(uint16_t))) {
    return UnavailableError("the system's random source failed; nothing was randomized");
  }
  next_ = kWords - drawn;
  return OkStatus();
}

StatusOr<uint16_t> OpenSslRandom::NextWord() {
  COPPICE_RETURN_IF_ERROR(EnsureWord(1));
  return words_[next_++];
}

StatusOr<uint64_t> OpenSslRandom::NextBits(int count) {
  if (count == 0) return 0;
  const size_t words = static_cast<size_t>(count + 15) / 16;
  COPPICE_RETURN_IF_ERROR(EnsureWord(words));
  if (kWords - next_ < (kDrawsAhead ? kWordsIn64Bits : words)) {
    next_ = kWords;  // too few bits for any count: skip them
    COPPICE_RETURN_IF_ERROR(EnsureWord(words));
  }
  const uint64_t bits = Load64(words_.data() + next_, kDrawsAhead ? kWordsIn64Bits : words);
  next_ += words;
  return count == 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

StatusOr<uint64_t> OpenSslRandom::UniformBelow(uint64_t bound) {
  BeginCall();
  if (bound == 0) return InvalidArgumentError("the bound of a uniform draw must be positive");
  // Draws as many bits as bound - 1 has, until they are below the bound: a modulo would be biased.
  const int bits = std::bit_width(bound - 1);
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t value, NextBits(bits));
    if (value < bound) return value;
  }
}

StatusOr<bool> OpenSslRandom::Bernoulli(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0 || numerator > denominator) {
    return InvalidArgumentError("a probability must be from 0 to 1");
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t value, UniformBelow(denominator));
  return value < numerator;
}

StatusOr<uint64_t> OpenSslRandom::CountOnes(uint64_t count) {
  uint64_t ones = 0;
  while (count >= 64) {
    COPPICE_RETURN_IF_ERROR(EnsureWord(kWordsIn64Bits));
    const size_t run = std::min<uint64_t>(count / 64, (kWords - next_) / kWordsIn64Bits);
    if (run == 0) next_ = kWords;  // fewer than 64 bits are left: skip them
    const uint16_t* const words = words_.data() + next_;
    for (size_t i = 0; i < run; ++i) ones += PopCount(Load64(words + i * kWordsIn64Bits));
    next_ += run * kWordsIn64Bits;
    count -= run * 64;
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t rest, NextBits(static_cast<int>(count)));
  return ones + PopCount(rest);
}

// Each trial succeeds if a uniform number is less than the probability. All trials reveal one
// binary digit at a time: where the probability's digit is 1, the trials that drew 0 are settled as
// successes; where it is 0, those that drew 1 as failures. Half are settled each time, so it takes
// two bits per trial. Only how many drew what matters, which is a count of ones.
StatusOr<uint64_t> OpenSslRandom::Binomial(uint64_t trials, uint32_t numerator) {
  BeginCall();
  uint64_t successes = 0;
  for (uint32_t digit = uint32_t{1} << 31; digit != 0 && trials > 0; digit >>= 1) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t zeros, CountOnes(trials));  // by symmetry
    if ((numerator & digit) != 0) {
      successes += zeros;
      trials -= zeros;
    } else {
      trials = zeros;
    }
  }
  return successes;  // the unsettled equal the probability, which is not less
}

Status OpenSslRandom::Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) {
  BeginCall();
  while (!out.empty()) {
    COPPICE_RETURN_IF_ERROR(EnsureWord(std::min(out.size(), kMaxRun)));
    const size_t run = std::min({out.size(), kWords - next_, kMaxRun});
    const uint16_t* const words = words_.data() + next_;
    for (size_t i = 0; i < run; ++i) out[i] = table.Lookup(words[i]);
    // The few undecided draws continue with fresh words. Their first words must be read before
    // that, since a refill overwrites them.
    size_t put_off = 0;
    for (size_t i = FindUndecided(PartOf(out, 0, run), 0); i < run;
         i = FindUndecided(PartOf(out, 0, run), i + 1)) {
      undecided_[put_off++] = {.at = static_cast<uint16_t>(i), .first_word = words[i]};
    }
    next_ += run;
    for (const auto& [at, first_word] : PartOf(absl::MakeSpan(undecided_), 0, put_off)) {
      COPPICE_ASSIGN_OR_RETURN(out[at], table.Resolve(first_word, [this] { return NextWord(); }));
    }
    out.remove_prefix(run);
  }
  return OkStatus();
}

}  // namespace coppice
