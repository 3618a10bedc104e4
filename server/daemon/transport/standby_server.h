// Answers in the place of a curator that does not lead its fleet.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_STANDBY_SERVER_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_STANDBY_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/daemon/config/limits.h"
#include "server/process/certificates.h"
#include "server/process/health_service.h"
#include "server/serving/access/method_table.h"

namespace coppice::daemon {

// Listens where the curator will serve once it leads, so that health checks find it alive and not
// ready, and a balancer sends nobody here.
//
// Guarantee  Reads nothing of a call: neither its messages nor its token. A connection takes calls
//            for a few seconds only, so a client that came here by mistake soon asks the balancer
//            again.
// Errors     Unavailable to every call but health checks, with the time to wait in the trailing
//            metadata grpc-retry-pushback-ms.
// Threads    safe to share.
class StandbyServer {
 public:
  // `certificates`, null for no TLS, must outlive it. Unavailable if the address cannot be used.
  static StatusOr<std::unique_ptr<StandbyServer>> Start(const std::string& listen,
                                                        Certificates* certificates,
                                                        const TransportLimits& limits);
  ~StandbyServer();  // closes the port, which another server may take then
  StandbyServer(const StandbyServer&) = delete;
  StandbyServer& operator=(const StandbyServer&) = delete;

  int port() const { return port_; }

 private:
  class RefusingService final : public grpc::CallbackGenericService {
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override;
  };

  StandbyServer() = default;

  RefusingService service_;
  HealthService health_{access::MaxRequestBytesOf(kHealthCheckPath)};
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_STANDBY_SERVER_H_
