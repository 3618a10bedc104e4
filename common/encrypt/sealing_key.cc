#include "common/encrypt/sealing_key.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"
#include "common/terms/sha256.h"

namespace coppice::seal {
namespace {

constexpr std::string_view kKeyIdPrefix("coppice.v1.sealing_key\0", 23);
// KEM DHKEM(X25519, HKDF-SHA256) and KDF HKDF-SHA256, two bytes each.
constexpr std::string_view kKemAndKdf("\x00\x20\x00\x01", 4);

Status NoX25519() {
  crypto::ForgetErrors();
  return InternalError("the library for cryptography cannot make an X25519 key");
}

}  // namespace

SealingKeyId SealingKeyIdOf(Aead aead, const SealingPublicKey& key) {
  const char aead_bytes[] = {static_cast<char>(static_cast<uint16_t>(aead) >> 8),
                             static_cast<char>(static_cast<uint16_t>(aead) & 0xff)};
  const Sha256Digest digest = Sha256(
      {kKeyIdPrefix, kKemAndKdf, std::string_view(aead_bytes, sizeof(aead_bytes)), AsBytes(key)});
  SealingKeyId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

StatusOr<SealingKey> SealingKey::Generate() {
  SealingKey made;
  const crypto::X25519Secret key = crypto::X25519Secret::Draw();
  if (!key.works()) {
    crypto::ForgetErrors();
    return UnavailableError("the system's random source failed; no sealing key was made");
  }
  if (key.Export(made.secret_) && key.PublicKey(made.public_key_)) return made;
  return NoX25519();
}

StatusOr<SealingKey> SealingKey::FromSecret(const Secret& secret) {
  SealingKey made;
  made.secret_ = secret;
  const crypto::X25519Secret key(secret);
  if (key.works() && key.PublicKey(made.public_key_)) return made;
  return NoX25519();
}

SealingKey::~SealingKey() { crypto::Wipe(secret_.data(), secret_.size()); }

}  // namespace coppice::seal
