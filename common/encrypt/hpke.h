// HPKE in base mode: messages that only the holder of a private key can open, and answers that only
// the sender of a message can.
//
// Suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and an Aead. common/crypto has the parts.

#ifndef COPPICE_COMMON_ENCRYPT_HPKE_H_
#define COPPICE_COMMON_ENCRYPT_HPKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/crypto/crypto.h"
#include "common/encrypt/sealing_key.h"

namespace coppice::seal {

using crypto::kTagBytes;
inline constexpr size_t kMaxMessageBytes = size_t{1} << 20;

// A message as it is sent. `ciphertext` ends with the tag.
struct SealedMessage {
  std::array<uint8_t, kSealingKeyBytes> encapsulated{};  // the sender's ephemeral public key
  std::string ciphertext;
};

// The exporter secret of one message: its two ends know it, and nobody else does. The destructor
// wipes it.
struct MessageSecret {
  MessageSecret() = default;
  MessageSecret(const MessageSecret&) = default;
  MessageSecret& operator=(const MessageSecret&) = default;
  ~MessageSecret();

  std::array<uint8_t, 32> bytes{};
};

// Seals messages for one recipient.
//
// Guarantee  every message has an ephemeral key of its own from the private generator, which is
//            wiped afterwards: the sender cannot open what it sealed.
// Errors     InvalidArgument: a public key of small order, under which everybody could open, or a
//            message above kMaxMessageBytes. Unavailable: the random source fails. Internal:
//            the library for cryptography lacks a part.
// Threads    not thread-safe.
// Source     RFC 9180, sections 4.1, 5.1 and 6.1; one message per context, so its sequence number
//            is always 0.
class Sender {
 public:
  static StatusOr<Sender> Create(Aead aead, const SealingPublicKey& recipient,
                                 std::string_view info);
  Sender(Sender&&) noexcept;
  Sender& operator=(Sender&&) noexcept;
  ~Sender();

  // Sets `secret`, if there is one, to that of the message.
  StatusOr<SealedMessage> Seal(std::string_view aad, std::string_view plaintext,
                               MessageSecret* secret = nullptr);

 private:
  class Parts;
  explicit Sender(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Opens messages that were sealed for one key and `info`. It keeps the library's objects
// between messages: making them takes longer than the curve.
//
// Errors     InvalidArgument: the message was changed, or sealed for another key, info or aad; or
//            it is too short or above kMaxMessageBytes; or its ephemeral key is of small order.
//            Internal: the library for cryptography fails, which says nothing about the message.
// Threads    not thread-safe.
// Source     as Sender.
class Recipient {
 public:
  static StatusOr<Recipient> Create(Aead aead, const SealingKey& key, std::string_view info);
  Recipient(Recipient&&) noexcept;
  Recipient& operator=(Recipient&&) noexcept;
  ~Recipient();

  // `encapsulated` must have kSealingKeyBytes bytes. Sets `secret` as Seal() does.
  StatusOr<std::string> Open(std::string_view encapsulated, std::string_view aad,
                             std::string_view ciphertext, MessageSecret* secret = nullptr);

 private:
  class Parts;
  explicit Recipient(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The answer to a message, under the message's secret. `encapsulated` is the message's own.
//
// Guarantee  SealAnswer() begins every answer with a fresh nonce, and derives key and nonce of the
//            cipher from it and the secret. A message that is replayed gets answers under different
//            keys; a key derived from the message alone would encrypt twice under one nonce, which
//            gives GCM's authentication key away. OpenAnswer() returns only what somebody with the
//            secret sealed for this very message and label. An answer's length follows from the
//            plaintext's.
// Errors     SealAnswer(): Unavailable: the random source fails. OpenAnswer(): InvalidArgument: it
//            was changed, or answers another message. Both: Internal: the library for cryptography
//            fails.
// Source     RFC 9458, section 4.4; RFC 9180, section 5.3.
StatusOr<std::string> SealAnswer(Aead aead, const MessageSecret& secret,
                                 std::string_view encapsulated, std::string_view label,
                                 std::string_view plaintext);
StatusOr<std::string> OpenAnswer(Aead aead, const MessageSecret& secret,
                                 std::string_view encapsulated, std::string_view label,
                                 std::string_view answer);

// Length of an answer to a plaintext of that length.
size_t AnswerBytes(Aead aead, size_t plaintext_bytes);

}  // namespace coppice::seal

#endif  // COPPICE_COMMON_ENCRYPT_HPKE_H_
