// Calls over HTTP: a request is judged by its head, then its body runs a handler of the registry.

#ifndef COPPICE_SERVER_HTTP_CALLS_H_
#define COPPICE_SERVER_HTTP_CALLS_H_

#include <google/protobuf/message.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/http/origins.h"
#include "server/http/protocol.h"
#include "server/http/request_parser.h"
#include "server/serving/calls/answer_check.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/calls/unary_call.h"
#include "server/serving/calls/worker_pool.h"
#include "server/serving/gate/access_gate.h"
#include "server/serving/gate/byte_load.h"
#include "server/serving/gate/call_record.h"

namespace coppice::http {

// The calls to serve, as gRPC's services do. All of it must outlive the server.
struct ServedCalls {
  const std::deque<service::RegisteredMethod>& methods;
  service::Lanes lanes;
  calls::AccessGate& gate;
  calls::CallObservers observers{};
  calls::ByteLoad& answers;
  service::AnswerCheck may_answer{};  // null: all may be sent
};

// Bytes that return to the limit on destruction.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(calls::ByteLoad& load, size_t bytes) : load_(&load), bytes_(bytes) {}
  HeldBytes(HeldBytes&& other) noexcept
      : load_(std::exchange(other.load_, nullptr)), bytes_(other.bytes_) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(load_, other.load_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (load_ != nullptr) load_->Release(bytes_);
  }

 private:
  calls::ByteLoad* load_ = nullptr;
  size_t bytes_ = 0;
};

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

class Console;
class Site;

// Judges requests by their heads in gRPC's order: access before everything else.
//
// Guarantee  Nothing of a body is read before the access gate admits its call. `origins` decides
//            what pages in a browser may send; there are no cookies. Files of the console and of
//            the documentation need no role.
// Errors     To the client, in the form of the request's content type: the gate's, then
//            Unimplemented for an unknown method or one that takes a client's stream, then
//            InvalidArgument for headers, ResourceExhausted for a body that is larger than the
//            method takes: at once if the head says so, else as soon as it is.
// Threads    safe to share.
class Router {
 public:
  // Null `console` or `site` serves none.
  Router(const ServedCalls& served, Origins origins, std::shared_ptr<const Console> console,
         std::shared_ptr<const Site> site, size_t max_message_bytes);

  // Call it once, before the first request.
  void ListensOn(int port) { origins_.ListensOn(port); }

  // Either a call to start once its body is read, or an immediate response.
  struct Judged {
    std::shared_ptr<Call> call{};
    Response response{};
    std::string shared_head{};  // header lines of every response to this request
  };
  Judged Judge(const RequestHead& head, const std::optional<Sha256Digest>& certificate);

  // The response to bytes that are no request.
  static Response RefuseRequest(const Status& status);

  OpenCalls& open_calls() { return open_calls_; }

 private:
  Judged JudgeMethod(const RequestHead& head, std::string_view path,
                     const std::optional<Sha256Digest>& certificate);
  Judged JudgePost(const RequestHead& head, std::string_view path,
                   const std::optional<Sha256Digest>& certificate);
  BodyLimit LimitOf(const service::RegisteredMethod& method) const;
  Status CheckHeaders(const RequestHead& head, const service::RegisteredMethod& method,
                      const std::optional<CallKind>& kind, absl::Duration& deadline) const;

  const ServedCalls served_;
  Origins origins_;
  const std::shared_ptr<const Console> console_;
  const std::shared_ptr<const Site> site_;
  const size_t max_message_bytes_;
  std::map<std::string_view, const service::RegisteredMethod*> methods_;
  OpenCalls open_calls_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CALLS_H_
