// The access policy as every transport applies it to a call, before reading any of it.

#ifndef COPPICE_SERVER_SERVING_GATE_ACCESS_GATE_H_
#define COPPICE_SERVER_SERVING_GATE_ACCESS_GATE_H_

#include <functional>
#include <string>
#include <string_view>

#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "server/serving/access/access_control.h"
#include "server/serving/access/caller.h"
#include "server/serving/gate/token_use.h"
#include "server/serving/metrics/call_metrics.h"

namespace coppice::calls {

// Called when the policy refuses a caller with valid credentials for want of a role, with the
// entry's name and the path. It must not block.
using RefusalObserver = std::function<void(const std::string& name, std::string_view path)>;

struct AccessObservers {
  RefusalObserver on_refusal{};
  UseObserver on_use{};
};

// Limits calls with invalid tokens; those above it get ResourceExhausted.
inline constexpr RateLimit kFailedTokenLimit = {.rate = 10, .burst = 100};

// One gate serves all transports, so that they share the limit of invalid tokens.
//
// Guarantee  Callers with invalid tokens do not slow those with valid ones. No token or certificate
//            is logged or repeated in an answer. Refusals are counted by method and code.
// Errors     Those of AccessPolicy::Admit(); Unauthenticated for several authorizations;
//            ResourceExhausted for invalid tokens beyond the limit.
// Threads    safe to share.
class AccessGate {
 public:
  // Null `access` makes everybody an admin without a name; null `metrics` counts nothing. Both, and
  // what the observers use, must outlive it.
  AccessGate(const access::AccessControl* access, AccessObservers observers = {},
             metrics::CallMetrics* metrics = nullptr);

  // Whether a call of `path` with these credentials may go on.
  Status Admit(std::string_view path, const access::Credentials& credentials);

  // For calls that Admit() cannot judge: counts `refusal` and returns it.
  Status Refuse(std::string_view path, Status refusal);
  Status RefuseSeveralAuthorizations(std::string_view path);

  // The caller of a call of `path`, by the policy in force now.
  owners::Caller CallerOf(std::string_view path, const access::Credentials& credentials) const;

  bool has_policy() const { return access_ != nullptr; }
  // Whether CallerOf() uses certificates. Reading one costs more than everything else here.
  bool LooksAtCertificates() const;

 private:
  Status Judge(std::string_view path, const access::Credentials& credentials);
  Status LimitFailures(const Status& refusal);

  const access::AccessControl* const access_;
  const AccessObservers observers_;
  metrics::CallMetrics* const metrics_;
  RateLimiter failures_;
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_SERVING_GATE_ACCESS_GATE_H_
