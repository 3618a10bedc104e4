// A TCP relay to a port of this machine, which can stall: bytes stay where they are, as if the
// other side were paused or its machine gone.

#ifndef COPPICE_TESTS_SERVER_DAEMON_FLEET_STALLING_RELAY_H_
#define COPPICE_TESTS_SERVER_DAEMON_FLEET_STALLING_RELAY_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"

namespace coppice::testing {

class StallingRelay {
 public:
  explicit StallingRelay(int target) : target_(target) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    bind(listener_, Of(address), size);
    listen(listener_, 16);
    getsockname(listener_, Of(address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~StallingRelay() {
    closing_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) {
      close(pair[0]);
      close(pair[1]);
    }
    close(listener_);
  }
  StallingRelay(const StallingRelay&) = delete;
  StallingRelay& operator=(const StallingRelay&) = delete;

  void Stall(bool stalls) { stalls_ = stalls; }
  std::string address() const { return StrCat("127.0.0.1:", port_); }

 private:
  using Pair = std::array<int, 2>;

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static sockaddr* Of(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  void Run() {
    while (!closing_) {
      if (stalls_) {
        poll(nullptr, 0, 10);
        continue;
      }
      std::vector<pollfd> ready = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        ready.push_back({pair[0], POLLIN, 0});
        ready.push_back({pair[1], POLLIN, 0});
      }
      poll(ready.data(), ready.size(), 10);
      for (size_t i = 1; i < ready.size(); ++i) {
        if (ready[i].revents != 0) Pump(pairs_[(i - 1) / 2], (i - 1) % 2);
      }
      if (ready[0].revents != 0) Accept();
    }
  }
  void Accept() {
    const int client = accept(listener_, nullptr, nullptr);
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(target_);
    connect(server, Of(address), sizeof address);
    pairs_.push_back({client, server});
  }
  void Pump(Pair& pair, size_t from) {
    char bytes[16384];
    const ssize_t size = read(pair[from], bytes, sizeof bytes);
    if (size <= 0) {
      shutdown(pair[1 - from], SHUT_RDWR);
      shutdown(pair[from], SHUT_RDWR);
      close(pair[from]);
      pair[from] = -1;  // poll() skips it
      return;
    }
    for (ssize_t sent = 0; sent < size;) {
      const ssize_t more =
          send(pair[1 - from], bytes + sent, static_cast<size_t>(size - sent), MSG_NOSIGNAL);
      if (more <= 0) return;
      sent += more;
    }
  }

  const int target_;
  int listener_ = -1, port_ = 0;
  std::vector<Pair> pairs_;
  std::atomic<bool> stalls_{false}, closing_{false};
  std::thread thread_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_FLEET_STALLING_RELAY_H_
