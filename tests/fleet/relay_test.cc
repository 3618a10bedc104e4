#include "tests/fleet/relay.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "common/base/text.h"

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

sockaddr_in Address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

class RelayTest : public ::testing::Test {
 protected:
  RelayTest() : port_(FreePort()), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = Address(port_);
    EXPECT_EQ(bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.fd(), 8), 0);
    relay_ = std::make_unique<Relay>(StrCat(port_));
  }

  int Connect() const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Address(relay_->port());
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  int Accept() const { return accept(listener_.fd(), nullptr, nullptr); }

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
  relay_->SetAll(LinkState::kDeaf);
  client.Send("question");
  EXPECT_EQ(server.Receive(kSoon), "question");
  server.Send("answer");
  EXPECT_EQ(client.Receive(kNever), "nothing");
  relay_->SetAll(LinkState::kMute);
  EXPECT_EQ(client.Receive(kSoon), "answer");
  client.Send("late");
  EXPECT_EQ(server.Receive(kNever), "nothing");
  relay_->SetAll(LinkState::kHung);
  server.Send("later");
  EXPECT_EQ(server.Receive(kNever), "nothing");
  EXPECT_EQ(client.Receive(kNever), "nothing");
  relay_->SetAll(LinkState::kWhole);
  EXPECT_EQ(server.Receive(kSoon), "late");
  EXPECT_EQ(client.Receive(kSoon), "later");
}

TEST_F(RelayTest, ResetsConnectionsOfASourceAlone) {
  size_t next = 0;
  relay_ = std::make_unique<Relay>(StrCat(port_), [&next](int) { return next++; });
  const Socket first(Connect());
  const Socket first_server(Accept());
  const Socket second(Connect());
  const Socket second_server(Accept());
  relay_->Set(0, LinkState::kBroken);
  EXPECT_EQ(first.Receive(kSoon), "reset");
  EXPECT_EQ(first_server.Receive(kSoon), "reset");
  second.Send("question");
  EXPECT_EQ(second_server.Receive(kSoon), "question");
}

}  // namespace
}  // namespace coppice::fleet_faults
