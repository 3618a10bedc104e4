// The three calls of devices (proto/coppice/v1/relay.proto), whatever carries them.

#ifndef COPPICE_SERVER_RELAY_SERVICE_DEVICE_CALLS_H_
#define COPPICE_SERVER_RELAY_SERVICE_DEVICE_CALLS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "coppice/v1/relay.pb.h"
#include "server/process/byte_load.h"
#include "server/relay/dealing/relay.h"
#include "server/relay/epoch/epoch.h"
#include "server/relay/service/admission.h"

namespace coppice::relay {

// Limits on what devices may have waiting. A relay beyond half of the reports deals no tickets, so
// that reports of dealt tickets still come in.
struct ServiceLimits {
  uint64_t pending_reports = 8192;
  uint64_t offer_bytes = uint64_t{256} << 20;  // of offers that wait to be read
};

// Counted since the start of the process, on all transports together.
struct ServiceTotals {
  uint64_t refused_by_admission = 0;
  uint64_t refused_by_load = 0;
};

// The longest request that a device may send: a report. The others hold a name and an epoch.
inline constexpr size_t kMaxRequestBytes = kMaxCiphertextBytes + 1024;
inline constexpr size_t kBriefRequestBytes = 1024;

// A serialized TakeOfferResponse in two parts, which count as unread until `held` goes.
struct DealtOffer {
  std::string head;  // the field's number and length
  std::string envelope;
  calls::HeldBytes held;
};

// Guarantee  Nothing about a call is logged, stored or passed on except the request's own fields:
//            no address, no metadata, no time. Only TakeOffer looks at credentials. All offers of a
//            deal have one length.
// Errors     ResourceExhausted, with a time to wait, under load, which depends on no request's
//            content; else those of Relay and Admission. No error says anything about a ticket.
// Threads    safe to share. Relay and Admission must outlive it, and it must outlive its answers.
class DeviceCalls {
 public:
  DeviceCalls(Relay& relay, Admission& admission, const ServiceLimits& limits)
      : relay_(relay), admission_(admission), limits_(limits), offers_(limits.offer_bytes) {}

  // A serialized GetRelayTermsResponse.
  StatusOr<std::shared_ptr<const std::string>> Terms(
      const v1::GetRelayTermsRequest& request) const {
    return relay_.Terms(request.study());
  }
  // `shown` is called once there is a ticket to be had.
  StatusOr<DealtOffer> TakeOffer(const v1::TakeOfferRequest& request,
                                 absl::FunctionRef<ShownCredentials()> shown);
  // Takes the report out of `request`. `done` runs once, in this thread or in another, and must not
  // block.
  void Submit(v1::SubmitSealedReportRequest& request,
              std::function<void(const StatusOr<SubmitOutcome>&)> done);

  ServiceTotals totals() const;

 private:
  bool IsUnderLoad() const;
  Status RefuseForLoad();

  Relay& relay_;
  Admission& admission_;
  const ServiceLimits limits_;
  calls::ByteLoad offers_;
  std::atomic<uint64_t> pending_reports_{0};
  std::atomic<uint64_t> refused_by_admission_{0};
  std::atomic<uint64_t> refused_by_load_{0};
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_DEVICE_CALLS_H_
