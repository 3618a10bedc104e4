// What the daemon tries on itself before it opens its port: whatever fails here would fail quietly
// later, with somebody's privacy or reports.
//
// False      a sound daemon fails with probability below 2^-60 (random source) and 2^-40 (sampler)
// alarms     a run; the others are certain. Bounds: Hoeffding's and Chernoff's, in the source.
// Catches    a source that stands still, repeats itself, or whose bits lean by 2 % or hang together
//            with their neighbours; a sampler whose law is off by some parts in a hundred. It does
//            not tell good randomness from what an attacker made to look like it.
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
#include "common/study/terms.h"
#include "common/study/ticket.h"
#include "server/storage/store.h"

namespace coppice::daemon {

// Unavailable unless the words of `random` differ and look uniform and independent.
absl::Status TestRandomSource(PrivateRandom& random);

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

struct SelfTest {
  std::string name;
  std::function<absl::Status()> run;
};

// Runs all of `tests` and returns the failures, each with the test's name in front.
std::vector<absl::Status> RunSelfTests(const std::vector<SelfTest>& tests);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_SELF_TEST_H_
