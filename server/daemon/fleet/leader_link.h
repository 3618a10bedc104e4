// The connection of a front to one leader. More than one made nothing faster: the processors were
// busy first.

#ifndef COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_
#define COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "server/daemon/fleet/front.h"

namespace coppice::daemon {

// Guarantee  a leader that is gone without a word is noticed within five seconds: calls on it end,
//            and FindConnected() finds none. One that comes back is connected to within about a
//            second.
// Threads    safe to share.
class LeaderLink {
 public:
  LeaderLink(std::string address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
             const DaemonLimits& limits);

  const std::string& address() const { return address_; }

  // Null if there is no connection at the moment; then it is asked to connect.
  std::shared_ptr<grpc::Channel> FindConnected() const;

 private:
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
};

// What a connection shows and trusts; without an authority it is not encrypted.
std::shared_ptr<grpc::ChannelCredentials> MakePeerCredentials(const std::string& peer_ca_pem,
                                                              const std::string& certificate_pem,
                                                              const std::string& key_pem);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_FLEET_LEADER_LINK_H_
