#include "server/http/call_headers.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace coppice::http {

StatusOr<absl::Duration> CheckCallHeaders(const RequestHead& head,
                                          const std::optional<CallKind>& kind,
                                          const MethodLimits& limits) {
  if (!kind.has_value() || kind->is_stream != limits.streams) {
    return InvalidArgumentError(
        limits.streams
            ? "this method answers with a stream: its content type is application/connect+json "
              "or application/connect+proto"
            : "the content type of this method is application/json or application/proto");
  }
  if (!head.connect_version.empty() && head.connect_version != "1") {
    return InvalidArgumentError("the header Connect-Protocol-Version must be 1");
  }
  if (!head.content_encoding.empty()) {
    return UnimplementedError("compressed requests are not accepted (use identity)");
  }
  if (head.content_length.value_or(0) > limits.body.bytes) return limits.body.beyond;
  if (head.connect_timeout.empty()) return limits.time;
  COPPICE_ASSIGN_OR_RETURN(const absl::Duration asked, ParseTimeout(head.connect_timeout));
  return std::min(asked, limits.time);
}

}  // namespace coppice::http
