// Whether a subject answers a study: what the owner's policy and the journal say, before anything
// is fetched and before any row is read.

#ifndef COPPICE_CLIENT_DEVICE_CONSENT_H_
#define COPPICE_CLIENT_DEVICE_CONSENT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "common/base/status.h"
#include "common/terms/terms.h"

namespace coppice {

// Guarantee  Nothing here depends on a row.
// Errors     FailedPrecondition: the owner opted out, or the policy declines. ResourceExhausted:
// the
//            queue or the journal is full. AlreadyExists: the subject has answered. In words for
//            the device's owner.
// Threads    as the journal.
class Consent {
 public:
  // Both must outlive the consent.
  Consent(const Policy& policy, Journal& journal) : policy_(policy), journal_(journal) {}

  // OK unless the owner opted out, by the policy or in the journal: then nothing is fetched,
  // answered or sent.
  Status CheckOptedIn() const;
  // OK if an offer may be fetched. Makes room in the journal, up to the policy's size.
  Status CheckMayFetch() const;
  // OK if the subject may answer a study with these terms, after all that it has spent.
  Status CheckMayAnswer(const std::string& subject, const Terms& terms, DeliveryRoute route) const;
  // Makes room in the journal for one answer of each of the subjects, with a report or a ciphertext
  // of at most `report_bytes`.
  Status MakeRoomFor(absl::Span<const std::string> subjects, const Terms& terms,
                     DeliveryRoute route, uint64_t report_bytes) const;

 private:
  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_CONSENT_H_
