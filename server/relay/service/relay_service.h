// The three calls of devices (proto/coppice/v1/relay.proto), over gRPC.

#ifndef COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_
#define COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_

#include <grpcpp/server_builder.h>

#include <memory>

#include "server/relay/service/device_calls.h"

namespace coppice::relay {

// Guarantee  A request is looked over before it is parsed, so that none takes much more memory than
//            its own length. All outcomes of reports have one length.
// Errors     ResourceExhausted for a request that is longer than its method's; InvalidArgument for
//            one that does not parse, or has groups, fields twice or more unknown ones than an
//            honest device sends; else those of DeviceCalls, their time to wait in
//            grpc-retry-pushback-ms.
// Threads    safe to share. `calls` must outlive it, and it must outlive the server.
class RelayService {
 public:
  explicit RelayService(DeviceCalls& calls);
  ~RelayService();
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

  void RegisterWith(grpc::ServerBuilder& builder);

 private:
  class Methods;

  const std::unique_ptr<Methods> methods_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_RELAY_SERVICE_H_
