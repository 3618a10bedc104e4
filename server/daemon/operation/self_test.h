// What the daemon tries on itself before it opens its port, beside the tests of every program
// (common/process/self_test.h).
//
// It catches a sampler whose law is off by some parts in a hundred; a store that loses or garbles;
// a damaged ticket key; a clock that stands far behind the store.
//
// Guarantee  a sound daemon fails the sampler with probability below 2^-40 a run (Chernoff's bound,
//            in the source), and the others never.
// Threads    one at a time.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_
#define COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/privacy/private_random.h"
#include "common/process/self_test.h"
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "server/storage/store.h"

namespace coppice::daemon {

// Unavailable unless draws of the kernel's samplers from `random` have their laws.
absl::Status TestSamplers(PrivateRandom& random);

// Writes a key, reads it back and deletes it.
absl::Status TestStore(storage::Store& store);
// Writes a key, the same each time: whether reports could be stored now. For checks that repeat.
absl::Status TestWriting(storage::Store& store);

// A curator's tickets: made, and told from others'.
struct TicketSeam {
  std::function<absl::StatusOr<std::vector<Ticket>>(const Fingerprint&, size_t)> issue;
  std::function<absl::StatusOr<std::vector<bool>>(absl::Span<const Ticket>, const Fingerprint&)>
      recognize;
};
// With the ticket key of `store`, which is made if there is none.
absl::StatusOr<TicketSeam> TicketsOf(storage::Store& store);
absl::Status TestTicketKey(const TicketSeam& tickets);

// FailedPrecondition if `now` is before this program was built, or more than `tolerance` before the
// newest record of the store.
absl::Status TestClock(absl::Time now, absl::Time newest_record, absl::Duration tolerance);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_
