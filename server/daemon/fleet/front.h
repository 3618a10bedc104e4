// The front of a curator in a fleet: what clients connect to. It hands every call, as bytes, to the
// curator that leads, which may be another process or its own.
//
// It knows no method but the time that a call may take, keeps nothing, and decides nothing about
// access. With a call go authorization, x-request-id, its deadline, its cancellation and the
// SHA-256 of the client's verified certificate (transport/fronts.h); nothing else that a client
// sends beside its messages. Back come metadata and status as the leader gave them. Health is the
// front's own: "" is alive, "ready" as it is told.
//
// Calls by HTTP are read by this process and sent as gRPC to the front itself (http_sender.h); the
// leader learns of them what it learns of any other.
//
// A call that comes while no leader can be reached waits for one, for kLeaderPatience or until its
// deadline.
//
// Guarantee  of each call at most one message in either direction is held. A call is sent to one
//            leader once: what it asked for may be done once at most, also when its answer is lost.
// Errors     Unavailable, with the time to wait in the trailing metadata grpc-retry-pushback-ms,
//            when there is no leader or the connection to it breaks. ResourceExhausted likewise for
//            a large answer that is beyond max_answer_bytes with the others that wait to be read.
//            No error tells an address.
// Threads    safe to share.

#ifndef COPPICE_SERVER_DAEMON_FLEET_FRONT_H_
#define COPPICE_SERVER_DAEMON_FLEET_FRONT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process/log.h"
#include "common/serving/certificates.h"
#include "server/daemon/config/limits.h"
#include "server/daemon/transport/server.h"

namespace coppice::daemon {

inline constexpr absl::Duration kLeaderPatience = absl::Seconds(10);
inline constexpr size_t kMaxWaitingCalls = 1024;  // for a leader; more are refused

struct FrontOptions {
  std::string listen;
  HttpOptions http{};                    // the same certificates; calls go on as gRPC
  Certificates* certificates = nullptr;  // null: no TLS; must outlive the front
  DaemonLimits limits{};
  std::string peer_ca_pem;               // the one authority of leaders; empty: no TLS to them
  std::string certificate_pem, key_pem;  // shown to leaders
  const Log* log = nullptr;              // null: nothing is logged; must outlive the front
};

class Front {
 public:
  virtual ~Front() = default;

  // Unavailable if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<Front>> Start(const FrontOptions& options);

  virtual int port() const = 0;
  virtual int http_port() const = 0;  // 0: there is none

  // Where calls that come from now on go, HOST:PORT; empty: nobody leads. Calls under way go on
  // where they are.
  virtual void SetLeader(const std::string& address) = 0;

  // Whether it was connected to the leader within the last seconds.
  virtual bool ReachesLeader() const = 0;

  // What the health service answers for "ready"; not ready at first, nor after Stop().
  virtual void SetReady(bool ready) = 0;

  // What later connections to leaders show and trust, as in the options.
  virtual void Replace(const std::string& peer_ca_pem, const std::string& certificate_pem,
                       const std::string& key_pem) = 0;

  // Tells health checks that it is going, refuses new calls and those that wait for a leader, waits
  // at most `grace` for the others, and cancels the rest.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_FRONT_H_
