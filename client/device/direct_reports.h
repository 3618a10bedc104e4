// Reports that a device sends to the curator itself, so that nobody in between can read them or
// answer them.
//
// Bytes to bytes: whoever carries them is not trusted, and may be a server that the device was
// lured to and that passes everything on, the curator's proof included. It learns that the device
// has reports for this curator, how many, and their study's step of lengths: no report, no public
// value, no id and no study. It can drop and delay, and cannot make the device believe an outcome.

#ifndef COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_
#define COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "client/device/delivery.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/encrypt/direct_message.h"
#include "common/terms/key_chain.h"
#include "common/terms/manifest.h"
#include "common/terms/signature.h"

namespace coppice {

// Who the curator is, as it proved for a challenge.
struct CuratorProof {
  PublicKey key{};
  KeyChain endorsements;  // that lead to it, not looked at yet
  // The current one. It is under the proof's signature, so that a device finds a key that time
  // replaced without naming a study to whoever is at the other end.
  DirectKey direct;
};

// A GetCuratorKeysRequest. `challenge` must have kChallengeBytes bytes.
std::string ProofRequest(std::string_view challenge);
// Reads a GetCuratorKeysResponse. DataLoss: no such message. FailedPrecondition: whoever sent it
// does not show, by a signature of `challenge`, that the curator with this key answered it.
StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge);

// FailedPrecondition, in words for the device's owner, if a report of at most `max_report_bytes`
// (Privatizer::MaxReportBytes()) may not fit the study's messages. Comes before a row is read.
Status CheckReportFits(const Manifest& manifest, uint64_t max_report_bytes);

// How many of `reports` go into one call: the first ones of one study and fingerprint, at most
// `batch`, that fit a message. At least 1 if there are any.
size_t ReportsPerCall(absl::Span<const PrivateReport* const> reports, uint32_t report_bytes,
                      size_t batch);

// One call with reports of one study and fingerprint. Each try is sealed anew: intake counts
// tickets, so a report that comes twice counts once. The secret that opens the answer stays in
// memory and is wiped.
//
// Guarantee  All calls with as many reports of one study have one length.
// Errors     Seal(): InvalidArgument: too many reports, or one that is longer than `report_bytes`;
//            Unavailable: the random source fails. Open(): DataLoss for a response that is not the
//            curator's answer to this very call, or does not say what became of each report:
//            nothing is known then, and the reports wait on.
class DirectReports {
 public:
  static StatusOr<DirectReports> Seal(const DirectKey& curator, uint32_t report_bytes,
                                      absl::Span<const PrivateReport* const> reports);

  const std::string& request() const { return request_; }  // a SubmitReportsRequest
  StatusOr<std::vector<DeliveryResult>> Open(std::string_view response) const;

 private:
  DirectReports(seal::Aead aead, seal::SealedRequest sealed, std::string request, size_t reports)
      : aead_(aead), sealed_(std::move(sealed)), request_(std::move(request)), reports_(reports) {}

  seal::Aead aead_;
  seal::SealedRequest sealed_;
  std::string request_;
  size_t reports_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_
