// Ed25519 signatures (RFC 8032): the curator signs, devices verify.
//
// Guarantee  every signature is over `domain` and then the message, and every domain ends with a
//            zero byte that it has nowhere else, so a signature of one kind is never one of
//            another. Signing is deterministic: the same key and message give the same bytes.
// Errors     InvalidArgument: a text that is no key; the message says what is expected. Internal:
//            the library for cryptography cannot sign.
// Threads    all of it immutable; safe to share.

#ifndef COPPICE_COMMON_TERMS_SIGNATURE_H_
#define COPPICE_COMMON_TERMS_SIGNATURE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

using PublicKey = std::array<uint8_t, 32>;
using Signature = std::array<uint8_t, 64>;

// The first 16 bytes of SHA-256 of the public key's 32 bytes. A name, not a check.
using KeyId = std::array<uint8_t, 16>;
KeyId KeyIdOf(const PublicKey& key);

inline constexpr std::string_view kManifestDomain("coppice.v1.manifest\0", 20);
inline constexpr std::string_view kModelDomain("coppice.v1.model\0", 17);
inline constexpr std::string_view kEndorsementDomain("coppice.v1.key\0", 15);
// Signs a challenge that the caller draws, and the direct key (ProvenBytes() in manifest.h), so
// that the answer proves who has the key, whoever passes it on.
inline constexpr std::string_view kCuratorDomain("coppice.v1.curator\0", 19);
// A study's end: it takes no more reports.
inline constexpr std::string_view kClosingDomain("coppice.v1.closing\0", 19);
inline constexpr std::string_view kAuditDomain("coppice.v1.audit\0", 17);
// Domains of a relay: its promise to devices, and the batches that it delivers.
inline constexpr std::string_view kRelayDomain("coppice.v1.relay\0", 17);
inline constexpr std::string_view kBatchDomain("coppice.v1.batch\0", 17);
inline constexpr size_t kChallengeBytes = 32;

// Secret; the destructor wipes it.
class SigningKey {
 public:
  using Seed = std::array<uint8_t, 32>;

  // A new key needs 32 bytes from a private generator.
  static StatusOr<SigningKey> FromSeed(const Seed& seed);
  // PKCS#8 in PEM without a passphrase, as `openssl genpkey -algorithm ed25519` writes it.
  static StatusOr<SigningKey> FromPem(std::string_view pem);

  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;
  ~SigningKey();

  const Seed& seed() const { return seed_; }
  const PublicKey& public_key() const { return public_key_; }
  StatusOr<Signature> Sign(std::string_view domain, std::string_view message) const;

 private:
  SigningKey(const Seed& seed, const PublicKey& public_key)
      : seed_(seed), public_key_(public_key) {}

  Seed seed_;
  PublicKey public_key_;
};

bool IsSignedBy(const PublicKey& key, std::string_view domain, std::string_view message,
                const Signature& signature);

// A public key as text: PEM (SubjectPublicKeyInfo), or "ed25519:" and its 32 bytes in base64.
std::string ToPem(const PublicKey& key);
std::string ToPin(const PublicKey& key);
// Parses either, with white space around it.
StatusOr<PublicKey> ParsePublicKey(std::string_view text);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_SIGNATURE_H_
