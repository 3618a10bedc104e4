#include "common/coins/coins.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <bit>
#include <cstring>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {

StatusOr<CoinSeed> CoinSeed::Draw() {
  CoinSeed seed;
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(seed.bytes_.data(), static_cast<int>(kBytes)) == 1) return seed;
  return UnavailableError("the system's random source failed; nothing was drawn");
}

StatusOr<CoinSeed> CoinSeed::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) return InvalidArgumentError("the seed of coins has 32 bytes");
  CoinSeed seed;
  std::memcpy(seed.bytes_.data(), bytes.data(), kBytes);
  return seed;
}

CoinSeed::~CoinSeed() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

SeededCoins::SeededCoins(const CoinSeed& seed) : context_(EVP_CIPHER_CTX_new()) {
  static_assert(CoinSeed::kBytes == 32, "a key of AES-256");
  constexpr uint8_t kCounter[16] = {};  // each seed is used for one stream
  if (context_ == nullptr) return;
  const auto* const key = reinterpret_cast<const uint8_t*>(seed.bytes().data());
  if (EVP_EncryptInit_ex(context_, EVP_aes_256_ctr(), nullptr, key, kCounter) != 1) {
    EVP_CIPHER_CTX_reset(context_);  // Refill() then fails
  }
}

SeededCoins::~SeededCoins() {
  EVP_CIPHER_CTX_free(context_);
  OPENSSL_cleanse(words_.data(), sizeof(words_));
}

Status SeededCoins::Refill() {
  words_.fill(0);
  auto* const bytes = reinterpret_cast<uint8_t*>(words_.data());
  int written = 0;
  if (context_ == nullptr ||
      EVP_EncryptUpdate(context_, bytes, &written, bytes, sizeof(words_)) != 1 ||
      written != static_cast<int>(sizeof(words_))) {
    return UnavailableError("OpenSSL's AES failed; no coin was drawn");
  }
  // The same coins on every machine.
  if constexpr (std::endian::native == std::endian::big) {
    for (uint64_t& word : words_) word = __builtin_bswap64(word);
  }
  next_ = 0;
  return OkStatus();
}

StatusOr<uint64_t> SeededCoins::UniformBelow(uint64_t bound) {
  if (bound == 0) return InvalidArgumentError("the bound of a uniform draw must be positive");
  if (bound == 1) return 0;
  // As many bits as bound - 1 has, until they are below the bound: a modulo would be biased.
  const uint64_t mask = ~uint64_t{0} >> std::countl_zero(bound - 1);
  while (true) {
    if (next_ == kWords) COPPICE_RETURN_IF_ERROR(Refill());
    const uint64_t value = words_[next_++] & mask;
    if (value < bound) return value;
  }
}

StatusOr<bool> SeededCoins::Bernoulli(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0 || numerator > denominator) {
    return InvalidArgumentError("a probability must be from 0 to 1");
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t value, UniformBelow(denominator));
  return value < numerator;
}

}  // namespace coppice
