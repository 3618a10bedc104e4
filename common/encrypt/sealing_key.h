// The key pair that a study's reports are sealed for: devices know the public half, and only the
// curator has the private half.

#ifndef COPPICE_COMMON_ENCRYPT_SEALING_KEY_H_
#define COPPICE_COMMON_ENCRYPT_SEALING_KEY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/crypto/crypto.h"

namespace coppice::seal {

// A study has one for all its devices: a choice per device would reveal weak processors.
using crypto::Aead;

inline constexpr size_t kSealingKeyBytes = 32;  // X25519, either half
using SealingPublicKey = std::array<uint8_t, kSealingKeyBytes>;

// Identifies a public key together with its suite: the first 16 bytes of SHA-256 of a fixed text,
// the suite's identifiers and the key. It is a name, not a check.
using SealingKeyId = std::array<uint8_t, 16>;
SealingKeyId SealingKeyIdOf(Aead aead, const SealingPublicKey& key);

// A private X25519 key.
//
// Guarantee  Generate() draws from the private generator. The destructor wipes the key from
//            memory.
// Errors     InvalidArgument: a text or a file that is no such key; the message says what to do.
//            FailedPrecondition: a key file that everybody on the machine may open. Unavailable:
//            the random source or the file system fails. Internal: the library for cryptography
//            lacks X25519.
// Threads    immutable; safe to share.
// Source     RFC 7748.
class SealingKey {
 public:
  using Secret = std::array<uint8_t, kSealingKeyBytes>;

  static StatusOr<SealingKey> Generate();
  static StatusOr<SealingKey> FromSecret(const Secret& secret);
  // PKCS#8 in PEM without a passphrase, as `openssl genpkey -algorithm x25519` writes it.
  static StatusOr<SealingKey> FromPem(std::string_view pem);
  // Reads a PEM file, which only its owner and its group may access. Errors name the file.
  static StatusOr<SealingKey> Load(const std::string& path);

  SealingKey(const SealingKey&) = default;
  SealingKey& operator=(const SealingKey&) = default;
  ~SealingKey();

  // Writes a new file that only its owner may access; AlreadyExists if there is one.
  Status Save(const std::string& path) const;

  const Secret& secret() const { return secret_; }
  const SealingPublicKey& public_key() const { return public_key_; }

 private:
  SealingKey() = default;

  Secret secret_{};
  SealingPublicKey public_key_{};
};

// Overwrites the file of a key that is no longer needed, and removes it: nobody can then open
// recorded reports. A file system or a disk that writes elsewhere (snapshots, flash) may keep the
// old bytes, and so do backups. NotFound or Unavailable, naming the file.
Status EraseKeyFile(const std::string& path);

}  // namespace coppice::seal

#endif  // COPPICE_COMMON_ENCRYPT_SEALING_KEY_H_
