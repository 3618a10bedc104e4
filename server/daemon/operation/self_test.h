// The daemon's self-tests before it opens its port, in addition to those of every program
// (server/process/self_test.h).
//
// They catch a sampler whose distribution is off by some parts in a hundred, a store that loses or
// corrupts data, a damaged ticket key, and a clock far behind the store.
//
// Guarantee  On a sound daemon the sampler test fails with probability below 2^-40 per run
//            (Chernoff's bound, in the source), the others never.
// Threads    one at a time.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"
#include "server/process/self_test.h"
#include "server/store/store.h"

namespace coppice::daemon {

// Unavailable unless draws of the kernel's samplers from `random` fit their distributions.
Status TestSamplers(PrivateRandom& random);

// Writes a key, reads it back and deletes it.
Status TestStore(storage::Store& store);
// Writes a key, the same each time, to test whether reports could be stored now. Meant to repeat.
Status TestWriting(storage::Store& store);

// Issues a curator's tickets and recognizes them, so that tests can replace it.
struct TicketSeam {
  std::function<StatusOr<std::vector<Ticket>>(const Fingerprint&, size_t)> issue;
  std::function<StatusOr<std::vector<bool>>(absl::Span<const Ticket>, const Fingerprint&)>
      recognize;
};
// Uses the ticket key of `store`, which is made if there is none.
StatusOr<TicketSeam> TicketsOf(storage::Store& store);
Status TestTicketKey(const TicketSeam& tickets);

// FailedPrecondition if `now` is before this program was built, or more than `tolerance` before the
// newest record of the store.
Status TestClock(absl::Time now, absl::Time newest_record, absl::Duration tolerance);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_
