// Requests of HTTP/1.1, read from the bytes of a connection.

#ifndef COPPICE_SERVER_HTTP_REQUEST_PARSER_H_
#define COPPICE_SERVER_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/calls/byte_load.h"

namespace coppice::http {

// What of a request's head is used. Fields that are missing are empty.
struct RequestHead {
  std::string method;
  std::string target;
  std::string host;
  std::string origin;      // this and those to if_none_match: lists, if there are several
  std::string fetch_site;  // Sec-Fetch-Site and so on: what a browser says of who asks
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
  std::optional<uint64_t> content_length{};  // none: chunked, or no body
};

struct ParserLimits {
  size_t max_head_bytes = size_t{8} << 10;   // as gRPC's metadata
  size_t max_body_bytes = size_t{64} << 20;  // of one request
  calls::ByteLoad* bodies = nullptr;         // of all requests; null: not counted
};

// Boost.Beast's parser, which knows the grammar, and what it leaves open: a head has one bound in
// all; a request has one length, and no transfer coding but "chunked"; trailers are dropped.
//
// Guarantee  a request whose end two readers could see at different bytes is refused. At most
//            twice max_body_bytes are held of a body.
// Errors     InvalidArgument for what is no HTTP/1.1; ResourceExhausted for a head or a body beyond
//            its limit. Nothing follows an error.
// Threads    for one.
class RequestParser {
 public:
  enum class State : uint8_t {
    kHead,    // wants more bytes
    kJudge,   // the head is there: read on with ReadBody()
    kBody,    // wants more bytes
    kDone,    // the request is whole
    kFailed,  // see status()
  };

  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();

  // Takes what belongs to the request, and returns how many bytes that are. It takes none in the
  // last two states, nor until ReadBody(). What it leaves is to be given again, with more.
  size_t Feed(absl::string_view bytes);
  // The body is read; with `discard` nobody wants it.
  void ReadBody(bool discard);

  State state() const { return state_; }
  bool has_begun() const { return head_bytes_ > 0; }
  const RequestHead& head() const { return head_; }
  const absl::Status& status() const { return status_; }
  // Once, when the request is whole.
  std::string TakeBody();

 private:
  class Parser;

  size_t Put(absl::string_view bytes);
  void Fail(absl::Status status);
  absl::Status AddToBody(absl::string_view part);

  const ParserLimits limits_;
  State state_ = State::kHead;
  RequestHead head_;
  absl::Status status_;
  size_t head_bytes_ = 0;
  std::string body_;
  bool discard_ = false;
  uint64_t read_bytes_ = 0;  // of the body
  size_t held_bytes_ = 0;
  std::unique_ptr<Parser> parser_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_REQUEST_PARSER_H_
