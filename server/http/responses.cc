#include "server/http/responses.h"

#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "common/base/text.h"
#include "server/process/retry_after.h"

namespace coppice::http {
namespace {

constexpr std::string_view kMoreHeaders =
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";

}  // namespace

std::vector<Trailer> TrailersOf(const Status& status, std::vector<Trailer> own) {
  if (const auto wait = service::WaitOf(status)) {
    own.push_back({"grpc-retry-pushback-ms", StrCat(absl::ToInt64Milliseconds(*wait))});
  }
  return own;
}

std::string HeadOf(CallKind kind, const Status& status, const std::vector<Trailer>& trailers) {
  const bool is_json_error = !status.ok() && !kind.is_stream;
  std::string head =
      StrCat("Content-Type: ", is_json_error ? "application/json" : ContentTypeOf(kind), "\r\n",
             kMoreHeaders);
  if (kind.is_stream) return head;
  for (const Trailer& trailer : trailers) {
    StrAppend(&head, "Trailer-", trailer.name, ": ", trailer.value, "\r\n");
  }
  if (IsUnauthenticated(status)) StrAppend(&head, "WWW-Authenticate: Bearer\r\n");
  if (const auto wait = service::WaitOf(status)) {
    StrAppend(&head, "Retry-After: ", absl::ToInt64Seconds(absl::Ceil(*wait, absl::Seconds(1))),
              "\r\n");
  }
  return head;
}

Response ErrorResponse(CallKind kind, const Status& status, std::vector<Trailer> own) {
  const std::vector<Trailer> trailers = TrailersOf(status, std::move(own));
  return {.status = kind.is_stream ? 200 : HttpStatusOf(status.code()),
          .head = HeadOf(kind, status, trailers),
          .body = kind.is_stream ? EndOfStream(status, trailers) : ErrorBody(status)};
}

Response PlainError(int http_status, const Status& status) {
  Response response = ErrorResponse({}, status);
  response.status = http_status;
  return response;
}

Response PlainError(const Status& status) {
  return PlainError(HttpStatusOf(status.code()), status);
}

}  // namespace coppice::http
