// The device's whole decision: policy, journal, privatizer, in that order.
//
// Guarantee  a subject's row is randomized at most once a study. Asking again, after a crash or a
//            retry, returns the same bytes. What is returned is in the journal already.
// Order      policy and journal are asked before the row is looked at, and the tree was fetched
//            before that, so whether an answer is given does not depend on the row. Rows that do
//            not fit the schema are the exception: clamp or encode them before.
// Errors     FailedPrecondition: the policy refuses, or the study was answered under other terms.
//            Otherwise as Privatizer and Journal.
// Threads    safe to share; Answer() calls for one subject must not overlap.

#ifndef COPPICE_CLIENT_RESPONDER_H_
#define COPPICE_CLIENT_RESPONDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/journal.h"
#include "client/policy.h"
#include "client/privatizer.h"

namespace coppice {

// One subject's row and the ticket to answer with. Private.
struct Answer {
  std::string subject;
  Row row;
  uint32_t label = 0;
  Ticket ticket;
};

class Responder {
 public:
  // Both must outlive the responder.
  Responder(const Policy& policy, Journal& journal) : policy_(policy), journal_(journal) {}

  // One report an answer, in order; new ones are journalled with one sync. Nothing is journalled if
  // any answer is refused.
  absl::StatusOr<std::vector<PrivateReport>> Respond(const Privatizer& privatizer,
                                                     absl::Span<const Answer> answers,
                                                     PrivateRandom& random) const;

 private:
  const Policy& policy_;
  Journal& journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_RESPONDER_H_
