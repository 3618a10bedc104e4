// Authenticated encryption of the store's private records.

#ifndef COPPICE_SERVER_STORE_VAULT_SEALING_H_
#define COPPICE_SERVER_STORE_VAULT_SEALING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice::vault {

// 32 secret bytes, wiped from memory when the object ends.
class SecretKey {
 public:
  static constexpr size_t kBytes = 32;

  // Unavailable if the system's random source fails.
  static StatusOr<SecretKey> Make();
  // InvalidArgument unless there are kBytes bytes.
  static StatusOr<SecretKey> FromBytes(std::string_view bytes);

  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  const uint8_t* data() const { return bytes_.data(); }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  SecretKey() = default;

  std::array<uint8_t, kBytes> bytes_{};
};

// Overwrites a text that was secret.
void Wipe(std::string& text);

// The bytes of version, nonce and tag.
inline constexpr size_t kSealedOverhead = 1 + 12 + 16;

// Seals `plain` under `key` by AES-256-GCM: a version byte, a nonce, the ciphertext, the tag. The
// version byte is 1, which begins no protobuf message, so nothing sealed parses as a record.
//
// `label` says what the bytes are and where they belong. It is not stored: bytes that are moved
// elsewhere do not open.
//
// Guarantee  nonces are 96 random bits. After 2^32 messages under one key the probability that
//            a nonce repeats is below 2^-33; a dataset has at most 2^26 messages (docs/storage.md).
// Errors     InvalidArgument above 2^30 bytes; Unavailable if the random source fails; Internal if
//            OpenSSL lacks the cipher.
// Source     NIST SP 800-38D, section 8.2.2.
StatusOr<std::string> Seal(const SecretKey& key, std::string_view label, std::string_view plain);

// DataLoss if `sealed` is not what Seal() made with this key and label.
StatusOr<std::string> Open(const SecretKey& key, std::string_view label, std::string_view sealed);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_SEALING_H_
