// What every call demands of its request's head, whichever daemon serves the method.

#ifndef COPPICE_SERVER_HTTP_CALL_HEADERS_H_
#define COPPICE_SERVER_HTTP_CALL_HEADERS_H_

#include <optional>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "server/http/protocol.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// The limits of a method.
struct MethodLimits {
  bool streams = false;  // whether it answers with a stream
  BodyLimit body;
  absl::Duration time;  // the longest that a call may take
};

// Returns the time that the call may take: the method's, or less if the head asks for less.
//
// Errors     InvalidArgument for another content type, version or a malformed time; Unimplemented
//            for a compressed body; that of `limits.body` for a length beyond it.
StatusOr<absl::Duration> CheckCallHeaders(const RequestHead& head,
                                          const std::optional<CallKind>& kind,
                                          const MethodLimits& limits);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CALL_HEADERS_H_
