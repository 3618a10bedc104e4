// The two calls that a relay makes to the curator.

#ifndef COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_
#define COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/collector/collector.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice::relay {

// Guarantee  Each call is tried once: who calls decides when to try again (collector_call.h:
//            IsRetryable(), AskedToWait()). Nothing of a device's call is part of it.
// Errors     as FromGrpcStatus(); Cancelled after Cancel().
// Threads    safe to share.
class CuratorCalls {
 public:
  virtual ~CuratorCalls() = default;

  virtual absl::StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request) = 0;
  virtual absl::StatusOr<v1::DeliverBatchResponse> DeliverBatch(
      const v1::DeliverBatchRequest& request) = 0;

  // Ends the calls in progress, and every later one at once.
  virtual void Cancel() = 0;
};

// Over gRPC. A call connects anew if one of the files that `connect` names holds something else by
// then: a token or a certificate is replaced without a restart.
//
// Errors     InvalidArgument: options or files that do not do.
absl::StatusOr<std::unique_ptr<CuratorCalls>> MakeCuratorCalls(const ConnectOptions& connect,
                                                               absl::Duration deadline);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_
