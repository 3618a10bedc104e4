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

// What devices may have waiting at once. A relay that is beyond half of the reports deals no
// tickets, so that reports of tickets that are dealt still come in.
struct ServiceLimits {
  uint64_t pending_reports = 8192;
  uint64_t offer_bytes = uint64_t{256} << 20;  // of offers that wait to be read
};

// Since the start of the process.
struct ServiceTotals {
  uint64_t refused_by_admission = 0;
  uint64_t refused_by_load = 0;
};

// Guarantee  Nothing of a call is logged, stored or passed on but the request's own fields: no
//            address, no metadata, no time. Credentials are looked at for TakeOffer alone. Answers
//            have one length each: of all offers of a deal, and of all outcomes of reports.
// Errors     InvalidArgument for a request that does not parse; ResourceExhausted, with the time to
//            wait in grpc-retry-pushback-ms, under load, which depends on no request's content;
//            else those of Relay and Admission. No error says anything about a ticket.
// Threads    safe to share. Both that it is made of must outlive it, and it the server.
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

// The longest request that a device may send.
inline constexpr size_t kMaxRequestBytes = kMaxCiphertextBytes + 1024;

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_
