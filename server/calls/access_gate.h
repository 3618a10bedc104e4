// The access policy as every transport asks it about a call, before any of it is read.

#ifndef COPPICE_SERVER_CALLS_ACCESS_GATE_H_
#define COPPICE_SERVER_CALLS_ACCESS_GATE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/rate_limiter.h"
#include "server/access/access_control.h"
#include "server/calls/token_use.h"
#include "server/metrics/call_metrics.h"
#include "server/owners/caller.h"

namespace coppice::calls {

// Told of a call that the policy refuses to a caller whose credentials are good, for want of a
// role: the name of the entry and the path. It must not wait.
using RefusalObserver = std::function<void(const std::string& name, absl::string_view path)>;

struct AccessObservers {
  RefusalObserver on_refusal{};
  UseObserver on_use{};
};

// Calls with tokens that are not good: above this limit they are ResourceExhausted.
inline constexpr RateLimit kFailedTokenLimit = {.rate = 10, .burst = 100};

// One for all transports, so that they share the limit of failed tokens.
//
// Guarantee  nobody who shows a good token is slowed by those who do not. Nothing of a token or a
//            certificate is logged, and no answer repeats it. Refusals are counted by method and
//            code.
// Errors     those of AccessPolicy::Admit(); Unauthenticated for several authorizations;
//            ResourceExhausted for bad tokens beyond the limit.
// Threads    safe to share.
class AccessGate {
 public:
  // Null `access`: everybody is an admin without a name; null `metrics` count nothing. They, and
  // what the observers use, must outlive it.
  AccessGate(const access::AccessControl* access, AccessObservers observers = {},
             metrics::CallMetrics* metrics = nullptr);

  // Whether a call of `path` that shows these may go on.
  absl::Status Admit(absl::string_view path, const access::Credentials& credentials);

  // For calls that Admit() cannot judge; returns `refusal`, and counts it.
  absl::Status Refuse(absl::string_view path, absl::Status refusal);
  absl::Status RefuseSeveralAuthorizations(absl::string_view path);

  // Whose call of `path` it is, by the policy that holds when this is asked.
  owners::Caller CallerOf(absl::string_view path, const access::Credentials& credentials) const;

  bool has_policy() const { return access_ != nullptr; }
  // Whether CallerOf() looks at a certificate: reading one costs more than all else.
  bool LooksAtCertificates() const;

 private:
  absl::Status Judge(absl::string_view path, const access::Credentials& credentials);
  absl::Status LimitFailures(const absl::Status& refusal);

  const access::AccessControl* const access_;
  const AccessObservers observers_;
  metrics::CallMetrics* const metrics_;
  RateLimiter failures_;
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_CALLS_ACCESS_GATE_H_
