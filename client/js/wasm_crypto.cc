// crypto.h in WebAssembly: random bytes of the browser or of Node, and the rest by @noble's
// packages of npm, which the bundle calls in the place of these imports (client/js/src/crypto.ts).
// An import reads its arguments from this module's memory and writes its result there; nothing is
// kept in JavaScript.

#include <algorithm>
#include <utility>

#include "common/crypto/crypto.h"

extern "C" {
// Fills all of it, or stops the module: there is no other source to turn to.
__attribute__((import_module("coppice"), import_name("random"))) void coppice_js_random(
    void* to, size_t bytes);
__attribute__((import_module("coppice"), import_name("sha256"))) void coppice_js_sha256(
    const void* from, size_t bytes, uint8_t* hash);
__attribute__((import_module("coppice"), import_name("ed25519_public_key"))) void
coppice_js_ed25519_public_key(const uint8_t* seed, uint8_t* key);
__attribute__((import_module("coppice"), import_name("ed25519_sign"))) void coppice_js_ed25519_sign(
    const uint8_t* seed, const void* message, size_t bytes, uint8_t* signature);
// 1 where it is the key's signature.
__attribute__((import_module("coppice"), import_name("ed25519_verify"))) int32_t
coppice_js_ed25519_verify(const uint8_t* key, const void* message, size_t bytes,
                          const uint8_t* signature);
__attribute__((import_module("coppice"), import_name("x25519_public_key"))) void
coppice_js_x25519_public_key(const uint8_t* secret, uint8_t* key);
// 0 for a point of small order.
__attribute__((import_module("coppice"), import_name("x25519_agree"))) int32_t
coppice_js_x25519_agree(const uint8_t* secret, const uint8_t* peer, uint8_t* shared);
// `aead` as in RFC 9180. Writes plain_bytes + 16 bytes.
__attribute__((import_module("coppice"), import_name("aead_seal"))) void coppice_js_aead_seal(
    int32_t aead, const uint8_t* key, const uint8_t* nonce, const void* aad, size_t aad_bytes,
    const void* plain, size_t plain_bytes, void* sealed);
// Writes sealed_bytes - 16 bytes and returns 1; 0 and nothing where the tag is wrong.
__attribute__((import_module("coppice"), import_name("aead_open"))) int32_t coppice_js_aead_open(
    int32_t aead, const uint8_t* key, const uint8_t* nonce, const void* aad, size_t aad_bytes,
    const void* sealed, size_t sealed_bytes, void* plain);
}

namespace coppice::crypto {

bool DrawRandom(void* to, size_t bytes) {
  coppice_js_random(to, bytes);
  return true;
}

void Wipe(void* secret, size_t bytes) {
  auto* const at = static_cast<volatile uint8_t*>(secret);
  for (size_t i = 0; i < bytes; ++i) at[i] = 0;
}

void ForgetErrors() {}

// ---- SHA-256: what comes is collected, and hashed at the end in one call.

namespace {

std::string& Collected(void* state) { return *static_cast<std::string*>(state); }

void Forget(std::string& text) {
  Wipe(text.data(), text.size());
  text.clear();
}

}  // namespace

Sha256Hash::Sha256Hash()
    : state_(new std::string, [](void* state) {
        Forget(Collected(state));
        delete &Collected(state);
      }) {}

bool Sha256Hash::Begin() {
  Forget(Collected(state_.get()));
  return true;
}

bool Sha256Hash::Add(std::string_view bytes) {
  Collected(state_.get()).append(bytes);
  return true;
}

bool Sha256Hash::Finish(uint8_t* hash) {
  std::string& collected = Collected(state_.get());
  coppice_js_sha256(collected.data(), collected.size(), hash);
  Forget(collected);
  return true;
}

// ---- Ed25519

bool Ed25519PublicKeyOf(const Ed25519Key& seed, Ed25519Key& key) {
  coppice_js_ed25519_public_key(seed.data(), key.data());
  return true;
}

bool Ed25519Sign(const Ed25519Key& seed, std::string_view message, Ed25519Signature& signature) {
  coppice_js_ed25519_sign(seed.data(), message.data(), message.size(), signature.data());
  return true;
}

bool Ed25519Verify(const Ed25519Key& key, std::string_view message,
                   const Ed25519Signature& signature) {
  return coppice_js_ed25519_verify(key.data(), message.data(), message.size(), signature.data()) ==
         1;
}

// ---- X25519

namespace {

X25519Key& SecretOf(const State& state) { return *static_cast<X25519Key*>(state.get()); }
State StateOf(const X25519Key& secret) {
  return State(new X25519Key(secret), [](void* state) {
    auto* const key = static_cast<X25519Key*>(state);
    Wipe(key->data(), key->size());
    delete key;
  });
}

}  // namespace

X25519Secret::X25519Secret(const X25519Key& secret) : state_(StateOf(secret)) {}

X25519Secret X25519Secret::Draw() {
  X25519Key secret;
  DrawRandom(secret.data(), secret.size());
  State state = StateOf(secret);
  Wipe(secret.data(), secret.size());
  return X25519Secret(std::move(state));
}

bool X25519Secret::works() const { return true; }

bool X25519Secret::Export(X25519Key& secret) const {
  secret = SecretOf(state_);
  return true;
}

bool X25519Secret::PublicKey(X25519Key& key) const {
  coppice_js_x25519_public_key(SecretOf(state_).data(), key.data());
  return true;
}

Agreement X25519Secret::Agree(const X25519Key& peer, X25519Key& shared) {
  const int32_t agreed =
      coppice_js_x25519_agree(SecretOf(state_).data(), peer.data(), shared.data());
  return agreed == 1 ? Agreement::kDone : Agreement::kSmallOrder;
}

// ---- Ciphers

namespace {

int32_t AeadOf(const State& state) {
  return static_cast<int32_t>(*static_cast<const Aead*>(state.get()));
}

}  // namespace

Cipher::Cipher(Aead aead)
    : state_(new Aead(aead), [](void* state) { delete static_cast<Aead*>(state); }) {}

bool Cipher::Encrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
                     std::string_view plain, std::string& out) {
  out.assign(plain.size() + kTagBytes, '\0');
  coppice_js_aead_seal(AeadOf(state_), key, nonce, aad.data(), aad.size(), plain.data(),
                       plain.size(), out.data());
  return true;
}

bool Cipher::Decrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
                     std::string_view sealed, std::string& out, bool& works) {
  works = true;
  out.assign(sealed.size() - kTagBytes, '\0');
  return coppice_js_aead_open(AeadOf(state_), key, nonce, aad.data(), aad.size(), sealed.data(),
                              sealed.size(), out.data()) == 1;
}

}  // namespace coppice::crypto
