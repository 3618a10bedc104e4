#include "common/privacy/openssl_random.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "absl/status/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// Counts the forks between this process and the one that first asked.
std::atomic<uint64_t> fork_count{0};

uint64_t ForkGeneration() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_count.load(std::memory_order_relaxed);
}

}  // namespace

OpenSslRandom::OpenSslRandom() : fork_generation_(ForkGeneration()) {}

OpenSslRandom::~OpenSslRandom() { OPENSSL_cleanse(words_.data(), sizeof(words_)); }

absl::Status OpenSslRandom::EnsureWord() {
  const uint64_t generation = fork_count.load(std::memory_order_relaxed);
  if (next_ < kWords && generation == fork_generation_) [[likely]] {
    return absl::OkStatus();
  }
  next_ = kWords;  // whatever is left belongs to the parent as well
  fork_generation_ = generation;
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(words_.data()), sizeof(words_)) != 1) {
    return absl::UnavailableError("the system's random source failed; nothing was randomized");
  }
  next_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<uint16_t> OpenSslRandom::NextWord() {
  COPPICE_RETURN_IF_ERROR(EnsureWord());
  return words_[next_++];
}

absl::StatusOr<uint64_t> OpenSslRandom::NextBits(int count) {
  uint64_t bits = 0;
  for (int have = 0; have < count; have += 16) {
    COPPICE_ASSIGN_OR_RETURN(const uint16_t word, NextWord());
    bits = bits << 16 | word;
  }
  return count == 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

absl::StatusOr<uint64_t> OpenSslRandom::UniformBelow(uint64_t bound) {
  if (bound == 0) return absl::InvalidArgumentError("the bound of a uniform draw must be positive");
  // As many bits as bound - 1 has, until they are below the bound: never a modulo.
  const int bits = std::bit_width(bound - 1);
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t value, NextBits(bits));
    if (value < bound) return value;
  }
}

absl::StatusOr<bool> OpenSslRandom::Bernoulli(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0 || numerator > denominator) {
    return absl::InvalidArgumentError("a probability must be from 0 to 1");
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t value, UniformBelow(denominator));
  return value < numerator;
}

absl::Status OpenSslRandom::Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) {
  size_t done = 0;
  while (done < out.size()) {
    COPPICE_RETURN_IF_ERROR(EnsureWord());
    // The common case is one table look-up a word; stop at the first word that does not decide.
    const size_t run = std::min(out.size() - done, kWords - next_);
    const uint16_t* const words = words_.data() + next_;
    size_t i = 0;
    for (; i < run; ++i) {
      const SignedSteps draw = table.Lookup(words[i]);
      if (draw == GeometricTable::kUndecided) [[unlikely]] {
        break;
      }
      out[done + i] = draw;
    }
    next_ += i;
    done += i;
    if (i == run) continue;
    const uint16_t first_word = words_[next_++];
    COPPICE_ASSIGN_OR_RETURN(out[done], table.Resolve(first_word, [this] { return NextWord(); }));
    ++done;
  }
  return absl::OkStatus();
}

}  // namespace coppice
