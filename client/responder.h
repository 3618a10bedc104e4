// What happens between an offer and the reports: policy and journal first, then the rows, then the
// noise.

#ifndef COPPICE_CLIENT_RESPONDER_H_
#define COPPICE_CLIENT_RESPONDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/journal.h"
#include "client/policy.h"
#include "client/privatizer.h"

namespace coppice {

// Who is asked, and the ticket to answer with. Nothing of the row is in it.
struct Invitation {
  std::string subject;
  Ticket ticket;
};

// The row of the subject that is invitation number `i`. What is not known stays missing.
using ReadRow = absl::FunctionRef<LabelledRow(size_t i)>;

// Seals the report of invitation number `i` for its relay. It may fail where a report could not be
// drawn either, and otherwise has no way to: not by what the report says, nor by its length.
using SealReport =
    absl::FunctionRef<absl::StatusOr<SealedAnswer>(size_t i, const PrivateReport& report)>;

// Guarantee  A subject's row is randomized at most once per study: asking again, after a crash or a
//            retry, returns the same bytes. What is returned is in the journal already.
//            Whether there is an answer never depends on a row: everything that can be refused is
//            refused before `read` is called, `read` has no way to fail, and every row it returns
//            is answered (privatizer.h). What fails after it is the device's own disk or random
//            source and, in a study that is joined by an id, a row without one, which is public.
// Errors     FailedPrecondition: the journal's owner opted out, the policy refuses, the study was
//            answered under other terms, or a ticket's tree is not here. AlreadyExists: one subject
//            twice. InvalidArgument: a row has no id where the study is joined by it. Otherwise as
//            Privatizer and Journal. After an error nothing of the call is journalled.
// Threads    safe to share; Respond() calls for one subject must not overlap.
class Responder {
 public:
  // Both must outlive the responder.
  Responder(const Policy& policy, Journal& journal) : policy_(policy), journal_(journal) {}

  // One report per invitation, in order; new ones are journalled with one sync. `read` is called
  // once for each subject that has not answered before.
  absl::StatusOr<std::vector<PrivateReport>> Respond(const Privatizer& privatizer,
                                                     absl::Span<const Invitation> invitations,
                                                     ReadRow read, PrivateRandom& random) const;

  // Through a relay all that can decline comes before there is a ticket, or the curator would learn
  // by who falls silent who had which: first this, for subjects that have not answered.
  absl::Status CheckSealedConsent(const Terms& terms, absl::Span<const std::string> subjects) const;
  // Then this, which declines nothing. Where the ticket's tree is not here, as it is none that a
  // device can answer in, the row is not read and an empty payload is sealed, so that nobody but
  // the curator can tell. The journal has the entries, with one sync, when they are returned.
  absl::StatusOr<std::vector<JournalEntry>> RespondSealed(const Privatizer& privatizer,
                                                          absl::Span<const Invitation> invitations,
                                                          ReadRow read, SealReport seal,
                                                          PrivateRandom& random) const;

 private:
  // The answers that were given before, empty where a new one may be given. Reads no row.
  absl::StatusOr<std::vector<std::optional<PrivateReport>>> Consent(
      const Privatizer& privatizer, absl::Span<const Invitation> invitations) const;

  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_RESPONDER_H_
