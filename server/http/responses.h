// The responses of calls, in the form of the Connect protocol.

#ifndef COPPICE_SERVER_HTTP_RESPONSES_H_
#define COPPICE_SERVER_HTTP_RESPONSES_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/http/call.h"
#include "server/http/protocol.h"

namespace coppice::http {

// The trailers that gRPC would send after a call that ends with `status`: `own`, and the time to
// wait if the status has one (server/process/retry_after.h).
std::vector<Trailer> TrailersOf(const Status& status, std::vector<Trailer> own);

// The header lines of a call that ends with `status`. A stream's last message has the trailers.
std::string HeadOf(CallKind kind, const Status& status, const std::vector<Trailer>& trailers);

// The response that ends a call with `status`, which must not be OK. Streams carry it in their last
// message.
Response ErrorResponse(CallKind kind, const Status& status, std::vector<Trailer> own = {});

// The response, as JSON, to a request that is no call of a method.
Response PlainError(int http_status, const Status& status);
Response PlainError(const Status& status);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_RESPONSES_H_
