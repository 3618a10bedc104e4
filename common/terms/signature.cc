#include "common/terms/signature.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

constexpr std::string_view kPinPrefix = "ed25519:";
constexpr std::string_view kPemBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kPemEnd = "-----END PUBLIC KEY-----";
// A SubjectPublicKeyInfo of Ed25519 up to its 32 bytes (RFC 8410, section 4): nothing in it varies.
constexpr std::string_view kPublicKeyInfo("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);

std::optional<PublicKey> KeyOf(std::string_view raw) {
  PublicKey key{};
  if (raw.size() != key.size()) return std::nullopt;
  std::copy(raw.begin(), raw.end(), key.begin());
  return key;
}

// The key of the first such block in a PEM text, if it is one of Ed25519.
std::optional<PublicKey> FromPublicPem(std::string_view text) {
  const size_t begin = text.find(kPemBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t from = begin + kPemBegin.size();
  const size_t end = text.find(kPemEnd, from);
  if (end == std::string_view::npos) return std::nullopt;
  std::string base64, der;
  for (const char letter : text.substr(from, end - from)) {
    if (letter != '\n' && letter != '\r' && letter != ' ' && letter != '\t') base64 += letter;
  }
  std::string_view info;
  if (!Base64Unescape(base64, &der)) return std::nullopt;
  info = der;
  if (!ConsumePrefix(&info, kPublicKeyInfo)) return std::nullopt;
  return KeyOf(info);
}

}  // namespace

KeyId KeyIdOf(const PublicKey& key) {
  const Sha256Digest digest = Sha256({AsBytes(key)});
  KeyId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

StatusOr<SigningKey> SigningKey::FromSeed(const Seed& seed) {
  PublicKey public_key{};
  if (crypto::Ed25519PublicKeyOf(seed, public_key)) return SigningKey(seed, public_key);
  crypto::ForgetErrors();
  return InternalError("the library for cryptography cannot make an Ed25519 key");
}

SigningKey::~SigningKey() { crypto::Wipe(seed_.data(), seed_.size()); }

StatusOr<Signature> SigningKey::Sign(std::string_view domain, std::string_view message) const {
  Signature signature{};
  if (crypto::Ed25519Sign(seed_, StrCat(domain, message), signature)) return signature;
  crypto::ForgetErrors();
  return InternalError("the library for cryptography cannot sign with Ed25519");
}

bool IsSignedBy(const PublicKey& key, std::string_view domain, std::string_view message,
                const Signature& signature) {
  const bool good = crypto::Ed25519Verify(key, StrCat(domain, message), signature);
  crypto::ForgetErrors();
  return good;
}

std::string ToPem(const PublicKey& key) {
  return StrCat(kPemBegin, "\n", Base64Escape(StrCat(kPublicKeyInfo, AsBytes(key))), "\n", kPemEnd,
                "\n");
}

std::string ToPin(const PublicKey& key) { return StrCat(kPinPrefix, Base64Escape(AsBytes(key))); }

StatusOr<PublicKey> ParsePublicKey(std::string_view text) {
  std::string_view pin = StripAsciiWhitespace(text);
  std::string raw;
  std::optional<PublicKey> key;
  if (ConsumePrefix(&pin, kPinPrefix) && Base64Unescape(pin, &raw)) key = KeyOf(raw);
  if (!key.has_value()) key = FromPublicPem(text);
  if (key.has_value()) return *key;
  return InvalidArgumentError(
      "is no public Ed25519 key: neither PEM nor \"ed25519:\" and 32 bytes in base64; `coppice "
      "study key` prints the curator's");
}

}  // namespace coppice
