// Knows which curators of a fleet forward calls to this one.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"

namespace coppice::daemon {

// The certificates that a fleet's fronts showed with their calls, and when each was last shown.
//
// Guarantee  Holds at most kMaxPeers; the one silent longest makes room. Does not show peers that
//            were silent for kPeerMemory.
// Threads    safe to share. Note() costs a look-up per call; it hashes only certificates that it
//            does not know.
class PeerCalls {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxPeers = 64;
  static constexpr std::chrono::minutes kPeerMemory{10};

  struct Peer {
    Sha256Digest certificate{};
    std::chrono::seconds silent_for{};
  };

  // Notes a call by the owner of this certificate, in PEM.
  void Note(std::string_view pem, Clock::time_point now = Clock::now());

  // Sorted by certificate.
  std::vector<Peer> Recent(Clock::time_point now = Clock::now()) const;

 private:
  struct Seen {
    Sha256Digest certificate{};
    Clock::time_point last{};
  };

  mutable Mutex mutex_;
  StringMap<Seen> peers_ ABSL_GUARDED_BY(mutex_);  // by PEM
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_PEER_CALLS_H_
