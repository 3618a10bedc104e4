#include "server/http/connection.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::http {
namespace {

namespace net = boost::asio;

// The same times as gRPC's connections (server/process/connections.cc).
constexpr absl::Duration kHandshakeTime = absl::Seconds(20);
constexpr absl::Duration kHeadTime = absl::Seconds(20);
constexpr absl::Duration kIdleTime = absl::Minutes(5);
// Bound a request whose call has no deadline, and each part of a stream.
constexpr absl::Duration kBodyTime = absl::Minutes(1);
constexpr absl::Duration kPartTime = absl::Minutes(1);
// For the answer that time is over, and for a client to close.
constexpr absl::Duration kLastWords = absl::Seconds(10);
constexpr absl::Duration kLingerTime = absl::Seconds(2);

// Reads a refused request's body up to this size to its end, so that the connection stays open.
constexpr uint64_t kDiscardedBytes = uint64_t{64} << 10;
// Sends a body up to this size with its head, in one packet and one TLS record.
constexpr size_t kJoinedBytes = size_t{16} << 10;

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return status < 500 ? "Bad Request" : "Internal Server Error";
  }
}

std::optional<Sha256Digest> CertificateOf(SSL* tls) {
  X509* const certificate = SSL_get1_peer_certificate(tls);
  if (certificate == nullptr) return std::nullopt;
  Sha256Digest digest{};
  unsigned size = 0;
  const bool hashed = X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1;
  X509_free(certificate);
  if (!hashed) return std::nullopt;
  return digest;
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<net::ssl::context> tls,
                       const ConnectionSettings& settings)
    : settings_(settings),
      tls_context_(std::move(tls)),
      socket_(std::move(socket)),
      timer_(socket_.get_executor()) {
  if (tls_context_ != nullptr) tls_.emplace(socket_, *tls_context_);
}

Connection::~Connection() { settings_.connections.Remove(*this); }

template <typename Work>
void Connection::Run(Work work) {
  net::dispatch(socket_.get_executor(),
                [self = shared_from_this(), work = std::move(work)]() mutable { work(*self); });
}

template <typename Work>
void Connection::WithStream(Work work) {
  if (tls_.has_value()) {
    work(*tls_);
  } else {
    work(socket_);
  }
}

void Connection::Start() {
  Run([](Connection& self) {
    Error ignored;
    self.socket_.set_option(net::ip::tcp::no_delay(true), ignored);
    self.settings_.connections.BeginWaiting(self);
    if (!self.tls_.has_value()) return self.WaitForRequest();
    self.Handshake();
  });
}

void Connection::Drain() {
  Run([](Connection& self) {
    self.draining_ = true;
    if (self.phase_ < Phase::kBody) self.CloseNow();
  });
}

void Connection::Close() {
  Run([](Connection& self) { self.CloseNow(); });
}

void Connection::Handshake() {
  Arm(kHandshakeTime);
  tls_->async_handshake(net::ssl::stream_base::server,
                        [self = shared_from_this()](const Error& error) {
                          if (self->closed_) return;
                          if (error) return self->CloseNow();
                          self->certificate_ = CertificateOf(self->tls_->native_handle());
                          self->WaitForRequest();
                        });
}

void Connection::WaitForRequest() {
  if (draining_) return CloseNow();
  phase_ = Phase::kIdle;
  Arm(kIdleTime);
  Process();
}

void Connection::Read() {
  // While a call runs, bytes beyond its own request are left unread.
  const bool reads_ahead = phase_ == Phase::kCall || phase_ == Phase::kReply;
  if (reading_ || closed_ || (reads_ahead && !in_.empty())) return;
  reading_ = true;
  WithStream([this](auto& stream) {
    stream.async_read_some(net::buffer(chunk_),
                           [self = shared_from_this()](const Error& error, size_t bytes) {
                             self->OnRead(error, bytes);
                           });
  });
}

void Connection::OnRead(const Error& error, size_t bytes) {
  reading_ = false;
  if (closed_) return;
  if (error) return OnClientGone();
  if (phase_ == Phase::kLinger) return Read();
  in_.append(chunk_.data(), bytes);
  Process();
}

// The client may still read the answer being written: perhaps it closed only its sending side.
void Connection::OnClientGone() {
  if (phase_ != Phase::kReply) return CloseNow();
  keep_alive_ = false;
}

void Connection::Process() {
  while (!closed_ && phase_ <= Phase::kBody) {
    if (!in_.empty()) {
      if (!parser_.has_value()) parser_.emplace(settings_.limits);
      in_.erase(0, parser_->Feed(in_));
    }
    const RequestParser::State state =
        parser_.has_value() ? parser_->state() : RequestParser::State::kHead;
    switch (state) {
      case RequestParser::State::kJudge:
        OnHead();
        break;
      case RequestParser::State::kDone:
        return OnRequest();
      case RequestParser::State::kFailed:
        keep_alive_ = false;
        return AnswerWithoutCall(call_ != nullptr ? call_->Refuse(parser_->status())
                                                  : Router::RefuseRequest(parser_->status()));
      default:
        if (phase_ == Phase::kIdle && parser_.has_value()) {
          phase_ = Phase::kHead;
          Arm(kHeadTime);
        }
        return Read();
    }
  }
}

void Connection::OnHead() {
  const RequestHead& head = parser_->head();
  keep_alive_ = head.keep_alive;
  omits_body_ = head.method == "HEAD";
  phase_ = Phase::kBody;
  Judged judged = settings_.router.Judge(head, certificate_);
  shared_head_ = std::move(judged.shared_head);
  call_ = std::move(judged.call);
  if (call_ != nullptr) {
    const absl::Duration time = call_->deadline();
    call_deadline_ = After(time);
    time_is_over_ = false;
    Arm(time == absl::InfiniteDuration() ? kBodyTime : time);
    parser_->ReadBody(call_->body_limit());
    if (head.expects_continue && parser_->state() == RequestParser::State::kBody && in_.empty()) {
      Send({.bytes = "HTTP/1.1 100 Continue\r\n\r\n"});
    }
    return;
  }
  const bool is_short = head.content_length.value_or(kDiscardedBytes + 1) <= kDiscardedBytes;
  parser_->DiscardBody();
  const bool is_whole = parser_->state() == RequestParser::State::kDone;
  if (is_whole || (is_short && !head.expects_continue)) {
    ready_answer_ = std::move(judged.response);
    Arm(kHeadTime);
    return;
  }
  keep_alive_ = false;
  AnswerWithoutCall(std::move(judged.response));
}

void Connection::OnRequest() {
  if (ready_answer_.has_value()) {
    Response answer = *std::move(ready_answer_);
    ready_answer_.reset();
    return AnswerWithoutCall(std::move(answer));
  }
  settings_.connections.EndWaiting(*this);
  phase_ = Phase::kCall;
  if (call_->is_stream()) {
    const bool ends = call_->deadline() != absl::InfiniteDuration();
    Arm(ends ? absl::FromChrono(call_deadline_ - Clock::now()) : absl::InfiniteDuration());
  }
  const std::shared_ptr<Call> call = call_;  // the call may end at once
  call->Start(parser_->TakeBody(), shared_from_this());
  Read();
}

// Anyone may get a file. A connection that reads one slowly therefore stays in the list of waiting
// ones, and makes room for a new connection.
void Connection::AnswerWithoutCall(Response response) {
  call_ = nullptr;
  if (response.file == nullptr) settings_.connections.EndWaiting(*this);
  phase_ = Phase::kCall;
  SendResponse(std::move(response));
}

void Connection::Respond(Response response) {
  Run([response = std::move(response)](Connection& self) mutable {
    self.SendResponse(std::move(response));
  });
}

void Connection::Write(std::string part, bool is_last) {
  net::post(socket_.get_executor(),
            [self = shared_from_this(), part = std::move(part), is_last]() mutable {
              self->SendPart(std::move(part), is_last);
            });
}

void Connection::SendResponse(Response response) {
  if (closed_ || phase_ == Phase::kReply) return;
  const bool is_late = settings_.max_age < absl::FromChrono(Clock::now() - begun_);
  if (draining_ || is_late) keep_alive_ = false;
  std::string bytes =
      StrCat("HTTP/1.1 ", response.status, " ", ReasonOf(response.status), "\r\n", response.head,
             shared_head_, keep_alive_ ? "" : "Connection: close\r\n");
  if (response.is_stream) {
    StrAppend(&bytes, "Transfer-Encoding: chunked\r\n\r\n");
    return Send({.bytes = std::move(bytes)});
  }
  phase_ = Phase::kReply;
  if (response.status != 204 && response.status != 304) {
    const size_t size = response.file == nullptr ? response.body.size() : response.file->size();
    StrAppend(&bytes, "Content-Length: ", size, "\r\n");
  }
  StrAppend(&bytes, "\r\n");
  // Gives an answer at the last moment time to be sent.
  const bool has_time = call_ != nullptr && !time_is_over_ &&
                        absl::FromChrono(call_deadline_ - Clock::now()) > kLastWords;
  if (!has_time) Arm(response.file == nullptr ? kLastWords : kPartTime);
  if (omits_body_) {
    response.body.clear();
    response.file = nullptr;
  }
  Send({.bytes = std::move(bytes),
        .body = std::move(response.body),
        .file = std::move(response.file),
        .then = Then::kEndExchange,
        .held = std::move(response.held)});
}

void Connection::SendPart(std::string part, bool is_last) {
  std::string bytes = StrCat(Hex(part.size()), "\r\n", part, is_last ? "\r\n0\r\n\r\n" : "\r\n");
  if (is_last) phase_ = Phase::kReply;
  if (!closed_) {
    const auto left = absl::FromChrono(call_deadline_ - Clock::now());
    Arm(time_is_over_ || is_last ? kLastWords : std::min(kPartTime, left));
  }
  Send({.bytes = std::move(bytes), .then = is_last ? Then::kTellEnded : Then::kTellWritten});
}

void Connection::Send(Part part) {
  if (closed_ && !writing_) return OnPartEnd(part.then, /*sent=*/false);
  if (!part.body.empty() && part.body.size() <= kJoinedBytes) {
    part.bytes.append(part.body);
    part.body.clear();
  }
  parts_.push_back(std::move(part));
  if (!writing_) WriteNext();
}

void Connection::WriteNext() {
  writing_ = true;
  const Part& part = parts_.front();
  const std::array<net::const_buffer, 2> buffers = {
      net::buffer(part.bytes), net::buffer(part.file == nullptr ? part.body : *part.file)};
  WithStream([&](auto& stream) {
    net::async_write(stream, buffers, [self = shared_from_this()](const Error& error, size_t) {
      if (error) self->CloseNow();
      const bool sent = !error && !self->closed_;
      const Then then = self->parts_.front().then;
      self->parts_.pop_front();
      self->writing_ = false;
      self->OnPartEnd(then, sent);
      if (self->parts_.empty() || self->writing_) return;
      if (!self->closed_) return self->WriteNext();
      for (std::deque<Part> left = std::move(self->parts_); !left.empty(); left.pop_front()) {
        self->OnPartEnd(left.front().then, /*sent=*/false);
      }
    });
  });
}

void Connection::OnPartEnd(Then then, bool sent) {
  switch (then) {
    case Then::kNothing:
      return;
    case Then::kEndExchange:
      if (sent) EndExchange();
      return;
    case Then::kTellWritten:
      if (sent && !time_is_over_) {
        Arm(call_deadline_ == Clock::time_point::max()
                ? absl::InfiniteDuration()
                : absl::FromChrono(call_deadline_ - Clock::now()));
      }
      return call_->OnWritten(sent);
    case Then::kTellEnded:
      std::exchange(call_, nullptr)->OnEnded();
      if (sent) EndExchange();
      return;
  }
}

void Connection::EndExchange() {
  call_ = nullptr;
  parser_.reset();
  shared_head_.clear();
  call_deadline_ = Clock::time_point::max();
  if (!keep_alive_ || draining_) return Linger();
  settings_.connections.BeginWaiting(*this);
  WaitForRequest();
}

// Closing a socket with unread bytes resets it and may lose the answer.
void Connection::Linger() {
  phase_ = Phase::kLinger;
  settings_.connections.BeginWaiting(*this);
  in_.clear();
  Arm(kLingerTime);
  Error ignored;
  if (tls_.has_value()) {
    tls_->async_shutdown([self = shared_from_this()](const Error&) {});
  } else {
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  Read();
}

void Connection::CloseNow() {
  if (std::exchange(closed_, true)) return;
  settings_.connections.Remove(*this);
  Error ignored;
  timer_.cancel(ignored);
  socket_.close(ignored);
  if (call_ == nullptr) return;
  const std::shared_ptr<Call> call = call_;
  // A call that has not begun ends here; a stream is told about each part that it has sent.
  if (phase_ < Phase::kCall) {
    call->Refuse(CancelledError("the client has gone"));
    call_ = nullptr;
    return;
  }
  call->Cancel(CancelledError("the client has gone"));
  if (!call->is_stream()) call_ = nullptr;
}

// A timer set to an earlier time fires then and afterwards waits for the rest.
void Connection::Arm(absl::Duration wait) {
  deadline_ = wait == absl::InfiniteDuration() ? Clock::time_point::max() : After(wait);
  if (deadline_ < timer_at_) StartTimer();
}

void Connection::StartTimer() {
  timer_at_ = deadline_;
  timer_.expires_at(timer_at_);
  timer_.async_wait([self = shared_from_this()](const Error& error) {
    if (error || self->closed_ || Clock::now() < self->timer_at_) return;
    self->timer_at_ = Clock::time_point::max();
    if (self->deadline_ == Clock::time_point::max()) return;
    if (Clock::now() < self->deadline_) return self->StartTimer();
    self->OnTime();
  });
}

void Connection::OnTime() {
  const Status over = DeadlineExceededError("the call's time is over");
  switch (phase_) {
    case Phase::kBody:
      keep_alive_ = false;
      return AnswerWithoutCall(call_ != nullptr ? call_->Refuse(over)
                                                : Router::RefuseRequest(over));
    case Phase::kCall:
      // Nobody reads a part, or time is over for the second time: there is nothing more to say.
      if (time_is_over_ || Clock::now() < call_deadline_) return CloseNow();
      time_is_over_ = true;
      Arm(kLastWords);
      return call_->Cancel(over);
    default:
      return CloseNow();
  }
}

}  // namespace coppice::http
