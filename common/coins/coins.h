// Coins that decide which rows a computation sees: which tree's group a row is in, or whether its
// label is used. They do not depend on rows, so they are no release and cost nothing.
//
// They are a type of their own, beside PrivateRandom, because a computation that is repeated must
// toss them as before, while its noise must always be fresh: were a row's group drawn anew, a row
// that one tree has seen could fall to a later one, and two parts of the budget would be spent on
// it where one was charged. What takes Coins may be given repeatable ones; what adds noise cannot.

#ifndef COPPICE_COMMON_COINS_COINS_H_
#define COPPICE_COMMON_COINS_COINS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/privacy/private_random.h"

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX

namespace coppice {

// Guarantee  each draw has the stated law, and draws are independent, for everybody who does not
//            know the source.
// Errors     Unavailable if the source fails.
// Threads    not safe to share.
class Coins {
 public:
  virtual ~Coins() = default;

  // Uniform on {0, ..., bound - 1}. InvalidArgument if bound is 0.
  virtual StatusOr<uint64_t> UniformBelow(uint64_t bound) = 0;

  // True with probability numerator / denominator. InvalidArgument if that exceeds 1 or the
  // denominator is 0.
  virtual StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) = 0;
};

// The coins of a source of noise, which nobody can repeat.
class FreshCoins final : public Coins {
 public:
  // `random` must outlive this.
  explicit FreshCoins(PrivateRandom& random) : random_(random) {}

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override { return random_.UniformBelow(bound); }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    return random_.Bernoulli(numerator, denominator);
  }

 private:
  PrivateRandom& random_;
};

// What all coins of a job follow from. Whoever knows it knows which rows each part of a model has
// seen, and one row more or less moves the rows after it to other parts: the guarantee holds only
// for those who do not know it. The destructor wipes it.
class CoinSeed {
 public:
  static constexpr size_t kBytes = 32;

  // From OpenSSL's private generator. Unavailable if that fails.
  static StatusOr<CoinSeed> Draw();
  // InvalidArgument unless there are kBytes bytes.
  static StatusOr<CoinSeed> FromBytes(std::string_view bytes);

  CoinSeed(const CoinSeed&) = default;
  CoinSeed& operator=(const CoinSeed&) = default;
  ~CoinSeed();

  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  CoinSeed() = default;

  std::array<uint8_t, kBytes> bytes_{};
};

// The coins of a seed, always the same ones: the key stream of AES-256 in counter mode.
class SeededCoins final : public Coins {
 public:
  explicit SeededCoins(const CoinSeed& seed);
  ~SeededCoins() override;
  SeededCoins(const SeededCoins&) = delete;
  SeededCoins& operator=(const SeededCoins&) = delete;

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override;
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override;

 private:
  static constexpr size_t kWords = 1024;

  Status Refill();

  evp_cipher_ctx_st* const context_;  // null: OpenSSL failed
  std::array<uint64_t, kWords> words_{};
  size_t next_ = kWords;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_COINS_COINS_H_
