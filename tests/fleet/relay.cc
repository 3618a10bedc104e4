#include "tests/fleet/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "tests/support/free_port.h"

namespace coppice::fleet_faults {
namespace {

constexpr size_t kMostWaiting = size_t{1} << 18;  // bytes that a flow reads ahead

void SetUp(int fd) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // Unix sockets lack it
}

// Returns -1 if nobody listens there.
int ConnectTo(const std::string& target) {
  int port = 0;
  int fd = -1, done = -1;
  if (SimpleAtoi(target, &port)) {
    const sockaddr_in address = testing::LoopbackAddress(port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    done = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, target.c_str(), sizeof address.sun_path - 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    done = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  if (done == 0) {
    SetUp(fd);
    return fd;
  }
  close(fd);
  return -1;
}

// Closes so that the other side sees a reset, not a clean end.
void Reset(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

}  // namespace

Relay::Relay(std::string target) : target_(std::move(target)) {
  while (listener_ < 0) {
    port_ = testing::FreePort();
    listener_ = testing::ListenOn(port_);
  }
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { Run(); });
}

Relay::~Relay() {
  stopping_ = true;
  Wake();
  thread_.join();
  for (const Link& link : links_) {
    Reset(link.client);
    Reset(link.server);
  }
  if (listener_ >= 0) close(listener_);
  close(wake_);
}

void Relay::Set(LinkState state) {
  state_ = state;
  Wake();
}

void Relay::Wake() const {
  const uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) std::perror("relay: eventfd");
}

bool Relay::Passes(bool request) const {
  const LinkState now = state();
  return now == LinkState::kWhole || now == (request ? LinkState::kDeaf : LinkState::kMute);
}

void Relay::Run() {
  while (!stopping_) {
    ListenOrRefuse();
    Poll();
    links_.remove_if([&](const Link& link) {
      const bool over = link.request.passed && link.answer.passed;
      const bool reset = link.dead || state() == LinkState::kBroken;
      if (!over && !reset) return false;
      reset ? Reset(link.client) : static_cast<void>(close(link.client));
      reset ? Reset(link.server) : static_cast<void>(close(link.server));
      return true;
    });
  }
}

void Relay::ListenOrRefuse() {
  const bool gone = target_.front() == '/' && access(target_.c_str(), F_OK) != 0;
  if (state() == LinkState::kBroken || gone) {
    if (listener_ >= 0) close(std::exchange(listener_, -1));
  } else if (listener_ < 0) {
    listener_ = testing::ListenOn(port_);
  }
}

void Relay::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = state() == LinkState::kBroken ? -1 : ConnectTo(target_);
  if (server < 0) return Reset(client);
  SetUp(client);
  links_.push_back({.client = client,
                    .server = server,
                    .request = {.from = client, .to = server, .waiting = ""},
                    .answer = {.from = server, .to = client, .waiting = ""}});
}

void Relay::Poll() {
  std::vector<pollfd> fds = {{.fd = wake_, .events = POLLIN, .revents = 0},
                             {.fd = listener_, .events = POLLIN, .revents = 0}};
  for (Link& link : links_) {
    short client = 0, server = 0;
    if (Passes(/*request=*/true)) {
      if (!link.request.ended && link.request.waiting.size() < kMostWaiting) client |= POLLIN;
      if (!link.request.waiting.empty()) server |= POLLOUT;
    }
    if (Passes(/*request=*/false)) {
      if (!link.answer.ended && link.answer.waiting.size() < kMostWaiting) server |= POLLIN;
      if (!link.answer.waiting.empty()) client |= POLLOUT;
    }
    // A side that is not read must not wake this thread by hanging up.
    fds.push_back({.fd = client != 0 ? link.client : -1, .events = client, .revents = 0});
    fds.push_back({.fd = server != 0 ? link.server : -1, .events = server, .revents = 0});
  }
  if (poll(fds.data(), fds.size(), 50) <= 0) return;
  uint64_t ignored;
  if ((fds[0].revents & POLLIN) != 0 && read(wake_, &ignored, sizeof ignored) < 0) return;
  size_t at = 2;
  for (Link& link : links_) {
    const short client = fds[at].revents, server = fds[at + 1].revents;
    at += 2;
    if (Passes(true)) Move(link.request, client, server, link.dead);
    if (Passes(false)) Move(link.answer, server, client, link.dead);
  }
  if ((fds[1].revents & POLLIN) != 0) Accept();
}

void Relay::Move(Flow& flow, short from_events, short to_events, bool& dead) {
  if ((from_events & (POLLIN | POLLHUP | POLLERR)) != 0 && !flow.ended &&
      flow.waiting.size() < kMostWaiting) {
    char bytes[16384];
    const ssize_t got = read(flow.from, bytes, sizeof bytes);
    if (got > 0) flow.waiting.append(bytes, static_cast<size_t>(got));
    if (got == 0) flow.ended = true;
    if (got < 0 && errno != EAGAIN) dead = true;
  }
  if ((to_events & (POLLHUP | POLLERR)) == POLLERR) dead = true;
  if (!flow.waiting.empty()) {
    const ssize_t sent = send(flow.to, flow.waiting.data(), flow.waiting.size(), MSG_NOSIGNAL);
    if (sent > 0) flow.waiting.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN) dead = true;
  }
  if (flow.ended && flow.waiting.empty() && !flow.passed) {
    shutdown(flow.to, SHUT_WR);
    flow.passed = true;
  }
}

}  // namespace coppice::fleet_faults
