// A link that can fail: a TCP relay on loopback between one process and another.
//
// A relay to a Unix socket refuses connections while that socket is not there: libpq goes on to the
// next of several servers if one refuses, and not if one hangs up.
//
// Guarantee  bytes are never changed, reordered or made up; a link that holds bytes back lets them
//            go on when it heals, however late.
// Threads    safe to share; the relay moves bytes on a thread of its own.

#ifndef COPPICE_TESTS_FLEET_RELAY_H_
#define COPPICE_TESTS_FLEET_RELAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <thread>

namespace coppice::fleet_faults {

enum class LinkState : uint8_t {
  kWhole,
  kHung,    // nothing passes either way; connections stand, and new ones wait
  kDeaf,    // requests pass, answers wait
  kMute,    // answers pass, requests wait
  kBroken,  // connections are reset, and new ones refused
};
inline constexpr size_t kNumLinkStates = 5;

class Relay {
 public:
  // Relays to 127.0.0.1:`target`, or to a Unix socket if it is a path.
  explicit Relay(std::string target);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const { return port_; }
  void Set(LinkState state);

 private:
  struct Flow {  // one direction of a connection
    int from = -1, to = -1;
    std::string waiting;
    bool ended = false;   // `from` has ended its side
    bool passed = false;  // `to` was told so
  };
  struct Link {
    int client = -1, server = -1;
    Flow request, answer;
    bool dead = false;
  };

  void Run();
  void Accept();
  void ListenOrRefuse();
  void Poll();
  void Move(Flow& flow, short from_events, short to_events, bool& dead);
  bool Passes(bool request) const;
  LinkState state() const { return state_.load(); }
  void Wake() const;

  const std::string target_;
  std::atomic<LinkState> state_{LinkState::kWhole};
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  std::list<Link> links_;
  std::thread thread_;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_RELAY_H_
