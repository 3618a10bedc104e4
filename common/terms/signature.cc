#include "common/terms/signature.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

constexpr std::string_view kPinPrefix = "ed25519:";

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using ContextPtr = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

const uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

KeyPtr PrivateKeyOf(const SigningKey::Seed& seed) {
  return KeyPtr(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
}

KeyPtr PublicKeyOf(const PublicKey& key) {
  return KeyPtr(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
}

StatusOr<PublicKey> RawPublicKey(const EVP_PKEY* key) {
  PublicKey raw{};
  size_t size = raw.size();
  if (key == nullptr || EVP_PKEY_id(key) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1 || size != raw.size()) {
    ERR_clear_error();
    return InvalidArgumentError("is no public Ed25519 key");
  }
  return raw;
}

}  // namespace

KeyId KeyIdOf(const PublicKey& key) {
  const Sha256Digest digest = Sha256({AsBytes(key)});
  KeyId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

StatusOr<SigningKey> SigningKey::FromSeed(const Seed& seed) {
  const KeyPtr key = PrivateKeyOf(seed);
  const StatusOr<PublicKey> public_key = RawPublicKey(key.get());
  if (!public_key.ok()) return InternalError("OpenSSL cannot make an Ed25519 key");
  return SigningKey(seed, *public_key);
}

StatusOr<SigningKey> SigningKey::FromPem(std::string_view pem) {
  const KeyPtr key = PrivateKeyFromPem(pem);
  Seed seed;
  size_t size = seed.size();
  if (key == nullptr || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(key.get(), seed.data(), &size) != 1 || size != seed.size()) {
    ERR_clear_error();
    return InvalidArgumentError(
        "is no private Ed25519 key in PEM without a passphrase; make one with `openssl genpkey "
        "-algorithm ed25519`");
  }
  StatusOr<SigningKey> made = FromSeed(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return made;
}

SigningKey::~SigningKey() { OPENSSL_cleanse(seed_.data(), seed_.size()); }

StatusOr<Signature> SigningKey::Sign(std::string_view domain, std::string_view message) const {
  const std::string signed_bytes = StrCat(domain, message);
  const KeyPtr key = PrivateKeyOf(seed_);
  const ContextPtr context(EVP_MD_CTX_new());
  Signature signature{};
  size_t size = signature.size();
  if (key == nullptr || context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, BytesOf(signed_bytes),
                     signed_bytes.size()) != 1 ||
      size != signature.size()) {
    ERR_clear_error();
    return InternalError("OpenSSL cannot sign with Ed25519");
  }
  return signature;
}

bool IsSignedBy(const PublicKey& key, std::string_view domain, std::string_view message,
                const Signature& signature) {
  const std::string signed_bytes = StrCat(domain, message);
  const KeyPtr verifier = PublicKeyOf(key);
  const ContextPtr context(EVP_MD_CTX_new());
  const bool good =
      verifier != nullptr && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, verifier.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), BytesOf(signed_bytes),
                       signed_bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string ToPem(const PublicKey& key) {
  const KeyPtr public_key = PublicKeyOf(key);
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (public_key == nullptr || out == nullptr ||
      PEM_write_bio_PUBKEY(out.get(), public_key.get()) != 1) {
    ERR_clear_error();
    return "";
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string ToPin(const PublicKey& key) { return StrCat(kPinPrefix, Base64Escape(AsBytes(key))); }

StatusOr<PublicKey> ParsePublicKey(std::string_view text) {
  std::string_view pin = StripAsciiWhitespace(text);
  std::string raw;
  PublicKey key;
  if (ConsumePrefix(&pin, kPinPrefix) && Base64Unescape(pin, &raw) && raw.size() == key.size()) {
    std::copy(raw.begin(), raw.end(), key.begin());
    return key;
  }
  if (StrContains(text, "BEGIN PUBLIC KEY")) {
    const StatusOr<PublicKey> parsed = RawPublicKey(PublicKeyFromPem(text).get());
    if (parsed.ok()) return parsed;
  }
  return InvalidArgumentError(
      "is no public Ed25519 key: neither PEM nor \"ed25519:\" and 32 bytes in base64; `coppice "
      "study key` prints the curator's");
}

}  // namespace coppice
