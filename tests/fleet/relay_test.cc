#include "tests/fleet/relay.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "common/base/text.h"
#include "tests/support/free_port.h"

namespace coppice::fleet_faults {
namespace {

constexpr int kSoon = 2000;  // milliseconds to wait for what must come
constexpr int kNever = 150;  // milliseconds to wait for what must not

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Send(const std::string& text) const {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Returns what comes, or "nothing", "end" or "reset".
  std::string Receive(int patience) const {
    pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, patience) <= 0) return "nothing";
    char bytes[256];
    const ssize_t got = read(fd_, bytes, sizeof bytes);
    if (got < 0) return "reset";
    return got == 0 ? "end" : std::string(bytes, static_cast<size_t>(got));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

class RelayTest : public ::testing::Test {
 protected:
  RelayTest() : port_(testing::FreePort()), listener_(testing::ListenOn(port_)) {
    relay_ = std::make_unique<Relay>(StrCat(port_));
  }

  // -1 if the connection is refused.
  int TryToConnect() const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = testing::LoopbackAddress(relay_->port());
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }
  int Connect() const {
    const int fd = TryToConnect();
    EXPECT_GE(fd, 0);
    return fd;
  }
  int Accept() const {
    pollfd wanted{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    poll(&wanted, 1, kSoon);
    return accept(listener_.fd(), nullptr, nullptr);
  }

  const int port_;
  const Socket listener_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, PassesBytesAndTheirEnd) {
  Socket client(Connect());
  client.Send("question");
  const Socket server(Accept());
  EXPECT_EQ(server.Receive(kSoon), "question");
  server.Send("answer");
  EXPECT_EQ(client.Receive(kSoon), "answer");
  shutdown(client.fd(), SHUT_WR);
  EXPECT_EQ(server.Receive(kSoon), "end");
}

TEST_F(RelayTest, HoldsWhatAStateHoldsAndLetsItGoOnLate) {
  const Socket client(Connect());
  const Socket server(Accept());
  relay_->Set(LinkState::kDeaf);
  client.Send("question");
  EXPECT_EQ(server.Receive(kSoon), "question");
  server.Send("answer");
  EXPECT_EQ(client.Receive(kNever), "nothing");
  relay_->Set(LinkState::kMute);
  EXPECT_EQ(client.Receive(kSoon), "answer");
  client.Send("late");
  EXPECT_EQ(server.Receive(kNever), "nothing");
  relay_->Set(LinkState::kHung);
  server.Send("later");
  EXPECT_EQ(server.Receive(kNever), "nothing");
  EXPECT_EQ(client.Receive(kNever), "nothing");
  relay_->Set(LinkState::kWhole);
  EXPECT_EQ(server.Receive(kSoon), "late");
  EXPECT_EQ(client.Receive(kSoon), "later");
}

TEST_F(RelayTest, ResetsConnectionsWhenItBreaksAndTakesNewOnesWhenItHeals) {
  const Socket first(Connect());
  const Socket first_server(Accept());
  relay_->Set(LinkState::kBroken);
  EXPECT_EQ(first.Receive(kSoon), "reset");
  EXPECT_EQ(first_server.Receive(kSoon), "reset");
  relay_->Set(LinkState::kWhole);
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < kSoon; ++tries) {
    poll(nullptr, 0, 1);  // the relay listens again on a thread of its own
    fd = TryToConnect();
  }
  const Socket second(fd);
  const Socket second_server(Accept());
  second.Send("question");
  EXPECT_EQ(second_server.Receive(kSoon), "question");
}

}  // namespace
}  // namespace coppice::fleet_faults
