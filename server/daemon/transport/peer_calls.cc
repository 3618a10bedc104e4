#include "server/daemon/transport/peer_calls.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "server/daemon/transport/access.h"

namespace coppice::daemon {

void PeerCalls::Note(std::string_view pem, Clock::time_point now) {
  const MutexLock lock(mutex_);
  const auto known = peers_.find(pem);
  if (known != peers_.end()) {
    known->second.last = now;
    return;
  }
  const std::optional<Sha256Digest> certificate = CertificateSha256(pem);
  if (!certificate.has_value()) return;
  if (peers_.size() >= kMaxPeers) {
    peers_.erase(std::min_element(peers_.begin(), peers_.end(), [](const auto& a, const auto& b) {
      return a.second.last < b.second.last;
    }));
  }
  peers_[std::string(pem)] = {.certificate = *certificate, .last = now};
}

std::vector<PeerCalls::Peer> PeerCalls::Recent(Clock::time_point now) const {
  std::vector<Peer> recent;
  {
    const MutexLock lock(mutex_);
    for (const auto& [pem, seen] : peers_) {
      const auto silent = std::chrono::duration_cast<std::chrono::seconds>(now - seen.last);
      if (silent > kPeerMemory) continue;
      recent.push_back({.certificate = seen.certificate,
                        .silent_for = std::max(silent, std::chrono::seconds::zero())});
    }
  }
  std::sort(recent.begin(), recent.end(),
            [](const Peer& a, const Peer& b) { return a.certificate < b.certificate; });
  return recent;
}

}  // namespace coppice::daemon
