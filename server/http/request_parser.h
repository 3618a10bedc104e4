// Parses HTTP/1.1 requests from the bytes of a connection.

#ifndef COPPICE_SERVER_HTTP_REQUEST_PARSER_H_
#define COPPICE_SERVER_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/process/byte_load.h"

namespace coppice::http {

// The parts of a request's head that are used. Missing fields are empty.
struct RequestHead {
  std::string method;
  std::string target;
  std::string host;
  std::string origin;      // this to if_none_match, and Sec-Fetch-*: lists if repeated
  std::string fetch_site;  // Sec-Fetch-Site etc.: what a browser says about the sender
  std::string fetch_mode;
  std::string fetch_dest;
  std::string accept_encoding;
  std::string if_none_match;
  std::string content_type;
  std::string content_encoding;  // of the body, or of each message of a stream
  std::string connect_version;
  std::string connect_timeout;
  std::string request_id;
  std::vector<std::string> authorizations;
  bool expects_continue = false;
  bool keep_alive = true;
  std::optional<uint64_t> content_length{};  // none: chunked or no body
};

// The most bytes of a body, and the error beyond.
struct BodyLimit {
  size_t bytes;
  Status beyond{};
};

struct ParserLimits {
  size_t max_head_bytes = size_t{8} << 10;   // same as gRPC's metadata
  size_t max_body_bytes = size_t{64} << 20;  // of one request
  calls::ByteLoad* bodies = nullptr;         // of all requests; null: no limit
};

// Boost.Beast's parser, which knows the grammar, plus limits: a head has one limit in all; a
// request has one length and no transfer coding except "chunked"; trailers are dropped.
//
// Guarantee  Refuses a request whose end two readers could see at different bytes. Holds at most
//            twice max_body_bytes of a body.
// Errors     InvalidArgument for anything but HTTP/1.1; ResourceExhausted for a head or body beyond
//            its limit. Nothing follows an error.
// Threads    one at a time.
class RequestParser {
 public:
  enum class State : uint8_t {
    kHead,    // needs more bytes
    kJudge,   // the head is complete: go on with ReadBody()
    kBody,    // needs more bytes
    kDone,    // the request is complete
    kFailed,  // see status()
  };

  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();

  // Consumes bytes of the request and returns their number. Consumes none in the last two states or
  // before ReadBody(). The caller must pass the rest again, with more.
  size_t Feed(std::string_view bytes);
  // Starts reading the body, of at most `limit` and max_body_bytes.
  void ReadBody(BodyLimit limit);
  // Starts reading a body that nobody needs.
  void DiscardBody();

  State state() const { return state_; }
  bool has_begun() const { return head_bytes_ > 0; }
  const RequestHead& head() const { return head_; }
  const Status& status() const { return status_; }
  // Call it once, when the request is complete.
  std::string TakeBody();

 private:
  class Parser;

  void StartBody();
  size_t Put(std::string_view bytes);
  void Fail(Status status);
  Status AddToBody(std::string_view part);

  const ParserLimits limits_;
  BodyLimit body_limit_;
  State state_ = State::kHead;
  RequestHead head_;
  Status status_;
  size_t head_bytes_ = 0;
  std::string body_;
  bool discard_ = true;
  uint64_t read_bytes_ = 0;  // of the body
  size_t held_bytes_ = 0;
  std::unique_ptr<Parser> parser_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_REQUEST_PARSER_H_
