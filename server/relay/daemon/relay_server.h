// The ports of coppice-relay: the three calls of devices over gRPC, with health (grpc.health.v1),
// and over HTTP where it is asked for.

#ifndef COPPICE_SERVER_RELAY_DAEMON_RELAY_SERVER_H_
#define COPPICE_SERVER_RELAY_DAEMON_RELAY_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/http/server.h"
#include "server/process/certificates.h"
#include "server/process/health_service.h"
#include "server/relay/dealing/relay.h"
#include "server/relay/service/admission.h"
#include "server/relay/service/device_calls.h"
#include "server/relay/service/http_methods.h"
#include "server/relay/service/relay_service.h"

namespace grpc {
class Server;
}

namespace coppice::relay {

struct RelayHttpOptions {
  std::string listen;  // empty: no HTTP
  std::vector<std::string> allowed_origins{};
  uint64_t max_connections = 1000;
};

struct RelayServerOptions {
  std::string listen;
  RelayHttpOptions http{};
  Certificates* certificates = nullptr;  // null: no TLS
  uint64_t max_transport_bytes = uint64_t{1} << 30;
  uint64_t max_connection_age = 300;  // seconds
  ServiceLimits limits{};
};

// Guarantee  No answer is compressed, and compressed calls are refused. A connection, and any
//            stalled call on it, ends 30 seconds after max_connection_age at the latest.
// Threads    safe to share, except Stop(), which is called once.
class RelayServer {
 public:
  // `relay`, `admission` and the certificates must outlive the server. Unavailable if the address
  // cannot be used.
  static StatusOr<std::unique_ptr<RelayServer>> Start(const RelayServerOptions& options,
                                                      Relay& relay, Admission& admission);
  ~RelayServer();

  int port() const { return port_; }
  int http_port() const { return http_ == nullptr ? 0 : http_->port(); }  // 0: none
  ServiceTotals totals() const { return calls_.totals(); }

  // Sets what the health service answers for "ready"; not ready at first, nor after Stop().
  void SetReady(bool ready);

  // Tells health checks that the server ends, lets the relay answer what it has accepted, takes no
  // new calls, and waits at most `grace` for the remaining ones.
  void Stop(absl::Duration grace);

 private:
  RelayServer(const RelayServerOptions& options, Relay& relay, Admission& admission);

  Status ListenToHttp(const RelayServerOptions& options);

  Relay& relay_;
  DeviceCalls calls_;
  RelayService service_{calls_};
  HttpMethods http_methods_{calls_};
  HealthService health_{kBriefRequestBytes};
  // Destroyed first: their calls use all of the above.
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<http::Server> http_;
  int port_ = 0;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DAEMON_RELAY_SERVER_H_
