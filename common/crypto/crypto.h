// The cryptography that a device takes from elsewhere: random bytes, SHA-256, Ed25519, X25519 and
// two authenticated ciphers. What is built of them (signed messages, HPKE, the journal's chain) is
// the same everywhere; this header has two implementations:
//
//   openssl_crypto.cc             on Linux, by OpenSSL
//   client/js/wasm_crypto.cc      in WebAssembly, by functions of the page's bundle
//
// Guarantee  Random bytes come from the system's generator for secrets, and there is no way to seed
//            it from here: OpenSSL's RAND_priv_bytes, or crypto.getRandomValues. Keys that the
//            classes hold are wiped by their destructors.
// Errors     false, or kFailed, where the library lacks a part or the generator fails.
// Threads    functions: safe to share; classes: one thread at a time.

#ifndef COPPICE_COMMON_CRYPTO_CRYPTO_H_
#define COPPICE_COMMON_CRYPTO_CRYPTO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coppice::crypto {

// Fills `to` with random bytes that must stay secret.
bool DrawRandom(void* to, size_t bytes);

// How many random bytes a generator may draw ahead. OpenSSL's costs much per call. A page's memory
// may be copied with what was drawn ahead in it and run twice, so there nothing is.
#ifdef __wasm__
inline constexpr size_t kMaxDrawnAhead = 0;
#else
inline constexpr size_t kMaxDrawnAhead = size_t{1} << 14;
#endif

// Overwrites secrets, which the compiler does not take for a useless write.
void Wipe(void* secret, size_t bytes);

inline constexpr size_t kHashBytes = 32;

// An object of the library's, which only the implementation knows.
using State = std::unique_ptr<void, void (*)(void*)>;

// SHA-256, again and again: Begin() starts a new hash.
class Sha256Hash {
 public:
  Sha256Hash();

  bool Begin();
  bool Add(std::string_view bytes);
  // Writes kHashBytes bytes.
  bool Finish(uint8_t* hash);

 private:
  State state_;
};

// Ed25519 (RFC 8032); a seed is the private key's 32 bytes.
using Ed25519Key = std::array<uint8_t, 32>;
using Ed25519Signature = std::array<uint8_t, 64>;
bool Ed25519PublicKeyOf(const Ed25519Key& seed, Ed25519Key& key);
bool Ed25519Sign(const Ed25519Key& seed, std::string_view message, Ed25519Signature& signature);
bool Ed25519Verify(const Ed25519Key& key, std::string_view message,
                   const Ed25519Signature& signature);

// A private X25519 key (RFC 7748). Making one takes longer than its use, so keep it.
using X25519Key = std::array<uint8_t, 32>;
enum class Agreement { kDone, kSmallOrder, kFailed };
class X25519Secret {
 public:
  // Draws a new one.
  static X25519Secret Draw();
  explicit X25519Secret(const X25519Key& secret);

  // False if it could not be made; nothing else may be called then.
  bool works() const;
  bool Export(X25519Key& secret) const;
  bool PublicKey(X25519Key& key) const;
  // What the two ends share. kSmallOrder: with this key everybody would share the same.
  Agreement Agree(const X25519Key& peer, X25519Key& shared);

 private:
  explicit X25519Secret(State state) : state_(std::move(state)) {}

  State state_;
};

// Identifiers of RFC 9180, section 7.3.
enum class Aead : uint16_t { kAes128Gcm = 1, kChaCha20Poly1305 = 3 };
inline constexpr size_t kTagBytes = 16;
inline constexpr size_t kNonceBytes = 12;
constexpr size_t KeyBytesOf(Aead aead) { return aead == Aead::kAes128Gcm ? 16 : 32; }

// One authenticated cipher. `key` has KeyBytesOf() bytes, `nonce` kNonceBytes.
class Cipher {
 public:
  explicit Cipher(Aead aead);

  // Sets `out` to the ciphertext and its tag.
  bool Encrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
               std::string_view plain, std::string& out);
  // `sealed` has kTagBytes bytes or more. Where the tag is wrong, `out` may hold bytes that nobody
  // vouches for. Something else failed if `works` is false too.
  bool Decrypt(const uint8_t* key, const uint8_t* nonce, std::string_view aad,
               std::string_view sealed, std::string& out, bool& works);

 private:
  State state_;
};

// What the library's last failure left behind in this thread.
void ForgetErrors();

}  // namespace coppice::crypto

#endif  // COPPICE_COMMON_CRYPTO_CRYPTO_H_
