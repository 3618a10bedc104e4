// crypto.h by OpenSSL.

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "common/crypto/crypto.h"

namespace coppice::crypto {
namespace {

struct OpenSslDelete {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, OpenSslDelete>;

const uint8_t* Raw(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

}  // namespace

// Only 1 is success; 0 and -1 are not.
bool DrawRandom(void* to, size_t bytes) {
  return RAND_priv_bytes(static_cast<unsigned char*>(to), static_cast<int>(bytes)) == 1;
}

void Wipe(void* secret, size_t bytes) { OPENSSL_cleanse(secret, bytes); }

void ForgetErrors() { ERR_clear_error(); }

// ---- SHA-256

namespace {

EVP_MD_CTX* HashOf(void* state) { return static_cast<EVP_MD_CTX*>(state); }

}  // namespace

Sha256Hash::Sha256Hash()
    : state_(EVP_MD_CTX_new(), [](void* state) { EVP_MD_CTX_free(HashOf(state)); }) {}

bool Sha256Hash::Begin() {
  // Fetched once: EVP_sha256() looks it up each time, which takes longer than a short message.
  static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kSha256 != nullptr && state_ != nullptr &&
         EVP_DigestInit_ex(HashOf(state_.get()), kSha256, nullptr) == 1;
}

bool Sha256Hash::Add(std::string_view bytes) {
  return EVP_DigestUpdate(HashOf(state_.get()), bytes.data(), bytes.size()) == 1;
}

bool Sha256Hash::Finish(uint8_t* hash) {
  return EVP_DigestFinal_ex(HashOf(state_.get()), hash, nullptr) == 1;
}

// ---- Ed25519

namespace {

Owned<EVP_PKEY> SignerOf(const Ed25519Key& seed) {
  return Owned<EVP_PKEY>(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
}

bool PublicBytes(const EVP_PKEY* key, std::array<uint8_t, 32>& bytes) {
  size_t size = bytes.size();
  return key != nullptr && EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1 &&
         size == bytes.size();
}

}  // namespace

bool Ed25519PublicKeyOf(const Ed25519Key& seed, Ed25519Key& key) {
  return PublicBytes(SignerOf(seed).get(), key);
}

bool Ed25519Sign(const Ed25519Key& seed, std::string_view message, Ed25519Signature& signature) {
  const Owned<EVP_PKEY> key = SignerOf(seed);
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  size_t size = signature.size();
  return key != nullptr && context != nullptr &&
         EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestSign(context.get(), signature.data(), &size, Raw(message), message.size()) ==
             1 &&
         size == signature.size();
}

bool Ed25519Verify(const Ed25519Key& key, std::string_view message,
                   const Ed25519Signature& signature) {
  const Owned<EVP_PKEY> verifier(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  return verifier != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, verifier.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), Raw(message),
                          message.size()) == 1;
}

// ---- X25519

namespace {

struct KeyPair {
  explicit KeyPair(EVP_PKEY* made)
      : key(made),
        ours(made == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, made, nullptr)) {}

  bool SetPeer(const X25519Key& to) {
    // A new object for each peer would cost a tenth of the curve's time.
    if (peer == nullptr) {
      peer.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, to.data(), to.size()));
      return peer != nullptr && EVP_PKEY_derive_init(ours.get()) == 1;
    }
    return EVP_PKEY_set1_encoded_public_key(peer.get(), to.data(), to.size()) == 1;
  }

  const Owned<EVP_PKEY> key;
  const Owned<EVP_PKEY_CTX> ours;
  Owned<EVP_PKEY> peer;  // holds each in turn
};

KeyPair& KeyPairOf(const State& state) { return *static_cast<KeyPair*>(state.get()); }
State StateOf(EVP_PKEY* made) {
  return State(new KeyPair(made), [](void* state) { delete static_cast<KeyPair*>(state); });
}

}  // namespace

X25519Secret::X25519Secret(const X25519Key& secret)
    : state_(StateOf(
          EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()))) {}

X25519Secret X25519Secret::Draw() {
  return X25519Secret(StateOf(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")));
}

bool X25519Secret::works() const {
  const KeyPair& pair = KeyPairOf(state_);
  return pair.key != nullptr && pair.ours != nullptr;
}

bool X25519Secret::Export(X25519Key& secret) const {
  size_t size = secret.size();
  return EVP_PKEY_get_raw_private_key(KeyPairOf(state_).key.get(), secret.data(), &size) == 1 &&
         size == secret.size();
}

bool X25519Secret::PublicKey(X25519Key& key) const {
  return PublicBytes(KeyPairOf(state_).key.get(), key);
}

// OpenSSL refuses a point of small order, whose result would be zero.
Agreement X25519Secret::Agree(const X25519Key& peer, X25519Key& shared) {
  KeyPair& pair = KeyPairOf(state_);
  if (!pair.SetPeer(peer) ||
      EVP_PKEY_derive_set_peer_ex(pair.ours.get(), pair.peer.get(), 0) != 1) {
    return Agreement::kFailed;
  }
  size_t size = shared.size();
  const bool agreed = EVP_PKEY_derive(pair.ours.get(), shared.data(), &size) == 1;
  return agreed && size == shared.size() ? Agreement::kDone : Agreement::kSmallOrder;
}

// ---- Ciphers

namespace {

const EVP_CIPHER* FetchCipher(Aead aead) {
  static const EVP_CIPHER* const kAes = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr);
  static const EVP_CIPHER* const kChaCha = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  return aead == Aead::kAes128Gcm ? kAes : kChaCha;
}

struct CipherObject {
  bool Begin(const uint8_t* key, const uint8_t* nonce, std::string_view aad, int encrypts) {
    int size = 0;
    // Naming the cipher again would recreate its object.
    const EVP_CIPHER* const named = has_cipher ? nullptr : cipher;
    has_cipher = cipher != nullptr && context != nullptr &&
                 EVP_CipherInit_ex(context.get(), named, nullptr, key, nonce, encrypts) == 1;
    return has_cipher && EVP_CipherUpdate(context.get(), nullptr, &size, Raw(aad),
                                          static_cast<int>(aad.size())) == 1;
  }
  bool Update(std::string_view in, uint8_t* out) {
    int size = 0;
    uint8_t none[kTagBytes];  // these ciphers write nothing at their end
    return EVP_CipherUpdate(context.get(), out, &size, Raw(in), static_cast<int>(in.size())) == 1 &&
           EVP_CipherFinal_ex(context.get(), none, &size) == 1;
  }

  const EVP_CIPHER* const cipher;
  const Owned<EVP_CIPHER_CTX> context{EVP_CIPHER_CTX_new()};
  bool has_cipher = false;
};

CipherObject& CipherOf(const State& state) { return *static_cast<CipherObject*>(state.get()); }

}  // namespace

Cipher::Cipher(Aead aead)
    : state_(new CipherObject{.cipher = FetchCipher(aead)},
             [](void* state) { delete static_cast<CipherObject*>(state); }) {}

bool Cipher::Encrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
                     std::string_view plain, std::string& out) {
  out.assign(plain.size() + kTagBytes, '\0');
  uint8_t* const to = reinterpret_cast<uint8_t*>(out.data());
  CipherObject& cipher = CipherOf(state_);
  return cipher.Begin(key, nonce, aad, /*encrypts=*/1) && cipher.Update(plain, to) &&
         EVP_CIPHER_CTX_ctrl(cipher.context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                             to + plain.size()) == 1;
}

bool Cipher::Decrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
                     std::string_view sealed, std::string& out, bool& works) {
  const std::string_view body = sealed.substr(0, sealed.size() - kTagBytes);
  uint8_t tag[kTagBytes];
  std::copy_n(Raw(sealed) + body.size(), kTagBytes, tag);
  out.assign(body.size(), '\0');
  CipherObject& cipher = CipherOf(state_);
  works = cipher.Begin(key, nonce, aad, /*encrypts=*/0) &&
          EVP_CIPHER_CTX_ctrl(cipher.context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) == 1;
  return works && cipher.Update(body, reinterpret_cast<uint8_t*>(out.data()));
}

}  // namespace coppice::crypto
