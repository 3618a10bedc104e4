// The servers of the daemon: gRPC with health and reflection on one port, and optionally HTTP on
// another. Both serve the same handlers behind the same access gate.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_SERVER_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "server/daemon/config/limits.h"
#include "server/datasets/datasets.h"
#include "server/datasets/jobs.h"
#include "server/process/certificates.h"
#include "server/process/log.h"
#include "server/serving/access/access_control.h"
#include "server/serving/grpc/calls.h"
#include "server/serving/metrics/call_metrics.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/ticket_limits.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/endpoints.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::http {
class Console;
class Site;
class Server;
}  // namespace coppice::http

namespace coppice::daemon {

// The parts of a curator that are served.
struct Curator {
  curator::Studies& studies;
  models::Models& models;
  models::Endpoints& endpoints;
  central::Datasets& datasets;
  central::Jobs& jobs;
  central::Evaluations& evaluations;
  storage::Store& store;
  audit::AuditLog* audit = nullptr;  // null: calls are not recorded, and there is no log to read
  service::BackupSettings backups{};
};

// The second listener, HTTP/1.1 (server/http).
struct HttpOptions {
  std::string listen{};  // empty: none
  std::vector<std::string> allowed_origins{};
  std::shared_ptr<const http::Console> console{};  // null: none
  std::shared_ptr<const http::Site> site{};        // null: none
  uint64_t max_connections = 1000;
};

// All of it must outlive the server.
struct ServerOptions {
  std::string listen;
  HttpOptions http{};
  Certificates* certificates = nullptr;           // null: no TLS
  const access::AccessControl* access = nullptr;  // null: every caller may do everything
  RateLimit ticket_limits = service::kDefaultTicketLimit;
  TransportLimits limits{};
  uint64_t max_model_bytes = models::kMaxModelBytes;
  const Log* log = nullptr;                      // null: calls are neither logged nor counted
  metrics::CallMetrics* call_metrics = nullptr;  // null: calls are not counted
  rpc::AnswerCheck may_answer{};                 // asked before each answer
  service::StatusReader status{};                // what GetStatus answers; null: nothing
};

// Unavailable: the address of --listen cannot be used.
Status CannotListen(const std::string& listen);

class DaemonServer {
 public:
  // Serves `curator`, which must outlive it. Unavailable if the address cannot be used: the port is
  // taken, or the address is not this machine's.
  static StatusOr<std::unique_ptr<DaemonServer>> Start(const ServerOptions& options,
                                                       const Curator& curator);
  ~DaemonServer();

  int port() const;
  int http_port() const;  // 0: no HTTP

  // Sets the health service's answer for "ready"; not ready at first and after Stop().
  void SetReady(bool ready);

  // Tells health checks that it is stopping, stops long computations (previews, studies and models
  // being made, a backup), takes no new reports and jobs, and answers the reports it has. Waits at
  // most `grace` for running jobs, which are then left, and a second more for the remaining calls,
  // which are then cancelled.
  void Stop(absl::Duration grace);

 private:
  class Parts;  // of both transports, whose headers nobody else needs
  explicit DaemonServer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_SERVER_H_
