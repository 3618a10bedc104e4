#include "common/encrypt/hpke.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"

namespace coppice::seal {
namespace {

using crypto::KeyBytesOf;
using crypto::kHashBytes;
using crypto::kNonceBytes;

constexpr size_t kBlockBytes = 64;  // block size of SHA-256
constexpr std::string_view kVersionLabel = "HPKE-v1";
constexpr std::string_view kKemSuite("KEM\x00\x20", 5);
constexpr std::string_view kHpkeSuite("HPKE\x00\x20\x00\x01", 8);  // followed by the Aead
constexpr std::string_view kBaseMode("\x00", 1);
constexpr std::string_view kFirstBlock("\x01", 1);  // of HKDF-Expand

// Secret bytes, wiped by the destructor.
template <size_t kBytes>
struct SecretBytes : std::array<uint8_t, kBytes> {
  SecretBytes() : std::array<uint8_t, kBytes>{} {}
  ~SecretBytes() { crypto::Wipe(this->data(), kBytes); }
};
using Hash = SecretBytes<kHashBytes>;

const uint8_t* Raw(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

std::string TwoBytes(uint16_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

// HMAC-SHA256 with keys of at most a block. It keeps its hash, as a new one costs more than a short
// message.
class Hmac {
 public:
  bool Compute(std::string_view key, std::initializer_list<std::string_view> parts, Hash& mac) {
    if (key.size() > kBlockBytes) return false;
    Hash inner;
    return Begin(key, 0x36) && Add(parts) && hash_.Finish(inner.data()) && Begin(key, 0x5c) &&
           Add({AsBytes(inner)}) && hash_.Finish(mac.data());
  }

 private:
  bool Begin(std::string_view key, uint8_t pad) {
    SecretBytes<kBlockBytes> block;
    for (size_t i = 0; i < kBlockBytes; ++i) {
      block[i] = static_cast<uint8_t>((i < key.size() ? Raw(key)[i] : 0) ^ pad);
    }
    return hash_.Begin() && Add({AsBytes(block)});
  }
  bool Add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
      if (!hash_.Add(part)) return false;
    }
    return true;
  }

  crypto::Sha256Hash hash_;
};

struct MessageKey {
  SecretBytes<32> key;  // AES-128 uses the first 16
  SecretBytes<kNonceBytes> nonce;
};

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

bool Encrypt(crypto::Cipher& cipher, const MessageKey& with, std::string_view aad,
             std::string_view plain, std::string& out) {
  return cipher.Encrypt(with.key.data(), with.nonce.data(), aad, plain, out);
}

Status CryptoFailed() {
  crypto::ForgetErrors();
  return InternalError(
      "the library for cryptography cannot compute HPKE with X25519, SHA-256 and this cipher");
}

Status NotOurs() {
  crypto::ForgetErrors();
  return InvalidArgumentError(
      "does not open: it was changed on its way, or sealed for another key, message, study or "
      "ticket");
}

// Nothing unauthenticated leaves.
StatusOr<std::string> Decrypt(crypto::Cipher& cipher, const MessageKey& with, std::string_view aad,
                              std::string_view sealed) {
  std::string plain;
  bool works = false;
  if (cipher.Decrypt(with.key.data(), with.nonce.data(), aad, sealed, plain, works)) return plain;
  crypto::Wipe(plain.data(), plain.size());
  return works ? NotOurs() : CryptoFailed();
}

bool IsLong(std::string_view aad, std::string_view message) {
  return aad.size() > kMaxMessageBytes || message.size() > kMaxMessageBytes;
}

}  // namespace

class Sender::Parts {
 public:
  Parts(Aead aead, const SealingPublicKey& recipient)
      : recipient_(recipient), schedule_(aead, recipient), cipher_(aead) {}

  bool Begin(std::string_view info) { return schedule_.Begin(info); }

  StatusOr<SealedMessage> Seal(std::string_view aad, std::string_view plaintext,
                               MessageSecret* secret) {
    if (IsLong(aad, plaintext)) {
      return InvalidArgumentError("a message to seal has more than 2^20 bytes");
    }
    crypto::X25519Secret ephemeral = crypto::X25519Secret::Draw();
    if (!ephemeral.works()) {
      crypto::ForgetErrors();
      return UnavailableError("the system's random source failed; nothing was sealed");
    }
    SealedMessage sealed;
    SecretBytes<kSealingKeyBytes> agreed;
    if (!ephemeral.PublicKey(sealed.encapsulated)) return CryptoFailed();
    switch (ephemeral.Agree(recipient_, agreed)) {
      case crypto::Agreement::kFailed:
        return CryptoFailed();
      case crypto::Agreement::kSmallOrder:
        crypto::ForgetErrors();
        return InvalidArgumentError(
            "the sealing key is a point of small order, under which everybody could open");
      case crypto::Agreement::kDone:
        break;
    }
    MessageKey with;
    if (!schedule_.Derive(AsBytes(agreed), AsBytes(sealed.encapsulated), with, secret) ||
        !Encrypt(cipher_, with, aad, plaintext, sealed.ciphertext)) {
      return CryptoFailed();
    }
    return sealed;
  }

 private:
  const SealingPublicKey recipient_;
  KeySchedule schedule_;
  crypto::Cipher cipher_;
};

class Recipient::Parts {
 public:
  Parts(Aead aead, const SealingKey& key)
      : key_(key.secret()), schedule_(aead, key.public_key()), cipher_(aead) {}

  bool Begin(std::string_view info) { return key_.works() && schedule_.Begin(info); }

  StatusOr<std::string> Open(std::string_view encapsulated, std::string_view aad,
                             std::string_view ciphertext, MessageSecret* secret) {
    if (encapsulated.size() != kSealingKeyBytes || ciphertext.size() < kTagBytes ||
        IsLong(aad, ciphertext)) {
      return NotOurs();
    }
    SealingPublicKey sender;
    std::copy(encapsulated.begin(), encapsulated.end(), sender.begin());
    SecretBytes<kSealingKeyBytes> agreed;
    switch (key_.Agree(sender, agreed)) {
      case crypto::Agreement::kFailed:
        return CryptoFailed();
      case crypto::Agreement::kSmallOrder:
        return NotOurs();
      case crypto::Agreement::kDone:
        break;
    }
    MessageKey with;
    if (!schedule_.Derive(AsBytes(agreed), encapsulated, with, secret)) return CryptoFailed();
    return Decrypt(cipher_, with, aad, ciphertext);
  }

 private:
  crypto::X25519Secret key_;
  KeySchedule schedule_;
  crypto::Cipher cipher_;
};

StatusOr<Sender> Sender::Create(Aead aead, const SealingPublicKey& recipient,
                                std::string_view info) {
  auto parts = std::make_unique<Parts>(aead, recipient);
  if (!parts->Begin(info)) return CryptoFailed();
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
  if (!parts->Begin(info)) return CryptoFailed();
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

MessageSecret::~MessageSecret() { crypto::Wipe(bytes.data(), bytes.size()); }

size_t AnswerBytes(Aead aead, size_t plaintext_bytes) {
  return AnswerNonceBytes(aead) + plaintext_bytes + kTagBytes;
}

StatusOr<std::string> SealAnswer(Aead aead, const MessageSecret& secret,
                                 std::string_view encapsulated, std::string_view label,
                                 std::string_view plaintext) {
  std::string answer(AnswerNonceBytes(aead), '\0');
  if (!crypto::DrawRandom(answer.data(), answer.size())) {
    crypto::ForgetErrors();
    return UnavailableError("the system's random source failed; nothing was sealed");
  }
  MessageKey with;
  std::string sealed;
  crypto::Cipher cipher(aead);
  if (!DeriveAnswer(aead, secret, label, {encapsulated, answer}, with) ||
      !Encrypt(cipher, with, /*aad=*/"", plaintext, sealed)) {
    return CryptoFailed();
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
  if (!DeriveAnswer(aead, secret, label, {encapsulated, nonce}, with)) return CryptoFailed();
  crypto::Cipher cipher(aead);
  return Decrypt(cipher, with, /*aad=*/"", answer.substr(nonce.size()));
}

}  // namespace coppice::seal
