// The three calls of devices (proto/coppice/v1/relay.proto), over gRPC.

#ifndef COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_
#define COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_

#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

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

// Counted since the start of the process.
struct ServiceTotals {
  uint64_t refused_by_admission = 0;
  uint64_t refused_by_load = 0;
};

// Guarantee  Nothing about a call is logged, stored or passed on except the request's own fields:
//            no address, no metadata, no time. Only TakeOffer looks at credentials. All offers of a
//            deal have one length, and so have all outcomes of reports.
//            A request is looked over before it is parsed, so that none takes much more memory than
//            its own length.
// Errors     ResourceExhausted for a request that is longer than its method's; InvalidArgument for
//            one that does not parse, or has groups, fields twice or more unknown ones than an
//            honest device sends; ResourceExhausted, with the time to wait in
//            grpc-retry-pushback-ms, under load, which depends on no request's content; else those
//            of Relay and Admission. No error says anything about a ticket.
// Threads    safe to share. Relay and Admission must outlive it, and it must outlive the server.
class RelayService {
 public:
  RelayService(Relay& relay, Admission& admission, const ServiceLimits& limits = {});
  ~RelayService();
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

  void RegisterWith(grpc::ServerBuilder& builder);
  ServiceTotals totals() const;

 private:
  class Calls;

  const std::unique_ptr<Calls> calls_;
};

// The longest request that a device may send: a report. The others hold a name and an epoch.
inline constexpr size_t kMaxRequestBytes = kMaxCiphertextBytes + 1024;
inline constexpr size_t kBriefRequestBytes = 1024;

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_
