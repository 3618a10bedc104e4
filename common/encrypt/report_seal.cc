#include "common/encrypt/report_seal.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"

namespace coppice::seal {
namespace {

constexpr std::string_view kInfoPrefix("coppice.v1.sealed_report\0", 25);
constexpr size_t kLengthBytes = 2;

std::string InfoOf(const ReportSealing& sealing, const SealingPublicKey& key) {
  return StrCat(kInfoPrefix, AsBytes(sealing.fingerprint),
                AsBytes(SealingKeyIdOf(sealing.aead, key)));
}

Status CheckSealing(const ReportSealing& sealing) {
  if (sealing.payload_bytes <= kMaxSealedPayload) return OkStatus();
  return InvalidArgumentError(StrCat("reports of ", sealing.payload_bytes,
                                     " bytes cannot be sealed; at most ", kMaxSealedPayload,
                                     " can"));
}

std::string Padded(std::string_view payload, size_t payload_bytes) {
  std::string padded;
  padded.reserve(kLengthBytes + payload_bytes);
  padded.push_back(static_cast<char>(payload.size() >> 8));
  padded.push_back(static_cast<char>(payload.size() & 0xff));
  padded.append(payload.data(), payload.size());
  padded.resize(kLengthBytes + payload_bytes, '\0');
  return padded;
}

// Removes the length and the zeros from `padded`; false if Padded() would not make it.
bool Unpad(std::string& padded) {
  const size_t size =
      static_cast<size_t>(static_cast<uint8_t>(padded[0])) << 8 | static_cast<uint8_t>(padded[1]);
  if (size > padded.size() - kLengthBytes) return false;
  if (padded.find_first_not_of('\0', kLengthBytes + size) != std::string::npos) return false;
  padded.resize(kLengthBytes + size);
  padded.erase(0, kLengthBytes);
  return true;
}

}  // namespace

StatusOr<ReportSealer> ReportSealer::Create(const ReportSealing& sealing,
                                            const SealingPublicKey& curator) {
  COPPICE_RETURN_IF_ERROR(CheckSealing(sealing));
  COPPICE_ASSIGN_OR_RETURN(Sender sender,
                           Sender::Create(sealing.aead, curator, InfoOf(sealing, curator)));
  return ReportSealer(sealing.payload_bytes, std::move(sender));
}

StatusOr<SealedMessage> ReportSealer::Seal(const Ticket& ticket, std::string_view payload) {
  if (payload.size() > payload_bytes_) {
    return InvalidArgumentError(StrCat("a payload of ", payload.size(),
                                       " bytes is longer than the study's longest, ",
                                       payload_bytes_));
  }
  std::string plaintext = Padded(payload, payload_bytes_);
  StatusOr<SealedMessage> sealed = sender_.Seal(ticket.ToBytes(), plaintext);
  crypto::Wipe(plaintext.data(), plaintext.size());
  return sealed;
}

StatusOr<ReportOpener> ReportOpener::Create(const ReportSealing& sealing, const SealingKey& key) {
  COPPICE_RETURN_IF_ERROR(CheckSealing(sealing));
  COPPICE_ASSIGN_OR_RETURN(Recipient recipient,
                           Recipient::Create(sealing.aead, key, InfoOf(sealing, key.public_key())));
  return ReportOpener(sealing, std::move(recipient));
}

StatusOr<std::string> ReportOpener::Open(const Ticket& ticket, std::string_view encapsulated,
                                         std::string_view ciphertext) {
  if (ciphertext.size() != ciphertext_bytes_) {
    return InvalidArgumentError(StrCat("a sealed report of ", ciphertext.size(),
                                       " bytes; this study's have ", ciphertext_bytes_));
  }
  COPPICE_ASSIGN_OR_RETURN(std::string payload,
                           recipient_.Open(encapsulated, ticket.ToBytes(), ciphertext));
  if (Unpad(payload)) return payload;
  return InvalidArgumentError("opens, but holds no payload and its padding");
}

}  // namespace coppice::seal
