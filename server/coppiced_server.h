// The gRPC server of the daemon: the three services, health and reflection, on one port.

#ifndef COPPICE_SERVER_COPPICED_SERVER_H_
#define COPPICE_SERVER_COPPICED_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/coppiced_tls.h"
#include "server/curator/studies.h"

namespace coppice {

class DaemonServer {
 public:
  virtual ~DaemonServer() = default;

  // Serves `studies`, which must outlive it. Without TLS if `tls` is null. Unavailable if the
  // address cannot be had: the port is in use, or it is not this machine's.
  static absl::StatusOr<std::unique_ptr<DaemonServer>> Start(const std::string& listen,
                                                             const TlsFiles* tls, Studies& studies);

  virtual int port() const = 0;

  // Tells health checks that it is going, takes no new reports, answers those it has, waits at most
  // `grace` for the calls that are left, and cancels them.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_COPPICED_SERVER_H_
