// The two calls that a relay makes to the curator.

#ifndef COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_
#define COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_

#include <memory>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "common/base/status.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice::relay {

// Guarantee  Each call is tried once: the caller decides when to retry (collector_call.h:
//            IsRetryable(), AskedToWait()). It contains nothing of a device's call.
// Errors     as FromGrpcStatus(); Cancelled after Cancel().
// Threads    safe to share.
class CuratorCalls {
 public:
  virtual ~CuratorCalls() = default;

  virtual StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request) = 0;
  virtual StatusOr<v1::DeliverBatchResponse> DeliverBatch(
      const v1::DeliverBatchRequest& request) = 0;

  // Ends the calls in progress, and makes every later one fail at once.
  virtual void Cancel() = 0;
};

// Makes them over gRPC. A call reconnects if one of the files that `connect` names has changed, so
// a token or a certificate is replaced without a restart.
//
// Errors     InvalidArgument: unusable options or files.
StatusOr<std::unique_ptr<CuratorCalls>> MakeCuratorCalls(const ConnectOptions& connect,
                                                         absl::Duration deadline);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_CURATOR_CALLS_H_
