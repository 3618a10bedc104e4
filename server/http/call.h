// A call over HTTP, between the connection that carries it and the daemon that answers it: a
// request is judged by its head, then its body is read and the call runs.

#ifndef COPPICE_SERVER_HTTP_CALL_H_
#define COPPICE_SERVER_HTTP_CALL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/http/request_parser.h"
#include "server/process/byte_load.h"

namespace coppice::http {

using calls::HeldBytes;

struct Response {
  int status = 200;
  std::string head{};  // header lines with their line ends, without the connection's
  std::string body{};
  std::shared_ptr<const std::string> file{};  // the body, if set; otherwise `body` is
  bool is_stream = false;                     // parts follow; there is no body
  HeldBytes held{};
};

// The connection's side of a call.
//
// Threads    safe to call from any thread.
class Carrier {
 public:
  virtual ~Carrier() = default;

  // Ends a call of one answer, or begins a stream.
  virtual void Respond(Response response) = 0;
  // Sends a part of a stream; Call::OnWritten() follows later. `is_last` ends it: Call::OnEnded().
  virtual void Write(std::string part, bool is_last) = 0;
};

// Counts open calls, so that the parts that they use can be destroyed after them.
class OpenCalls {
 public:
  class Token {
   public:
    explicit Token(OpenCalls& calls);
    ~Token();
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

   private:
    OpenCalls& calls_;
  };

  // Waits until all have ended, or `deadline`. Returns whether all have.
  bool AwaitNone(absl::Time deadline);

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A call from its head on. Its handler may outlive the connection's interest in it.
//
// Threads    The connection calls it from its strand.
class Call {
 public:
  virtual ~Call() = default;

  // The time that it may take from now on.
  virtual absl::Duration deadline() const = 0;
  virtual bool is_stream() const = 0;
  virtual BodyLimit body_limit() const = 0;
  virtual void Start(std::string body, std::shared_ptr<Carrier> carrier) = 0;
  // The response for a call whose request was not read to its end; such a call is not started.
  virtual Response Refuse(const Status& status) = 0;
  // Nobody waits any more: time is over (DeadlineExceeded, which is answered) or the client left.
  virtual void Cancel(const Status& why) = 0;
  virtual void OnWritten(bool /*sent*/) {}
  virtual void OnEnded() {}
};

// Either a call to start once its body is read, or an immediate response.
struct Judged {
  std::shared_ptr<Call> call{};
  Response response{};
  std::string shared_head{};  // header lines of every response to this request
};

// The methods of a daemon.
//
// Threads    safe to share.
class Methods {
 public:
  virtual ~Methods() = default;

  // Whether there is a method of this path, such as "/coppice.v1.StudyService/GetOffer".
  virtual bool Has(std::string_view path) const = 0;
  // Judges a POST to `path`. A call of the result counts among `open_calls` until it is destroyed.
  virtual Judged Judge(const RequestHead& head, std::string_view path,
                       const std::optional<Sha256Digest>& certificate, OpenCalls& open_calls) = 0;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CALL_H_
