// A link that can fail: a TCP relay on loopback between one process and another.
//
// A link has sources, told apart by who opened the connection, so that one of several curators can
// be cut off from a fourth while the others are not.
//
// A relay to a Unix socket refuses connections while that socket is not there: libpq goes on to the
// next of several servers if one refuses, and not if one hangs up.
//
// Guarantee  bytes are never changed, reordered or made up; a link that holds bytes back lets them
//            go on when it heals, however late.
// Threads    safe to share; the relay moves bytes on a thread of its own.

#ifndef COPPICE_TESTS_FLEET_RELAY_H_
#define COPPICE_TESTS_FLEET_RELAY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
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
  static constexpr size_t kSources = 9;

  // Relays to 127.0.0.1:`target`, or to a Unix socket if it is a path. `source_of` says, below
  // kSources, who opened the connection from a port.
  Relay(std::string target, std::function<size_t(int port)> source_of);
  // Takes every connection as of source 0.
  explicit Relay(std::string target) : Relay(std::move(target), [](int) { return size_t{0}; }) {}
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const { return port_; }
  void Set(size_t source, LinkState state);
  void SetAll(LinkState state);

 private:
  struct Flow {  // one direction of a connection
    int from = -1, to = -1;
    std::string waiting;
    bool ended = false;   // `from` has ended its side
    bool passed = false;  // `to` was told so
  };
  struct Link {
    size_t source = 0;
    int client = -1, server = -1;
    Flow request, answer;
    bool dead = false;
  };

  void Run();
  void Accept();
  void ListenOrRefuse();
  void Poll();
  void Move(Flow& flow, short from_events, short to_events, bool& dead);
  bool Passes(const Link& link, bool request) const;
  LinkState StateOf(size_t source) const { return states_[source].load(); }
  void Wake() const;

  const std::string target_;
  const std::function<size_t(int)> source_of_;
  std::array<std::atomic<LinkState>, kSources> states_{};
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  std::list<Link> links_;
  std::thread thread_;
};

// A port of 127.0.0.1 that nobody listens on, below those that the system gives to connections, so
// that a restarted daemon finds it free.
int FreePort();

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_RELAY_H_
