// The part of the Connect protocol that the daemon speaks: codes, content types, errors and
// envelopes. docs/protocol.md#http describes it.
//
// Source     https://connectrpc.com/docs/protocol

#ifndef COPPICE_SERVER_HTTP_PROTOCOL_H_
#define COPPICE_SERVER_HTTP_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace coppice::http {

enum class Encoding : uint8_t { kJson, kProto };

// The call that a request's content type implies.
struct CallKind {
  Encoding encoding = Encoding::kJson;
  bool is_stream = false;
};

// Parses "application/json" and so on, with or without parameters; none for other types.
std::optional<CallKind> KindOf(std::string_view content_type);
std::string_view ContentTypeOf(CallKind kind);

// The code in Connect's spelling, such as "not_found", and its HTTP status, such as 404.
std::string_view ConnectCodeOf(StatusCode code);
int HttpStatusOf(StatusCode code);

// {"code":"not_found","message":"..."}
std::string ErrorBody(const Status& status);

// The message that ends a stream, in its envelope. `trailers` are sent as its metadata.
struct Trailer {
  std::string_view name;
  std::string value;
};
std::string EndOfStream(const Status& status, const std::vector<Trailer>& trailers);

// A message of a stream: a byte of flags, its length in 4 big-endian bytes, and its bytes.
inline constexpr size_t kEnvelopeBytes = 5;
std::string Envelope(std::string_view message);
// The single message of a request. InvalidArgument unless it is one whole envelope without flags.
StatusOr<std::string_view> MessageIn(std::string_view envelope);

// Parses Connect-Timeout-Ms: at most 10 digits. InvalidArgument for anything else.
StatusOr<absl::Duration> ParseTimeout(std::string_view milliseconds);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_PROTOCOL_H_
