// The connection of a front to one leader. More connections made nothing faster: the processors
// were busy first.

#ifndef COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_
#define COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "server/daemon/fleet/front.h"

namespace coppice::daemon {

// Guarantee  Notices within five seconds that a leader has vanished: calls on it end, and
//            FindConnected() finds none. Connects within about a second to a leader that comes
//            back.
// Threads    safe to share.
class LeaderLink {
 public:
  LeaderLink(std::string address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
             const DaemonLimits& limits);

  const std::string& address() const { return address_; }

  // Null without a connection; then the call also starts connecting.
  std::shared_ptr<grpc::Channel> FindConnected() const;

 private:
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
};

// What a connection shows and trusts. Without an authority it is not encrypted.
std::shared_ptr<grpc::ChannelCredentials> MakePeerCredentials(const std::string& peer_ca_pem,
                                                              const std::string& certificate_pem,
                                                              const std::string& key_pem);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_
