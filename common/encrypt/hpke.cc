#include "common/encrypt/hpke.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"

namespace coppice::seal {
namespace {

constexpr size_t kHashBytes = 32;
constexpr size_t kBlockBytes = 64;  // block size of SHA-256
constexpr size_t kNonceBytes = 12;
constexpr std::string_view kVersionLabel = "HPKE-v1";
constexpr std::string_view kKemSuite("KEM\x00\x20", 5);
constexpr std::string_view kHpkeSuite("HPKE\x00\x20\x00\x01", 8);  // followed by the Aead
constexpr std::string_view kBaseMode("\x00", 1);
constexpr std::string_view kFirstBlock("\x01", 1);  // of HKDF-Expand

// Secret bytes, wiped by the destructor.
template <size_t kBytes>
struct SecretBytes : std::array<uint8_t, kBytes> {
  SecretBytes() : std::array<uint8_t, kBytes>{} {}
  ~SecretBytes() { OPENSSL_cleanse(this->data(), kBytes); }
};
using Hash = SecretBytes<kHashBytes>;

const uint8_t* Raw(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

std::string TwoBytes(uint16_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

struct OpenSslDelete {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, OpenSslDelete>;

// HMAC-SHA256 with keys of at most a block. OpenSSL's own function allocates objects at every call.
class Hmac {
 public:
  bool Compute(std::string_view key, std::initializer_list<std::string_view> parts, Hash& mac) {
    static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    if (kSha256 == nullptr || context_ == nullptr || key.size() > kBlockBytes) return false;
    Hash inner;
    return Begin(kSha256, key, 0x36) && Add(parts) && Finish(inner) && Begin(kSha256, key, 0x5c) &&
           Add({AsBytes(inner)}) && Finish(mac);
  }

 private:
  bool Begin(const EVP_MD* sha256, std::string_view key, uint8_t pad) {
    SecretBytes<kBlockBytes> block;
    for (size_t i = 0; i < kBlockBytes; ++i) {
      block[i] = static_cast<uint8_t>((i < key.size() ? Raw(key)[i] : 0) ^ pad);
    }
    return EVP_DigestInit_ex(context_.get(), sha256, nullptr) == 1 && Add({AsBytes(block)});
  }
  bool Add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
      if (EVP_DigestUpdate(context_.get(), part.data(), part.size()) != 1) return false;
    }
    return true;
  }
  bool Finish(Hash& hash) { return EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr) == 1; }

  const Owned<EVP_MD_CTX> context_{EVP_MD_CTX_new()};
};

struct MessageKey {
  SecretBytes<32> key;  // AES-128 uses the first 16
  SecretBytes<kNonceBytes> nonce;
};

size_t KeyBytesOf(Aead aead) { return aead == Aead::kAes128Gcm ? 16 : 32; }

std::string SuiteOf(Aead aead) { return StrCat(kHpkeSuite, TwoBytes(static_cast<uint16_t>(aead))); }

// RFC 9180's labels around HKDF (RFC 5869).
class LabelledHkdf {
 public:
  bool Extract(std::string_view suite, std::string_view salt, std::string_view label,
               std::string_view input, Hash& out) {
    return hmac_.Compute(salt, {kVersionLabel, suite, label, input}, out);
  }
  // Computes the first block, of which the caller uses `bytes` bytes.
  bool Expand(std::string_view suite, std::string_view prk, std::string_view label,
              std::pair<std::string_view, std::string_view> info, size_t bytes, Hash& out) {
    const char length[] = {0, static_cast<char>(bytes)};
    return hmac_.Compute(prk,
                         {std::string_view(length, sizeof(length)), kVersionLabel, suite, label,
                          info.first, info.second, kFirstBlock},
                         out);
  }
  // Without the labels.
  Hmac& hmac() { return hmac_; }

 private:
  Hmac hmac_;
};

// Derives a message's key and secret from what the two ends agreed on.
class KeySchedule {
 public:
  KeySchedule(Aead aead, const SealingPublicKey& recipient)
      : suite_(SuiteOf(aead)), key_bytes_(KeyBytesOf(aead)), recipient_(recipient) {}

  bool Begin(std::string_view info) {
    Hash psk_id_hash, info_hash;
    if (!hkdf_.Extract(suite_, Zeros(), "psk_id_hash", "", psk_id_hash) ||
        !hkdf_.Extract(suite_, Zeros(), "info_hash", info, info_hash)) {
      return false;
    }
    context_ = StrCat(kBaseMode, AsBytes(psk_id_hash), AsBytes(info_hash));
    return true;
  }

  // Derives the exporter secret, too, unless `exporter` is null.
  bool Derive(std::string_view agreed, std::string_view encapsulated, MessageKey& derived,
              MessageSecret* exporter) {
    Hash prk, shared, secret, key, nonce, exported;
    if (!hkdf_.Extract(kKemSuite, Zeros(), "eae_prk", agreed, prk) ||
        !hkdf_.Expand(kKemSuite, AsBytes(prk), "shared_secret", {encapsulated, AsBytes(recipient_)},
                      kHashBytes, shared) ||
        !hkdf_.Extract(suite_, AsBytes(shared), "secret", "", secret) ||
        !hkdf_.Expand(suite_, AsBytes(secret), "key", {context_, ""}, key_bytes_, key) ||
        !hkdf_.Expand(suite_, AsBytes(secret), "base_nonce", {context_, ""}, kNonceBytes, nonce)) {
      return false;
    }
    std::copy_n(key.begin(), key_bytes_, derived.key.begin());
    std::copy_n(nonce.begin(), kNonceBytes, derived.nonce.begin());
    if (exporter == nullptr) return true;
    if (!hkdf_.Expand(suite_, AsBytes(secret), "exp", {context_, ""}, kHashBytes, exported)) {
      return false;
    }
    std::copy(exported.begin(), exported.end(), exporter->bytes.begin());
    return true;
  }

 private:
  static std::string_view Zeros() {
    static constexpr std::array<char, kHashBytes> kZeros{};
    return {kZeros.data(), kZeros.size()};
  }

  LabelledHkdf hkdf_;
  const std::string suite_;
  const size_t key_bytes_;
  const SealingPublicKey recipient_;
  std::string context_;
};

size_t AnswerNonceBytes(Aead aead) { return std::max(KeyBytesOf(aead), kNonceBytes); }

// Derives key and nonce of the answer that begins with `nonce`.
bool DeriveAnswer(Aead aead, const MessageSecret& secret, std::string_view label,
                  std::pair<std::string_view, std::string_view> encapsulated_and_nonce,
                  MessageKey& derived) {
  LabelledHkdf hkdf;
  Hash exported, prk, key, nonce;
  const size_t bytes = AnswerNonceBytes(aead);
  const std::string salt = StrCat(encapsulated_and_nonce.first, encapsulated_and_nonce.second);
  if (!hkdf.Expand(SuiteOf(aead), AsBytes(secret.bytes), "sec", {label, ""}, bytes, exported) ||
      !hkdf.hmac().Compute(salt, {AsBytes(exported).substr(0, bytes)}, prk) ||
      !hkdf.hmac().Compute(AsBytes(prk), {"key", kFirstBlock}, key) ||
      !hkdf.hmac().Compute(AsBytes(prk), {"nonce", kFirstBlock}, nonce)) {
    return false;
  }
  std::copy_n(key.begin(), KeyBytesOf(aead), derived.key.begin());
  std::copy_n(nonce.begin(), kNonceBytes, derived.nonce.begin());
  return true;
}

// One authenticated cipher; keeps OpenSSL's object.
class Cipher {
 public:
  explicit Cipher(Aead aead) : cipher_(Fetch(aead)) {}

  bool Encrypt(const MessageKey& with, std::string_view aad, std::string_view plain,
               std::string& out) {
    out.assign(plain.size() + kTagBytes, '\0');
    uint8_t* const to = reinterpret_cast<uint8_t*>(out.data());
    return Begin(with, aad, /*encrypts=*/1) && Update(plain, to) &&
           EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                               to + plain.size()) == 1;
  }

  // False if the tag is wrong, or something else failed, when `works` is false too.
  bool Decrypt(const MessageKey& with, std::string_view aad, std::string_view sealed,
               std::string& out, bool& works) {
    const std::string_view body = sealed.substr(0, sealed.size() - kTagBytes);
    uint8_t tag[kTagBytes];
    std::copy_n(Raw(sealed) + body.size(), kTagBytes, tag);
    out.assign(body.size(), '\0');
    works = Begin(with, aad, /*encrypts=*/0) &&
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) == 1;
    return works && Update(body, reinterpret_cast<uint8_t*>(out.data()));
  }

 private:
  static const EVP_CIPHER* Fetch(Aead aead) {
    static const EVP_CIPHER* const kAes = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr);
    static const EVP_CIPHER* const kChaCha =
        EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
    return aead == Aead::kAes128Gcm ? kAes : kChaCha;
  }
  bool Begin(const MessageKey& with, std::string_view aad, int encrypts) {
    int size = 0;
    // Naming the cipher again would recreate its object.
    const EVP_CIPHER* const named = has_cipher_ ? nullptr : cipher_;
    has_cipher_ = cipher_ != nullptr && context_ != nullptr &&
                  EVP_CipherInit_ex(context_.get(), named, nullptr, with.key.data(),
                                    with.nonce.data(), encrypts) == 1;
    return has_cipher_ && EVP_CipherUpdate(context_.get(), nullptr, &size, Raw(aad),
                                           static_cast<int>(aad.size())) == 1;
  }
  bool Update(std::string_view in, uint8_t* out) {
    int size = 0;
    uint8_t none[kTagBytes];  // these ciphers write nothing at their end
    return EVP_CipherUpdate(context_.get(), out, &size, Raw(in), static_cast<int>(in.size())) ==
               1 &&
           EVP_CipherFinal_ex(context_.get(), none, &size) == 1;
  }

  const EVP_CIPHER* const cipher_;
  const Owned<EVP_CIPHER_CTX> context_{EVP_CIPHER_CTX_new()};
  bool has_cipher_ = false;
};

Status OpenSslFailed() {
  ERR_clear_error();
  return InternalError("OpenSSL cannot compute HPKE with X25519, SHA-256 and this cipher");
}

Status NotOurs() {
  ERR_clear_error();
  return InvalidArgumentError(
      "does not open: it was changed on its way, or sealed for another key, message, study or "
      "ticket");
}

KeyPtr PublicKeyOf(const SealingPublicKey& key) {
  return KeyPtr(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, key.data(), key.size()));
}

// X25519 refuses a point of small order, whose result would be zero.
bool Agree(EVP_PKEY_CTX* ours, SecretBytes<kSealingKeyBytes>& agreed) {
  size_t size = agreed.size();
  return EVP_PKEY_derive(ours, agreed.data(), &size) == 1 && size == agreed.size();
}

bool IsLong(std::string_view aad, std::string_view message) {
  return aad.size() > kMaxMessageBytes || message.size() > kMaxMessageBytes;
}

}  // namespace

class Sender::Parts {
 public:
  Parts(Aead aead, const SealingPublicKey& recipient)
      : recipient_(PublicKeyOf(recipient)), schedule_(aead, recipient), cipher_(aead) {}

  bool Begin(std::string_view info) { return recipient_ != nullptr && schedule_.Begin(info); }

  StatusOr<SealedMessage> Seal(std::string_view aad, std::string_view plaintext,
                               MessageSecret* secret) {
    if (IsLong(aad, plaintext)) {
      return InvalidArgumentError("a message to seal has more than 2^20 bytes");
    }
    const KeyPtr ephemeral(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
    if (ephemeral == nullptr) {
      ERR_clear_error();
      return UnavailableError("the system's random source failed; nothing was sealed");
    }
    SealedMessage sealed;
    size_t size = sealed.encapsulated.size();
    const Owned<EVP_PKEY_CTX> ours(EVP_PKEY_CTX_new_from_pkey(nullptr, ephemeral.get(), nullptr));
    if (EVP_PKEY_get_raw_public_key(ephemeral.get(), sealed.encapsulated.data(), &size) != 1 ||
        ours == nullptr || EVP_PKEY_derive_init(ours.get()) != 1 ||
        EVP_PKEY_derive_set_peer_ex(ours.get(), recipient_.get(), 0) != 1) {
      return OpenSslFailed();
    }
    SecretBytes<kSealingKeyBytes> agreed;
    if (!Agree(ours.get(), agreed)) {
      ERR_clear_error();
      return InvalidArgumentError(
          "the sealing key is a point of small order, under which everybody could open");
    }
    MessageKey with;
    if (!schedule_.Derive(AsBytes(agreed), AsBytes(sealed.encapsulated), with, secret) ||
        !cipher_.Encrypt(with, aad, plaintext, sealed.ciphertext)) {
      return OpenSslFailed();
    }
    return sealed;
  }

 private:
  const KeyPtr recipient_;
  KeySchedule schedule_;
  Cipher cipher_;
};

class Recipient::Parts {
 public:
  Parts(Aead aead, const SealingKey& key)
      : key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, key.secret().data(),
                                          key.secret().size())),
        peer_(PublicKeyOf(key.public_key())),
        ours_(key_ == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr)),
        schedule_(aead, key.public_key()),
        cipher_(aead) {}

  bool Begin(std::string_view info) {
    return peer_ != nullptr && ours_ != nullptr && EVP_PKEY_derive_init(ours_.get()) == 1 &&
           schedule_.Begin(info);
  }

  StatusOr<std::string> Open(std::string_view encapsulated, std::string_view aad,
                             std::string_view ciphertext, MessageSecret* secret) {
    if (encapsulated.size() != kSealingKeyBytes || ciphertext.size() < kTagBytes ||
        IsLong(aad, ciphertext)) {
      return NotOurs();
    }
    // A new object for the sender's key would cost a tenth of the curve's time.
    if (EVP_PKEY_set1_encoded_public_key(peer_.get(), Raw(encapsulated), encapsulated.size()) !=
            1 ||
        EVP_PKEY_derive_set_peer_ex(ours_.get(), peer_.get(), 0) != 1) {
      return OpenSslFailed();
    }
    SecretBytes<kSealingKeyBytes> agreed;
    if (!Agree(ours_.get(), agreed)) return NotOurs();
    MessageKey with;
    if (!schedule_.Derive(AsBytes(agreed), encapsulated, with, secret)) return OpenSslFailed();
    std::string plain;
    bool works = false;
    if (cipher_.Decrypt(with, aad, ciphertext, plain, works)) return plain;
    OPENSSL_cleanse(plain.data(), plain.size());  // nothing unauthenticated leaves
    return works ? NotOurs() : OpenSslFailed();
  }

 private:
  const KeyPtr key_;
  const KeyPtr peer_;  // holds each sender's key in turn
  const Owned<EVP_PKEY_CTX> ours_;
  KeySchedule schedule_;
  Cipher cipher_;
};

StatusOr<Sender> Sender::Create(Aead aead, const SealingPublicKey& recipient,
                                std::string_view info) {
  auto parts = std::make_unique<Parts>(aead, recipient);
  if (!parts->Begin(info)) return OpenSslFailed();
  return Sender(std::move(parts));
}

Sender::Sender(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Sender::Sender(Sender&&) noexcept = default;
Sender& Sender::operator=(Sender&&) noexcept = default;
Sender::~Sender() = default;

StatusOr<SealedMessage> Sender::Seal(std::string_view aad, std::string_view plaintext,
                                     MessageSecret* secret) {
  return parts_->Seal(aad, plaintext, secret);
}

StatusOr<Recipient> Recipient::Create(Aead aead, const SealingKey& key, std::string_view info) {
  auto parts = std::make_unique<Parts>(aead, key);
  if (!parts->Begin(info)) return OpenSslFailed();
  return Recipient(std::move(parts));
}

Recipient::Recipient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Recipient::Recipient(Recipient&&) noexcept = default;
Recipient& Recipient::operator=(Recipient&&) noexcept = default;
Recipient::~Recipient() = default;

StatusOr<std::string> Recipient::Open(std::string_view encapsulated, std::string_view aad,
                                      std::string_view ciphertext, MessageSecret* secret) {
  return parts_->Open(encapsulated, aad, ciphertext, secret);
}

MessageSecret::~MessageSecret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

size_t AnswerBytes(Aead aead, size_t plaintext_bytes) {
  return AnswerNonceBytes(aead) + plaintext_bytes + kTagBytes;
}

StatusOr<std::string> SealAnswer(Aead aead, const MessageSecret& secret,
                                 std::string_view encapsulated, std::string_view label,
                                 std::string_view plaintext) {
  std::string answer(AnswerNonceBytes(aead), '\0');
  if (RAND_priv_bytes(reinterpret_cast<uint8_t*>(answer.data()), static_cast<int>(answer.size())) !=
      1) {
    ERR_clear_error();
    return UnavailableError("the system's random source failed; nothing was sealed");
  }
  MessageKey with;
  std::string sealed;
  Cipher cipher(aead);
  if (!DeriveAnswer(aead, secret, label, {encapsulated, answer}, with) ||
      !cipher.Encrypt(with, /*aad=*/"", plaintext, sealed)) {
    return OpenSslFailed();
  }
  answer.append(sealed);
  return answer;
}

StatusOr<std::string> OpenAnswer(Aead aead, const MessageSecret& secret,
                                 std::string_view encapsulated, std::string_view label,
                                 std::string_view answer) {
  if (answer.size() < AnswerBytes(aead, 0) || answer.size() > kMaxMessageBytes) return NotOurs();
  const std::string_view nonce = answer.substr(0, AnswerNonceBytes(aead));
  MessageKey with;
  if (!DeriveAnswer(aead, secret, label, {encapsulated, nonce}, with)) return OpenSslFailed();
  std::string plain;
  bool works = false;
  Cipher cipher(aead);
  if (cipher.Decrypt(with, /*aad=*/"", answer.substr(nonce.size()), plain, works)) return plain;
  OPENSSL_cleanse(plain.data(), plain.size());
  return works ? NotOurs() : OpenSslFailed();
}

}  // namespace coppice::seal
