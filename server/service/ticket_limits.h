// How many tickets a study gives, in a time, to callers who show no submission token.
//
// What for   a ticket costs nothing to ask for, and its tree and column nothing to look at: who
//            wants a certain one asks until it comes. A limit makes that slow; it cannot prevent it
//            (submission tokens do), and it does not tell callers apart, who have no identity. So
//            one who grinds uses up what honest devices need: the alarms of the study show what it
//            was for, and an operator asks for submission tokens.
// Default    10,000 a second and study, 100,000 at once: above what a curator of one machine takes
//            in from devices that connect one by one, and what a gateway of a small fleet asks for
//            at once; a caller in a loop meets it. State the rate of your own fleet instead.
// State      in memory, one bucket a study: a restart fills them.
// Threads    safe to share.

#ifndef COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_
#define COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/rate_limiter.h"

namespace coppice::service {

struct TicketLimits {
  double rate = 10'000;    // tickets a second and study; 0: no limit
  double burst = 100'000;  // at once
};

class TicketLimiter {
 public:
  TicketLimiter(const TicketLimits& limits, std::function<absl::Time()> clock)
      : limits_(limits), clock_(std::move(clock)) {}

  // Zero if `tickets` may be given out, and they are counted; else how long to wait. `study` must
  // be the id of a study that there is: each has a bucket from then on.
  absl::Duration Take(const std::string& study, uint32_t tickets) {
    if (limits_.rate == 0) return absl::ZeroDuration();
    const MutexLock lock(mutex_);
    const absl::Time now = clock_();
    const auto bucket = buckets_.try_emplace(study, limits_.rate, limits_.burst, now).first;
    return bucket->second.Take(tickets, now);
  }

 private:
  const TicketLimits limits_;
  const std::function<absl::Time()> clock_;
  Mutex mutex_;
  std::map<std::string, TokenBucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_
