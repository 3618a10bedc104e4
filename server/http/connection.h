// One HTTP/1.1 connection: it takes requests one after another, and answers each before it looks at
// the next.

#ifndef COPPICE_SERVER_HTTP_CONNECTION_H_
#define COPPICE_SERVER_HTTP_CONNECTION_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/terms/sha256.h"
#include "server/http/call.h"
#include "server/http/request_parser.h"
#include "server/http/router.h"

namespace coppice::http {

class Connection;

// The connections of a server, and those that wait for a request, the longest waiting first.
//
// Threads    safe to share.
class Connections {
 public:
  explicit Connections(size_t most) : most_(most) {}

  // Returns false if there are too many connections and none can make room.
  bool Add(const std::shared_ptr<Connection>& connection);
  void Remove(Connection& connection);
  void BeginWaiting(Connection& connection);
  void EndWaiting(Connection& connection);
  std::vector<std::shared_ptr<Connection>> All() const;

 private:
  friend class Connection;
  // A connection's entries in the lists; at first it is in neither.
  struct Place {
    bool is_listed = false;
    bool is_waiting = false;
    std::list<std::weak_ptr<Connection>>::iterator listed{};
    std::list<std::weak_ptr<Connection>>::iterator waiting{};
  };

  const size_t most_;
  mutable Mutex mutex_;
  std::list<std::weak_ptr<Connection>> all_ ABSL_GUARDED_BY(mutex_);
  std::list<std::weak_ptr<Connection>> waiting_ ABSL_GUARDED_BY(mutex_);
};

// All of it must outlive the connections.
struct ConnectionSettings {
  Router& router;
  Connections& connections;
  ParserLimits limits;
  absl::Duration max_age;
};

// Guarantee  Reads at most one chunk ahead of the request being answered. While a call runs, it
//            notices a client that closes, and cancels the call.
// Threads    Everything runs on the socket's strand, except the functions marked for any thread.
class Connection final : public Carrier, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  // Null `tls` means none.
  Connection(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
             const ConnectionSettings& settings);
  ~Connection() override;

  // From any thread: Start() begins, Drain() closes after the current call, Close() closes at once.
  void Start();
  void Drain();
  void Close();

  void Respond(Response response) override;
  void Write(std::string part, bool is_last) override;

 private:
  friend class Connections;
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;

  enum class Phase : uint8_t { kHandshake, kIdle, kHead, kBody, kCall, kReply, kLinger };
  enum class Then : uint8_t { kNothing, kEndExchange, kTellWritten, kTellEnded };
  struct Part {
    std::string bytes;
    std::string body{};
    std::shared_ptr<const std::string> file{};
    Then then = Then::kNothing;
    HeldBytes held{};
  };

  template <typename Work>
  void Run(Work work);  // on the strand; at once if already there
  template <typename Work>
  void WithStream(Work work);

  void Handshake();
  void WaitForRequest();
  void Read();
  void OnRead(const Error& error, size_t bytes);
  void OnClientGone();
  void Process();
  void OnHead();
  void OnRequest();
  void AnswerWithoutCall(Response response);

  void SendResponse(Response response);
  void SendPart(std::string part, bool is_last);
  void Send(Part part);
  void WriteNext();
  void OnPartEnd(Then then, bool sent);
  void EndExchange();
  void Linger();
  void CloseNow();

  void Arm(absl::Duration wait);
  void StartTimer();
  void OnTime();

  const ConnectionSettings settings_;
  const std::shared_ptr<boost::asio::ssl::context> tls_context_;
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  std::optional<Sha256Digest> certificate_;
  Connections::Place place_;
  const Clock::time_point begun_ = Clock::now();

  Phase phase_ = Phase::kHandshake;
  bool closed_ = false;
  bool draining_ = false;
  bool reading_ = false;
  bool writing_ = false;
  std::array<char, 8 << 10> chunk_;
  std::string in_;  // read but not parsed yet
  std::optional<RequestParser> parser_;

  std::shared_ptr<Call> call_;            // until the call has ended
  std::optional<Response> ready_answer_;  // sent after the request is read
  std::string shared_head_;
  bool keep_alive_ = true;
  bool omits_body_ = false;
  bool time_is_over_ = false;  // the call's
  Clock::time_point call_deadline_ = Clock::time_point::max();
  std::deque<Part> parts_;

  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point timer_at_ = Clock::time_point::max();
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CONNECTION_H_
