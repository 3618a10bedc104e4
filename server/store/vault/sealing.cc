#include "server/store/vault/sealing.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::vault {
namespace {

constexpr char kVersion = 1;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kMaxPlainBytes = size_t{1} << 30;  // OpenSSL counts in int
static_assert(kSealedOverhead == 1 + kNonceBytes + kTagBytes);

enum class Direction : int { kOpen = 0, kSeal = 1 };

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// AES-256-GCM for one thread and one direction. It keeps the last key, because setting the same key
// again takes longer than sealing a small record.
class Cipher {
 public:
  explicit Cipher(Direction direction) : direction_(direction) {}

  bool Begin(const SecretKey& key, const uint8_t* nonce, std::string_view label) {
    int size = 0;
    return Use(key) &&
           EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce, -1) == 1 &&
           EVP_CipherUpdate(context_.get(), nullptr, &size, Bytes(label),
                            static_cast<int>(label.size())) == 1;
  }
  // Appends to `out` piece by piece: each piece is copied from the processor's cache, and a
  // large record is not filled with zeros first.
  bool Transform(std::string_view in, std::string& out) {
    uint8_t piece[kPieceBytes];
    for (; !in.empty(); in.remove_prefix(std::min(in.size(), kPieceBytes))) {
      const size_t bytes = std::min(in.size(), kPieceBytes);
      int size = 0;
      if (EVP_CipherUpdate(context_.get(), piece, &size, Bytes(in), static_cast<int>(bytes)) != 1 ||
          static_cast<size_t>(size) != bytes) {
        return false;
      }
      out.append(reinterpret_cast<const char*>(piece), bytes);
    }
    return true;
  }
  bool Finish() {
    int size = 0;
    uint8_t none[kTagBytes];  // GCM writes nothing here
    return EVP_CipherFinal_ex(context_.get(), none, &size) == 1;
  }
  bool AppendTag(std::string& out) {
    char tag[kTagBytes];
    if (EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) != 1) {
      return false;
    }
    out.append(tag, kTagBytes);
    return true;
  }
  bool SetTag(std::string_view tag) {
    return EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes,
                               const_cast<char*>(tag.data())) == 1;
  }
  // Makes the next use set its key again: nothing of a failed use may reach it.
  void Forget() { key_.reset(); }

 private:
  static constexpr size_t kPieceBytes = size_t{16} << 10;

  bool Use(const SecretKey& key) {
    if (key_.has_value() && key_->bytes() == key.bytes()) return true;
    static const EVP_CIPHER* const kCipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    key_.reset();
    if (kCipher == nullptr || context_ == nullptr ||
        EVP_CipherInit_ex(context_.get(), kCipher, nullptr, key.data(), nullptr,
                          static_cast<int>(direction_)) != 1) {
      return false;
    }
    key_ = key;
    return true;
  }

  const Direction direction_;
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_{
      EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  std::optional<SecretKey> key_;
};

}  // namespace

StatusOr<SecretKey> SecretKey::Make() {
  SecretKey key;
  if (RAND_priv_bytes(key.bytes_.data(), static_cast<int>(kBytes)) == 1) return key;
  return UnavailableError("the system random source failed");
}

StatusOr<SecretKey> SecretKey::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) return InvalidArgumentError("a key has 32 bytes");
  SecretKey key;
  std::copy(bytes.begin(), bytes.end(), key.bytes_.begin());
  return key;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

void Wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

StatusOr<std::string> Seal(const SecretKey& key, std::string_view label, std::string_view plain) {
  if (plain.size() > kMaxPlainBytes) {
    return InvalidArgumentError("a record to seal has more than 2^30 bytes");
  }
  uint8_t nonce[kNonceBytes];
  if (RAND_bytes(nonce, kNonceBytes) != 1) {
    return UnavailableError("the system random source failed");
  }
  std::string sealed;
  sealed.reserve(plain.size() + kSealedOverhead);
  sealed.push_back(kVersion);
  sealed.append(reinterpret_cast<const char*>(nonce), kNonceBytes);
  thread_local Cipher cipher(Direction::kSeal);
  if (cipher.Begin(key, nonce, label) && cipher.Transform(plain, sealed) && cipher.Finish() &&
      cipher.AppendTag(sealed)) {
    return sealed;
  }
  cipher.Forget();
  return InternalError("OpenSSL cannot compute AES-256-GCM");
}

StatusOr<std::string> Open(const SecretKey& key, std::string_view label, std::string_view sealed) {
  if (sealed.size() < kSealedOverhead || sealed.front() != kVersion) {
    return DataLossError("is not sealed as this version seals");
  }
  const std::string_view nonce = sealed.substr(1, kNonceBytes);
  const std::string_view body = sealed.substr(1 + kNonceBytes, sealed.size() - kSealedOverhead);
  std::string plain;
  plain.reserve(body.size());
  thread_local Cipher cipher(Direction::kOpen);
  if (cipher.Begin(key, Bytes(nonce), label) && cipher.Transform(body, plain) &&
      cipher.SetTag(sealed.substr(sealed.size() - kTagBytes)) && cipher.Finish()) {
    return plain;
  }
  cipher.Forget();
  return DataLossError("does not open with its key: it was changed, or belongs elsewhere");
}

}  // namespace coppice::vault
