// Makes reports of an offer: checks policy and journal first, then reads the rows, then adds the
// noise.

#ifndef COPPICE_CLIENT_DEVICE_RESPONDER_H_
#define COPPICE_CLIENT_DEVICE_RESPONDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"

namespace coppice {

// A subject to ask, and the ticket to answer with. It holds nothing of the row.
struct Invitation {
  std::string subject;
  Ticket ticket;
};

// Reads the row of the subject of invitation number `i`. Unknown values stay missing.
using ReadRow = absl::FunctionRef<LabelledRow(size_t i)>;

// Seals the report of invitation number `i` for its relay. It may fail only as drawing a report may
// (the random source), never because of what the report says or how long it is.
using SealReport = absl::FunctionRef<StatusOr<SealedAnswer>(size_t i, const PrivateReport& report)>;

// Guarantee  A subject's row is randomized at most once per study: asking again, after a crash or a
//            retry, returns the same bytes. Reports are in the journal before they are returned.
//            Whether there is an answer never depends on a row: everything that can be refused is
//            refused before `read` is called, `read` cannot fail, and every row it returns is
//            answered (privatizer.h). After `read` only the device's disk or random source can fail
//            and, in a study that is joined by an id, a row without one, which is public.
// Errors     FailedPrecondition: the journal's owner opted out, the policy refuses, the study was
//            answered under other terms, or a ticket's tree is not here. AlreadyExists: one subject
//            twice. InvalidArgument: a row has no id where the study is joined by it. Otherwise as
//            Privatizer and Journal. After an error nothing of the call is journalled.
// Threads    safe to share; Respond() calls for one subject must not overlap.
class Responder {
 public:
  // Both must outlive the responder.
  Responder(const Policy& policy, Journal& journal) : policy_(policy), journal_(journal) {}

  // Returns one report per invitation, in order, and journals new ones with one sync. `read` is
  // called once for each subject that has not answered before.
  StatusOr<std::vector<PrivateReport>> Respond(const Privatizer& privatizer,
                                               absl::Span<const Invitation> invitations,
                                               ReadRow read, PrivateRandom& random) const;

  // Through a relay everything that can decline comes before there is a ticket, or silence would
  // tell the curator who had which. Call this first, for subjects that have not answered.
  Status CheckSealedConsent(const Terms& terms, absl::Span<const std::string> subjects) const;
  // Call this next; it declines nothing. If the ticket's tree is not here, no device can answer in
  // it: the row is not read and an empty payload is sealed, so that only the curator can tell. The
  // entries are in the journal, with one sync, when they are returned.
  StatusOr<std::vector<JournalEntry>> RespondSealed(const Privatizer& privatizer,
                                                    absl::Span<const Invitation> invitations,
                                                    ReadRow read, SealReport seal,
                                                    PrivateRandom& random) const;

 private:
  // Returns the answers that were given before, empty where a new one may be given. Reads no row.
  StatusOr<std::vector<std::optional<PrivateReport>>> Consent(
      const Privatizer& privatizer, absl::Span<const Invitation> invitations) const;

  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_RESPONDER_H_
