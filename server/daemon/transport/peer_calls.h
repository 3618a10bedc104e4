// Which curators of a fleet hand calls on to this one.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/study/sha256.h"

namespace coppice::daemon {

// The certificates that the fronts of a fleet showed with their calls, and when each did last.
//
// Guarantee  at most kMaxPeers are held; the one that is silent longest makes room. What has been
//            silent for kPeerMemory is not shown.
// Threads    safe to share. Note() costs a look-up per call: it hashes a certificate it does not
//            know, and no other.
class PeerCalls {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxPeers = 64;
  static constexpr std::chrono::minutes kPeerMemory{10};

  struct Peer {
    Sha256Digest certificate{};
    std::chrono::seconds silent_for{};
  };

  // A call by whoever showed this certificate, in PEM.
  void Note(absl::string_view pem, Clock::time_point now = Clock::now());

  // Sorted by certificate.
  std::vector<Peer> Recent(Clock::time_point now = Clock::now()) const;

 private:
  struct Seen {
    Sha256Digest certificate{};
    Clock::time_point last{};
  };

  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Seen> peers_ ABSL_GUARDED_BY(mutex_);  // by PEM
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_
