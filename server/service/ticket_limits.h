// How many tickets a study gives, in a time, to callers who show no submission token.
//
// A ticket costs nothing to ask for, and its tree and column nothing to look at: whoever wants a
// certain one asks until it comes. A limit makes that slow; it cannot prevent it (submission tokens
// do), and it does not tell callers apart, who have no identity. So one who grinds uses up what
// honest devices need: the alarms of the study show what it was for, and an operator asks for
// submission tokens.

#ifndef COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_
#define COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_

#include "common/base/rate_limiter.h"

namespace coppice::service {

// Per study. This is above what a curator of one machine takes in from devices that connect one by
// one, and what a gateway of a small fleet asks for at once; a caller in a loop meets it. Operators
// state the rate of their own fleet instead.
inline constexpr RateLimit kDefaultTicketLimit = {.rate = 10'000, .burst = 100'000};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_TICKET_LIMITS_H_
