// Messages of reports between a device and the curator itself: how they are padded and sealed, and
// how what became of the reports comes back.
//
// A server that a device was lured to may pass on everything that the curator would answer in
// public, its proof included. It can neither open a message nor make an answer, because both need
// the curator's direct key.

#ifndef COPPICE_COMMON_ENCRYPT_DIRECT_MESSAGE_H_
#define COPPICE_COMMON_ENCRYPT_DIRECT_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/encrypt/hpke.h"
#include "common/encrypt/sealing_key.h"

namespace coppice::seal {

// The most that a request with one sealed message has, and what is left of it for the plaintext.
inline constexpr size_t kMaxDirectRequestBytes = size_t{1} << 20;
inline constexpr size_t kMaxDirectPlaintextBytes = kMaxDirectRequestBytes - 128;

inline constexpr size_t kMaxDirectReports = 1000;

// The length that a message of `reports` reports is padded to: it follows from the study and the
// number of reports alone, and says nothing of their trees and values. `report_bytes` is the most
// that payload and public values of one report take together. Steps of 64 bytes keep most studies
// of a curator from being told apart by their lengths.
uint64_t DirectPlaintextBytes(std::string_view study, uint32_t report_bytes, uint64_t reports);

// How many reports fit into one message, at most kMaxDirectReports; 0 if none does.
size_t MaxDirectReports(std::string_view study, uint32_t report_bytes);

// A message of a device, and the secret that opens its answer.
struct SealedRequest {
  SealingKeyId key{};
  SealedMessage message{};
  MessageSecret secret{};
};

// Seals an envelope (common/terms/envelope.h) of `plaintext_bytes` bytes with `content`. Errors as
// Sender; InvalidArgument, too, if it does not fit.
StatusOr<SealedRequest> SealRequest(Aead aead, const SealingPublicKey& curator,
                                    std::string_view content, size_t plaintext_bytes);

// A message as the curator opened it.
struct OpenedRequest {
  Aead aead = Aead::kAes128Gcm;
  std::string content{};         // of the envelope
  uint64_t plaintext_bytes = 0;  // of the envelope, padding included
  std::string encapsulated;
  MessageSecret secret{};
};

// Guarantee  returns only content that somebody sealed for this key in an envelope of a length that
//            DirectPlaintextBytes() can have. Whether it is the one of the study shows only once
//            the content is read.
// Errors     InvalidArgument: it does not open or is no such envelope, and the message says nothing
//            of the content. Internal: OpenSSL fails.
// Threads    not thread-safe.
class RequestOpener {
 public:
  static StatusOr<RequestOpener> Create(Aead aead, const SealingKey& key);

  StatusOr<OpenedRequest> Open(std::string_view encapsulated, std::string_view ciphertext);

 private:
  RequestOpener(Aead aead, Recipient recipient) : aead_(aead), recipient_(std::move(recipient)) {}

  Aead aead_;
  Recipient recipient_;
};

// Seals the outcomes of a message's reports, one byte each, for the sender of that message alone.
// However often the message is replayed, no answer repeats a nonce under one key (hpke.h).
StatusOr<std::string> SealOutcomes(const OpenedRequest& request, std::string_view outcomes);

// InvalidArgument unless `answer` is the curator's to this very message.
StatusOr<std::string> OpenOutcomes(Aead aead, const SealedRequest& request,
                                   std::string_view answer);

}  // namespace coppice::seal

#endif  // COPPICE_COMMON_ENCRYPT_DIRECT_MESSAGE_H_
