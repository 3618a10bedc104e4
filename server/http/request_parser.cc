#include "server/http/request_parser.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/process/byte_load.h"

namespace coppice::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using beast::http::field;

// No request's chunks end with fewer bytes than "0\r\n\r\n". Beast 1.74 assumes that this many
// follow once it has seen the last chunk's line.
constexpr size_t kMinLastBytes = 5;

// The maximal length of a chunk's own line.
constexpr size_t kMaxLineBytes = size_t{8} << 10;

Status NoHttp(std::string_view why) {
  return InvalidArgumentError(StrCat("the request is not HTTP/1.1: ", why));
}

std::string ToString(beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

// Receives the parts of a request from Beast.
class RequestParser::Parser final : public beast::http::basic_parser<true> {
 public:
  explicit Parser(RequestParser& owner) : owner_(owner) {
    header_limit(static_cast<uint32_t>(owner.limits_.max_head_bytes));
    // Not "none", which Beast takes for 0. The owner counts the bytes.
    body_limit(std::numeric_limits<uint64_t>::max());
  }

  const Status& status() const { return status_; }

 private:
  // Beast stops at any error; `status_` says which one it was.
  void Stop(Status status, error_code& error) {
    status_ = std::move(status);
    error = beast::http::error::bad_value;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, error_code& error) override {
    if (version != 11) return Stop(NoHttp("its version differs"), error);
    owner_.head_.method = ToString(method);
    owner_.head_.target = ToString(target);
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}

  void on_field_impl(field name, beast::string_view name_text, beast::string_view value,
                     error_code& error) override {
    if (owner_.state_ != State::kHead) return;  // it is a trailer
    RequestHead& head = owner_.head_;
    switch (name) {
      case field::host:
        if (!head.host.empty()) return Stop(NoHttp("it has two hosts"), error);
        head.host = ToString(value);
        return;
      case field::content_length:
        if (std::exchange(has_length_, true) || value.find(',') != beast::string_view::npos) {
          return Stop(NoHttp("it has two lengths"), error);
        }
        return;
      case field::transfer_encoding:
        if (!beast::iequals(value, "chunked")) {
          Stop(NoHttp("its transfer encoding is not \"chunked\""), error);
        }
        return;
      case field::authorization:
        head.authorizations.push_back(ToString(value));
        return;
      case field::content_type:
        head.content_type = ToString(value);
        return;
      case field::content_encoding:
        return AddEncoding(value);
      case field::origin:
        return AddToList(value, head.origin);
      case field::accept_encoding:
        return AddToList(value, head.accept_encoding);
      case field::if_none_match:
        return AddToList(value, head.if_none_match);
      case field::expect:
        head.expects_continue = beast::iequals(value, "100-continue");
        return;
      default:
        return TakeNamed(name_text, value);
    }
  }
  void TakeNamed(beast::string_view name, beast::string_view value) {
    RequestHead& head = owner_.head_;
    if (beast::iequals(name, "connect-protocol-version")) {
      head.connect_version = ToString(value);
    } else if (beast::iequals(name, "connect-timeout-ms")) {
      head.connect_timeout = ToString(value);
    } else if (beast::iequals(name, "connect-content-encoding")) {
      AddEncoding(value);
    } else if (beast::iequals(name, "x-request-id")) {
      head.request_id = ToString(value);
    } else if (beast::iequals(name, "sec-fetch-site")) {
      AddToList(value, head.fetch_site);
    } else if (beast::iequals(name, "sec-fetch-mode")) {
      AddToList(value, head.fetch_mode);
    } else if (beast::iequals(name, "sec-fetch-dest")) {
      AddToList(value, head.fetch_dest);
    }
  }
  // A repeated field becomes a list, so neither of two origins passes for the only one.
  static void AddToList(beast::string_view value, std::string& list) {
    if (!list.empty()) list.append(", ");
    list.append(value.data(), value.size());
  }
  void AddEncoding(beast::string_view value) {
    if (!beast::iequals(value, "identity")) owner_.head_.content_encoding = ToString(value);
  }

  void on_header_impl(error_code& error) override {
    if (owner_.head_.host.empty()) return Stop(NoHttp("it has no host"), error);
    owner_.head_.keep_alive = keep_alive();
    if (const auto length = content_length()) owner_.head_.content_length = *length;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  size_t on_body_impl(beast::string_view part, error_code& error) override {
    Status added = owner_.AddToBody({part.data(), part.size()});
    if (!added.ok()) Stop(std::move(added), error);
    return part.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  size_t on_chunk_body_impl(std::uint64_t, beast::string_view part, error_code& error) override {
    return on_body_impl(part, error);
  }
  void on_finish_impl(error_code&) override {}

  RequestParser& owner_;
  bool has_length_ = false;
  Status status_;
};

RequestParser::RequestParser(const ParserLimits& limits)
    : limits_(limits),
      body_limit_{limits.max_body_bytes, calls::TooLargeRequest(limits.max_body_bytes)},
      parser_(std::make_unique<Parser>(*this)) {}

RequestParser::~RequestParser() {
  if (held_bytes_ > 0) limits_.bodies->Release(held_bytes_);
}

size_t RequestParser::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && (state_ == State::kHead || state_ == State::kBody)) {
    const size_t put = Put(bytes.substr(taken));
    taken += put;
    if (put == 0) break;
  }
  return taken;
}

size_t RequestParser::Put(std::string_view bytes) {
  const bool in_head = state_ == State::kHead;
  if (!in_head && parser_->chunked() && bytes.size() < kMinLastBytes) return 0;
  error_code error;
  const size_t taken = parser_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  const size_t left = bytes.size() - taken;
  if (in_head) {
    head_bytes_ += taken;
    const size_t pending = parser_->is_header_done() ? 0 : left;
    if (head_bytes_ + pending > limits_.max_head_bytes) {
      Fail(ResourceExhaustedError(
          StrCat("the head of a request may have ", limits_.max_head_bytes, " bytes")));
      return taken;
    }
  }
  if (error == beast::http::error::need_more) {
    if (left > kMaxLineBytes) Fail(NoHttp("a line in its body is too long"));
  } else if (error) {
    Fail(!parser_->status().ok() ? parser_->status() : NoHttp("its head or body is malformed"));
  }
  if (state_ == State::kFailed) return taken;
  if (in_head && parser_->is_header_done()) {
    state_ = State::kJudge;
  } else if (!in_head && parser_->is_done()) {
    state_ = State::kDone;
  }
  return taken;
}

void RequestParser::ReadBody(BodyLimit limit) {
  discard_ = false;
  if (limit.bytes <= body_limit_.bytes) body_limit_ = std::move(limit);
  StartBody();
  if (head_.content_length.has_value() && *head_.content_length <= calls::ByteLoad::kSmall) {
    body_.reserve(*head_.content_length);
  }
}

void RequestParser::DiscardBody() { StartBody(); }

void RequestParser::StartBody() {
  parser_->eager(true);
  state_ = parser_->is_done() ? State::kDone : State::kBody;
}

std::string RequestParser::TakeBody() { return std::move(body_); }

void RequestParser::Fail(Status status) {
  status_ = std::move(status);
  state_ = State::kFailed;
}

Status RequestParser::AddToBody(std::string_view part) {
  read_bytes_ += part.size();
  if (read_bytes_ > body_limit_.bytes) return body_limit_.beyond;
  if (discard_) return OkStatus();
  const size_t size = body_.size() + part.size();
  if (size > body_.capacity()) {
    const size_t capacity = std::max(size, 2 * body_.capacity());  // as strings grow
    if (limits_.bodies != nullptr && capacity > calls::ByteLoad::kSmall) {
      if (!limits_.bodies->TryHold(capacity - held_bytes_)) {
        return ResourceExhaustedError("too many large requests are being read; try again later");
      }
      held_bytes_ = capacity;
    }
    body_.reserve(capacity);
  }
  body_.append(part.data(), part.size());
  return OkStatus();
}

}  // namespace coppice::http
