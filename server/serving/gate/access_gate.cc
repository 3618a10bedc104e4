#include "server/serving/gate/access_gate.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/gate/call_record.h"

namespace coppice::calls {

AccessGate::AccessGate(const access::AccessControl* access, AccessObservers observers,
                       metrics::CallMetrics* metrics)
    : access_(access),
      observers_(std::move(observers)),
      metrics_(metrics),
      failures_(kFailedTokenLimit, absl::Now) {}

Status AccessGate::Admit(std::string_view path, const access::Credentials& credentials) {
  if (access_ == nullptr) return OkStatus();
  Status judged = Judge(path, credentials);
  return judged.ok() ? judged : Refuse(path, std::move(judged));
}

Status AccessGate::Refuse(std::string_view path, Status refusal) {
  if (metrics_ != nullptr) metrics_->Refused(StripPrefix(path, "/"), CodeName(refusal.code()));
  return refusal;
}

Status AccessGate::RefuseSeveralAuthorizations(std::string_view path) {
  return Refuse(path, UnauthenticatedError("send one authorization, not several"));
}

Status AccessGate::Judge(std::string_view path, const access::Credentials& credentials) {
  const std::shared_ptr<const access::AccessPolicy> policy = access_->policy();
  const absl::Time now = absl::Now();
  const StatusOr<access::Identity> admitted = policy->Admit(path, credentials, now);
  if (admitted.ok() && observers_.on_use != nullptr) observers_.on_use(admitted->entries, now);
  if (IsPermissionDenied(admitted.status()) && observers_.on_refusal != nullptr) {
    const StatusOr<access::Identity> identity = policy->Identify(credentials, now);
    if (identity.ok()) observers_.on_refusal(identity->name(), path);
  }
  if (IsUnauthenticated(admitted.status()) && credentials.authorization) {
    return LimitFailures(admitted.status());
  }
  return admitted.status();
}

// One bucket for all callers: addresses are easily changed, and valid tokens do not use it.
Status AccessGate::LimitFailures(const Status& refusal) {
  if (failures_.Take("tokens", 1) == absl::ZeroDuration()) return refusal;
  return ResourceExhaustedError(
      "too many calls use invalid tokens: check yours, and try again in a second");
}

owners::Caller AccessGate::CallerOf(std::string_view path,
                                    const access::Credentials& credentials) const {
  if (access_ == nullptr) return owners::Caller::Operator();
  return access_->policy()->CallerOf(path, credentials, absl::Now());
}

bool AccessGate::LooksAtCertificates() const {
  return access_ != nullptr && !access_->policy()->certificates().empty();
}

}  // namespace coppice::calls
