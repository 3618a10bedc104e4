// Limits the tickets per time that a study gives to callers without a submission token.
//
// Asking for a ticket is free, and its tree and column are visible: a caller who wants a certain
// one asks until it comes. A limit makes that slow. It cannot prevent it, as submission tokens do,
// and it cannot tell callers apart, who have no identity. Such a caller uses up what honest devices
// need; the study's alarms show the purpose, and the operator can then require submission tokens.

#ifndef COPPICE_SERVER_SERVING_SERVICE_TICKET_LIMITS_H_
#define COPPICE_SERVER_SERVING_SERVICE_TICKET_LIMITS_H_

#include "common/base/rate_limiter.h"

namespace coppice::service {

// Per study. Above what a curator on one machine takes in from devices that connect one by one, and
// what a gateway of a small fleet requests at once; a caller in a loop hits it. Operators set the
// rate of their own fleet instead.
inline constexpr RateLimit kDefaultTicketLimit = {.rate = 10'000, .burst = 100'000};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_TICKET_LIMITS_H_
