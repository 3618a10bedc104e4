// Ports of 127.0.0.1 for servers that must be told which to take.

#ifndef COPPICE_TESTS_SUPPORT_FREE_PORT_H_
#define COPPICE_TESTS_SUPPORT_FREE_PORT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <random>
#include <set>

namespace coppice::testing {

inline sockaddr_in LoopbackAddress(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Returns a socket that listens on the port of 127.0.0.1, or -1 if it is taken.
inline int ListenOn(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = LoopbackAddress(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(fd, 128) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// A port that nobody listens on, another one at each call. It is below those that the system gives
// to connections, so a restarted daemon finds it free.
inline int FreePort() {
  static std::mt19937 random(std::random_device{}());
  static std::mutex mutex;
  static std::set<int> given;  // a port may be listened on long after it was given out
  const std::lock_guard lock(mutex);
  for (;;) {
    const int port = 12000 + static_cast<int>(random() % 20000);
    const int fd = given.contains(port) ? -1 : ListenOn(port);
    if (fd < 0) continue;
    given.insert(port);
    close(fd);
    return port;
  }
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_FREE_PORT_H_
