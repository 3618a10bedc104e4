// The front of a curator in a fleet, which clients connect to. It forwards every call, as bytes, to
// the leading curator, which may be another process or its own.
//
// It knows only the time limit of each method, keeps nothing, and decides nothing about access.
// Besides its messages a call carries only authorization, x-request-id, its deadline, its
// cancellation and the SHA-256 of the client's verified certificate (transport/fronts.h). Metadata
// and status come back as the leader gave them. The front answers health checks itself: "" is
// alive, "ready" is set by SetReady().
//
// This process reads calls over HTTP and sends them as gRPC to the front itself (http_sender.h);
// the leader sees them as it sees any other.
//
// A call that arrives while no leader can be reached waits for one, up to kLeaderPatience or its
// deadline.
//
// Guarantee  Each call holds at most one message in either direction. A call is sent to one leader
//            once, so it takes effect at most once, even if its answer is lost.
// Errors     Unavailable, with the time to wait in the trailing metadata grpc-retry-pushback-ms, if
//            there is no leader or the connection to it breaks. ResourceExhausted likewise for a
//            large answer that, with the others waiting to be read, exceeds max_answer_bytes. No
//            error contains an address.
// Threads    safe to share.

#ifndef COPPICE_SERVER_DAEMON_FLEET_FRONT_H_
#define COPPICE_SERVER_DAEMON_FLEET_FRONT_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/daemon/config/limits.h"
#include "server/daemon/transport/server.h"
#include "server/process/certificates.h"
#include "server/process/log.h"

namespace coppice::daemon {

inline constexpr absl::Duration kLeaderPatience = absl::Seconds(10);
inline constexpr size_t kMaxWaitingCalls = 1024;  // waiting for a leader; more are refused

struct FrontOptions {
  std::string listen;
  HttpOptions http{};                    // with the same certificates; calls are sent on as gRPC
  Certificates* certificates = nullptr;  // null: no TLS; must outlive the front
  DaemonLimits limits{};
  std::string peer_ca_pem;               // the leaders' only authority; empty: no TLS to them
  std::string certificate_pem, key_pem;  // shown to leaders
  const Log* log = nullptr;              // null: no logging; must outlive the front
};

class Front {
 public:
  virtual ~Front() = default;

  // Unavailable if the address cannot be used.
  static StatusOr<std::unique_ptr<Front>> Start(const FrontOptions& options);

  virtual int port() const = 0;
  virtual int http_port() const = 0;  // 0: no HTTP

  // Sets where later calls go, HOST:PORT; empty: nobody leads. Calls under way stay where they are.
  virtual void SetLeader(const std::string& address) = 0;

  // Whether it was connected to the leader within the last seconds.
  virtual bool ReachesLeader() const = 0;

  // Sets the health service's answer for "ready"; not ready at first and after Stop().
  virtual void SetReady(bool ready) = 0;

  // Sets what later connections to leaders show and trust, as in the options.
  virtual void Replace(const std::string& peer_ca_pem, const std::string& certificate_pem,
                       const std::string& key_pem) = 0;

  // Tells health checks that it is stopping, refuses new calls and calls waiting for a leader,
  // waits at most `grace` for the others, and cancels the rest.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_FRONT_H_
