// Seals one report for the curator so that a relay can carry it but not read it.
//
//   info      "coppice.v1.sealed_report" 0x00, the fingerprint of the terms, the sealing key's id
//   aad       the ticket, which travels in the open: the relay indexes by it
//   plaintext the payload's length in 2 bytes, big-endian; the payload; zeros up to the same length
//             for every tree of the study

#ifndef COPPICE_COMMON_ENCRYPT_REPORT_SEAL_H_
#define COPPICE_COMMON_ENCRYPT_REPORT_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/encrypt/hpke.h"
#include "common/encrypt/sealing_key.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"

namespace coppice::seal {

inline constexpr size_t kMaxSealedPayload = 65535;

// What all devices of a study share.
struct ReportSealing {
  Aead aead = Aead::kAes128Gcm;
  Fingerprint fingerprint{};  // covers the study, its epsilon, mechanism and forest
  size_t payload_bytes = 0;   // the longest of all trees, at most kMaxSealedPayload

  // Length of every SealedMessage::ciphertext, whatever its tree.
  size_t ciphertext_bytes() const { return 2 + payload_bytes + kTagBytes; }
};

// Guarantee  all sealed reports of a study have one length: it shows neither tree nor payload.
// Errors     InvalidArgument: a payload above `payload_bytes`; otherwise those of Sender.
// Threads    not thread-safe.
class ReportSealer {
 public:
  static StatusOr<ReportSealer> Create(const ReportSealing& sealing,
                                       const SealingPublicKey& curator);

  StatusOr<SealedMessage> Seal(const Ticket& ticket, std::string_view payload);

 private:
  ReportSealer(size_t payload_bytes, Sender sender)
      : payload_bytes_(payload_bytes), sender_(std::move(sender)) {}

  size_t payload_bytes_;
  Sender sender_;
};

// Guarantee  returns a payload only if somebody sealed it for this ticket, study and key; there is
//            one plaintext for each payload.
// Errors     InvalidArgument: it does not open, or has another length than the study's reports, or
//            is not padded as ReportSealer pads. Internal: OpenSSL fails; the report may be good.
// Threads    not thread-safe.
class ReportOpener {
 public:
  static StatusOr<ReportOpener> Create(const ReportSealing& sealing, const SealingKey& key);

  StatusOr<std::string> Open(const Ticket& ticket, std::string_view encapsulated,
                             std::string_view ciphertext);

 private:
  ReportOpener(const ReportSealing& sealing, Recipient recipient)
      : ciphertext_bytes_(sealing.ciphertext_bytes()), recipient_(std::move(recipient)) {}

  size_t ciphertext_bytes_;
  Recipient recipient_;
};

}  // namespace coppice::seal

#endif  // COPPICE_COMMON_ENCRYPT_REPORT_SEAL_H_
